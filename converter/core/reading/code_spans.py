"""A finder of Markdown code in text that arrives in pieces. A tag within code is quoted, and does
not begin a thought.

Fenced blocks and inline spans are those of CommonMark, with one difference: a run of backticks
opens a span at once, while CommonMark first looks for the end of the span. In a stream the end has
not arrived yet. A span ends at the end of its paragraph in any case. A fence may stand behind the
marks of a list or a quotation. A line of three backticks with another backtick behind them is not a
fence but begins an inline span.

The text is read by lines, and only lines with backticks or tildes are examined, so that text of
nothing but line ends is read fast.
"""

import re

LINE_LIMIT = 4096
"""How many characters of a line are kept. The limit bounds the memory that a stream takes."""
_LINE = re.compile(r"^[^`~\n]*+[`~].*\n", re.MULTILINE)
_BLANK_LINE = re.compile(r"^[^\S\n]*+\n", re.MULTILINE)
_MARGIN = r"[ \t\r>*+\-0-9.)]*+"
_FENCE = re.compile(rf"{_MARGIN}(`{{3,}}+|~{{3,}}+)")
_RUN = re.compile(r"(\\*+)(`++)")


class CodeSpans:
    """The code that is open behind the text that was fed so far.

    A new object is needed behind each thought.
    """

    def __init__(self) -> None:
        # The runs that opened the fenced block and the span that are open before this line.
        self._fence = self._span = ""
        self._line_span = ""  # as `_span`, if a span ends with its line
        self._text = ""  # the text of this line so far

    def feed(self, text: str) -> None:
        """Read the next piece of the text."""
        text, begin = self._text + text, 0
        end = text.rfind("\n") + 1
        for line in _LINE.finditer(text, 0, end):
            if self._span and _BLANK_LINE.search(text, begin, line.start()):
                self._span = ""
            self._fence, self._span = _open_behind(line[0], self._fence, self._span)
            begin = line.end()
        if self._span and _BLANK_LINE.search(text, begin, end):
            self._span = ""
        if end:
            self._line_span = ""
        self._text = text[end:]
        if len(self._text) > LINE_LIMIT:
            self._shorten()

    def inside(self) -> bool:
        """Return True if the next character stands in code. It must not be a backtick or a
        tilde.
        """
        return any(_open_behind(self._text, self._fence, self._span))

    def inside_line(self) -> bool:
        """Return True if the next character stands in code, if a span ends with its line and not
        with its paragraph.
        """
        return any(_open_behind(self._text, self._fence, self._line_span))

    def fenced(self) -> bool:
        """Return True if the next character stands in a fenced block."""
        return bool(_open_behind(self._text, self._fence, self._span)[0])

    def _shorten(self) -> None:
        """Drop the text of a long line, except a run of marks at its end, which may go on."""
        before = self._text.rstrip("\\`~")
        run = self._text[len(before) :][-LINE_LIMIT // 2 :]
        if re.fullmatch(_MARGIN, before):
            self._text = run
            return
        fence, span = _open_behind(before, self._fence, self._span)
        if fence == self._fence:
            self._span = span
            self._line_span = _open_behind(before, fence, self._line_span)[1]
        self._text = ("" if fence == self._fence else fence) + "x" + run


def _open_behind(line: str, fence: str, span: str) -> tuple[str, str]:
    """Return the runs that opened the fenced block and the span that are open behind `line`; an
    empty string for each that is not open.

    `line` is a line or its beginning; `fence` and `span` are the same two runs before it.
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
    for slashes, run in _RUN.findall(behind):
        if not span:
            span = run[len(slashes) % 2 :]
        elif run == span:
            span = ""
    return "", span
