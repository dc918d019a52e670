"""Markdown code, found in a text that arrives in pieces, because a tag inside code is a word about
tags, not a thought.

Fenced blocks and inline spans as CommonMark has them, with one difference that a stream forces: a
backtick run opens a span at once, where CommonMark first looks whether it is closed. It ends with
the paragraph in any case. A fence may stand behind the marks of a list or a quotation, and its info
string holds no backtick (else it is an inline span).

The text is cut into runs of backticks or tildes, line ends and words. `NEXT_STATE` says what each
does; a pair that it lacks changes nothing. Where words and line ends change nothing, all lines but
the last are stepped over at once, so that a text of nothing but newlines costs no more than words.
"""

import enum
import re

_PIECES = re.compile(r"`+|~+|[^`~]+")
_MARGIN = re.compile(r"[ \t\r>*+\-0-9.)]*+")
MOST_UNREAD = 4096
"""Characters that wait until somebody asks, because a stream's memory is bounded."""
_FENCE = 3
"""Backticks or tildes that make a fence."""


class _State(enum.Enum):
    __hash__ = object.__hash__  # Enum's own is written in Python, and asked for each piece

    TEXT = enum.auto()
    SPAN = enum.auto()
    INFO = enum.auto()  # a fence's first line
    FENCE = enum.auto()
    ENDING = enum.auto()  # behind what closes the fence if the line ends here


class _Token(enum.Enum):
    __hash__ = object.__hash__

    TICKS = enum.auto()  # backticks within a line, more or fewer than those that opened the code
    SAME_TICKS = enum.auto()
    FENCE = enum.auto()  # a run at a line's head
    CLOSING_FENCE = enum.auto()  # such a run, of the open fence's mark and at least its length
    WORDS = enum.auto()
    LINE_END = enum.auto()
    BLANK_LINE = enum.auto()


NEXT_STATE = {
    (_State.TEXT, _Token.TICKS): _State.SPAN,
    (_State.TEXT, _Token.FENCE): _State.INFO,
    (_State.SPAN, _Token.SAME_TICKS): _State.TEXT,
    (_State.SPAN, _Token.FENCE): _State.INFO,
    (_State.SPAN, _Token.CLOSING_FENCE): _State.INFO,
    (_State.SPAN, _Token.BLANK_LINE): _State.TEXT,
    (_State.INFO, _Token.TICKS): _State.SPAN,  # no fence, because an info string has no backtick
    (_State.INFO, _Token.SAME_TICKS): _State.TEXT,
    (_State.INFO, _Token.LINE_END): _State.FENCE,
    (_State.FENCE, _Token.CLOSING_FENCE): _State.ENDING,
    (_State.ENDING, _Token.TICKS): _State.FENCE,
    (_State.ENDING, _Token.SAME_TICKS): _State.FENCE,
    (_State.ENDING, _Token.WORDS): _State.FENCE,
    (_State.ENDING, _Token.LINE_END): _State.TEXT,
}
_OPENED = {(_State.TEXT, _State.SPAN), (_State.TEXT, _State.INFO), (_State.SPAN, _State.INFO)}
"""Steps after which the run just read is the one that must come again."""


_MOVED_BY_WORDS = tuple(state for state, token in NEXT_STATE if token is _Token.WORDS)
_BLANK_LINE = re.compile(r"\n[^\S\n]*+\n")
_AT_REST = (_State.TEXT, _State.SPAN, _State.FENCE)
"""States that neither words nor a line's end change."""


class CodeSpans:
    """Feed the text; `inside()` tells whether the next character stands in code. Begin anew after
    each thought.
    """

    def __init__(self) -> None:
        self._state = _State.TEXT
        self._opener = ""  # the run that opened the code
        self._blank = True  # the line so far
        self._margin = True  # the same, or marks of lists and quotations: a fence may follow
        self._run = ""  # backticks or tildes that may go on in the next piece
        self._at_margin = True  # the run
        self._escaped = False  # behind a backslash that escapes what follows
        self._unread = ""  # pieces that nobody has asked about yet: most never are

    def feed(self, text: str) -> None:
        """Take the next piece of the text."""
        self._unread += text
        if len(self._unread) > MOST_UNREAD:
            self._catch_up()

    def _catch_up(self) -> None:
        text, self._unread = self._unread, ""
        for piece in _PIECES.findall(text):
            if piece[0] in "`~":
                self._extend_run(piece)
            else:
                self._settle_run()
                self._read_lines(piece)

    def _read_lines(self, text: str) -> None:
        """Read text without a backtick or a tilde."""
        if self._state is _State.SPAN and self._ends_paragraph(text):
            self._step(_Token.BLANK_LINE)
        if self._state not in _AT_REST:
            line, line_end, text = text.partition("\n")
            self._read_words(line)
            if line_end:
                self._step(_Token.LINE_END)
                self._begin_line()
        _, line_end, line = text.rpartition("\n")
        if line_end:
            self._begin_line()
        self._read_words(line)

    def _ends_paragraph(self, text: str) -> bool:
        line, line_end, _ = text.partition("\n")
        blank = self._blank and line_end and not line.strip()
        return bool(blank) or _BLANK_LINE.search(text) is not None

    def inside(self) -> bool:
        """Tell whether code is open, given that the text goes on with something other than a
        backtick or tilde.
        """
        self._catch_up()
        self._settle_run()
        return self._state is not _State.TEXT

    def fenced(self) -> bool:
        """Tell whether a fenced block is open, given the same."""
        self._catch_up()
        self._settle_run()
        return self._state not in (_State.TEXT, _State.SPAN)

    def _extend_run(self, piece: str) -> None:
        if self._run[:1] != piece[0]:
            self._settle_run()
            self._at_margin = self._margin
        self._run += piece
        self._blank = self._margin = False

    def _settle_run(self) -> None:
        """The run of backticks or tildes is over: what does it open or close?"""
        if not self._run:
            return
        run, self._run = self._run, ""
        escaped, self._escaped = self._escaped, False
        if escaped and self._state is _State.TEXT:
            run = run.removeprefix("`")
        if token := self._token_of(run):
            self._step(token, run)

    def _token_of(self, run: str) -> _Token | None:
        if len(run) >= _FENCE and self._at_margin:
            closes = self._opener and run.startswith(self._opener)
            return _Token.CLOSING_FENCE if closes else _Token.FENCE
        if run[:1] != "`" or (self._state is _State.INFO and self._opener[0] == "~"):
            return _Token.WORDS if run else None
        return _Token.SAME_TICKS if run == self._opener else _Token.TICKS

    def _step(self, token: _Token, run: str = "") -> None:
        state = NEXT_STATE.get((self._state, token), self._state)
        if (self._state, state) in _OPENED:
            self._opener = run
        elif state is _State.TEXT:
            self._opener = ""
        self._state = state

    def _begin_line(self) -> None:
        self._blank = self._margin = True
        self._escaped = False

    def _read_words(self, text: str) -> None:
        if not text:
            return
        blank = text.isspace()
        if self._state in _MOVED_BY_WORDS and not blank:
            self._step(_Token.WORDS)
        self._margin = self._margin and _MARGIN.fullmatch(text) is not None
        self._blank = self._blank and blank
        slashes = len(text) - len(text.rstrip("\\"))
        self._escaped = (slashes + (self._escaped if slashes == len(text) else 0)) % 2 == 1
