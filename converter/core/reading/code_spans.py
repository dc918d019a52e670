"""`CodeSpans` finds Markdown code in text that arrives in pieces. A tag within code is quoted, and
does not begin a thought.

Fenced blocks and inline spans are those of CommonMark, with two differences. Backticks open a span
at once, while CommonMark first looks for the end of the span, which has not arrived yet in a
stream. A fence may stand behind any blanks, and behind the marks of a list or a quotation. As in
CommonMark, a span ends with its paragraph, and three backticks with another backtick behind them in
the line are not a fence but begin an inline span. Indented code is not recognised.

The text is read by lines, and only lines with backticks or tildes are examined, so that text which
consists of line ends is read fast.
"""

import re

LINE_LIMIT = 4096
"""The most characters of the last line that are kept. The text of a longer line is examined and
dropped, which bounds the memory for a stream.
"""
_LINE = re.compile(r"^[^`~\n]*+[`~].*\n", re.MULTILINE)
"""The pattern of a complete line, with its line end, that has a backtick or a tilde."""
_BLANK_LINE = re.compile(r"^[^\S\n]*+\n", re.MULTILINE)
"""The pattern of a blank line, which ends a paragraph and with it an inline span."""
_MARGIN = r"[ \t\r>*+\-0-9.)]*+"
"""The pattern of the characters that may stand before a fence: blanks, and the marks of lists and
quotations.
"""
_FENCE = re.compile(rf"{_MARGIN}(`{{3,}}+|~{{3,}}+)")
"""The pattern of three or more backticks or tildes at the beginning of a line."""
_BACKTICKS = re.compile(r"(\\*+)(`++)")
"""The pattern of backticks, with the backslashes before them."""


class CodeSpans:
    """The fenced block and the inline span that are open behind the text which was fed so far.

    Code that is open at the end of a thought does not go on in the answer: the answer gets an
    object of its own.
    """

    def __init__(self) -> None:
        # The code that is open where `_text` begins. `_fence`: the backticks or tildes that opened
        # the fenced block. `_span`: the backticks that opened the inline span. Empty for none.
        self._fence = self._span = ""
        # The same for `in_code_of_line`, which reads each line as if no span were open before it.
        # It is empty, unless the beginning of a long line was dropped (`_shorten_line`).
        self._line_span = ""
        self._text = ""  # the last line so far; of a long line only the end (`_shorten_line`)

    def feed(self, text: str) -> None:
        """Read the next piece of the text."""
        text, begin = self._text + text, 0
        end = text.rfind("\n") + 1
        for line in _LINE.finditer(text, 0, end):
            if self._span and _BLANK_LINE.search(text, begin, line.start()):
                self._span = ""
            self._fence, self._span = _code_open_behind(line[0], self._fence, self._span)
            begin = line.end()
        if self._span and _BLANK_LINE.search(text, begin, end):
            self._span = ""
        if end:
            self._line_span = ""
        self._text = text[end:]
        if len(self._text) > LINE_LIMIT:
            self._shorten_line()

    def in_code(self) -> bool:
        """Return True if the next character stands in code. If this character is a backtick or
        tilde, the result may be wrong, because the character may begin or end code itself.
        """
        return any(_code_open_behind(self._text, self._fence, self._span))

    def in_code_of_line(self) -> bool:
        """Return True if the next character stands in a fenced block, or in a span that began in
        the same line.
        """
        return any(_code_open_behind(self._text, self._fence, self._line_span))

    def in_fence(self) -> bool:
        """Return True if the next character stands in a fenced block."""
        return bool(_code_open_behind(self._text, self._fence, self._span)[0])

    def _shorten_line(self) -> None:
        """Examine the text of a long last line, and drop it. Keep only the backticks, tildes and
        backslashes at its end, because more of them may follow.
        """
        before = self._text.rstrip("\\`~")
        run = self._text[len(before) :][-LINE_LIMIT // 2 :]
        if re.fullmatch(_MARGIN, before):
            self._text = run
            return
        fence, span = _code_open_behind(before, self._fence, self._span)
        if fence == self._fence:
            self._span = span
            self._line_span = _code_open_behind(before, fence, self._line_span)[1]
        self._text = ("" if fence == self._fence else fence) + "x" + run


def _code_open_behind(line: str, fence: str, span: str) -> tuple[str, str]:
    """Return the backticks or tildes that opened the fenced block, and those that opened the span,
    which are open behind `line`; an empty text for one that is not open.

    `line` is a line or its beginning. `fence` and `span` are the two values before the line.
    """
    if "`" not in line and "~" not in line:
        return fence, "" if fence else span
    head = _FENCE.match(line)
    behind = line[head.end() :] if head else line
    if fence:
        closed = head and head[1].startswith(fence) and line[-1:] == "\n" and not behind.strip()
        return "" if closed else fence, ""
    if head and (head[1][0] == "~" or "`" not in behind):
        return head[1], ""
    span = head[1] if head else span
    for slashes, run in _BACKTICKS.findall(behind):
        if not span:
            span = run[len(slashes) % 2 :]
        elif run == span:
            span = ""
    return "", span
