"""Where Markdown code is, in a text that arrives in pieces: a tag inside code is a word about tags,
not a thought.

Fenced blocks and inline spans as CommonMark has them, with one difference that a stream forces: a
backtick run opens a span at once, where CommonMark first looks whether it is closed. It ends with
the paragraph in any case. A fence may stand behind the marks of a list or a quotation, and its info
string holds no backtick (else it is an inline span).
"""

import re

_TOKENS = re.compile(r"`+|~+|\n|[^`~\n]+")
_LINE_PREFIX = re.compile(r"[ \t\r>*+\-0-9.)]*")
_INTERESTING = re.compile(r"[`~\n]")


class CodeSpans:
    """Feed the text; `inside()` tells whether the next character stands in code. Begin anew after
    each thought.
    """

    def __init__(self) -> None:
        self._span = 0  # backticks that opened the span, 0 outside
        self._fence = ("", 0)  # mark and length of the open fence
        self._info = False  # on the fence's first line
        self._closing = False  # behind what closes the fence if the line ends here
        self._line_start = True
        self._line_blank = True
        self._run = ("", 0)  # marks that may go on in the next piece
        self._run_at_line_start = False
        self._escaped = False

    def feed(self, text: str) -> None:
        """Take the next piece of the text."""
        if not self._run[1] and not self._line_start and not _INTERESTING.search(text):
            self._words(text)
            return
        for token in _TOKENS.findall(text):
            if token[0] in "`~":
                self._extend_run(token)
            else:
                self._settle_run()
                (self._newline if token == "\n" else self._words)(token)

    def inside(self) -> bool:
        """Tell whether code is open, given that the text goes on with something other than a
        backtick or tilde.
        """
        self._settle_run()
        return bool(self._fence[1] or self._span)

    def _extend_run(self, token: str) -> None:
        if self._run[0] != token[0]:
            self._settle_run()
            self._run_at_line_start = self._line_start
        self._run = (token[0], self._run[1] + len(token))
        self._line_start = self._line_blank = False

    def _settle_run(self) -> None:
        """The run of backticks or tildes is over: what does it open or close?"""
        (mark, length), self._run = self._run, ("", 0)
        escaped, self._escaped = self._escaped, False
        if not length:
            self._escaped = escaped
        elif self._fence[1]:
            self._settle_in_fence(mark, length)
        elif self._run_at_line_start and length >= 3:
            self._fence, self._info, self._span = (mark, length), True, 0
        elif mark == "`":
            self._toggle_span(length - (escaped and not self._span))

    def _settle_in_fence(self, mark: str, length: int) -> None:
        fence_mark, fence_length = self._fence
        if self._info and mark == fence_mark == "`":  # "```x```" on one line is a span
            self._span, self._fence, self._info = fence_length, ("", 0), False
            self._toggle_span(length)
        else:
            self._closing = (
                self._run_at_line_start and mark == fence_mark and length >= fence_length
            )

    def _toggle_span(self, length: int) -> None:
        if not self._span:
            self._span = length
        elif self._span == length:
            self._span = 0

    def _newline(self, _: str) -> None:
        if self._closing:
            self._fence = ("", 0)
        if self._line_blank:
            self._span = 0
        self._info = self._closing = self._escaped = False
        self._line_start = self._line_blank = True

    def _words(self, text: str) -> None:
        blank = text.isspace()
        self._closing = self._closing and blank
        self._line_blank = self._line_blank and blank
        self._line_start = self._line_start and _LINE_PREFIX.fullmatch(text) is not None
        slashes = len(text) - len(text.rstrip("\\"))
        self._escaped = (slashes + (self._escaped if slashes == len(text) else 0)) % 2 == 1
