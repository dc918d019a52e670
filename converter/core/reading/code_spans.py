"""Markdown code, found in a text that arrives in pieces: a tag inside code is a word about tags,
not a thought.

Fenced blocks and inline spans are CommonMark's, with one difference that a stream forces: a run of
backticks opens a span at once, where CommonMark first looks for its end. The span ends with the
paragraph in any case. A fence may stand behind the marks of a list or a quotation, and its info
string holds no backtick (else it is an inline span).

The text is read by lines, and only lines with backticks or tildes are examined, so that a text of
nothing but newlines costs no more than words.
"""

import re

LINE_LIMIT = 4096
"""Characters of a line that are kept, because a stream's memory is bounded."""
_LINE = re.compile(r"^[^`~\n]*+[`~].*\n", re.MULTILINE)
_BLANK_LINE = re.compile(r"^[^\S\n]*+\n", re.MULTILINE)
_MARGIN = r"[ \t\r>*+\-0-9.)]*+"
_FENCE = re.compile(rf"{_MARGIN}(`{{3,}}+|~{{3,}}+)")
_RUN = re.compile(r"(\\*+)(`++)")


class CodeSpans:
    """Feed the text; `inside()` tells whether the next character stands in code. Begin anew after
    each thought.
    """

    def __init__(self) -> None:
        self._fence = self._span = ""  # the runs that opened what is open before the text
        self._line_span = ""  # the same, if a span ends with its line
        self._text = ""  # of this line

    def feed(self, text: str) -> None:
        """Take the next piece of the text."""
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
        """Return True if code is open, given that the text goes on with something other than a
        backtick or tilde.
        """
        return any(_open_behind(self._text, self._fence, self._span))

    def inside_line(self) -> bool:
        """Return the same where a span ends with its line, and not with its paragraph."""
        return any(_open_behind(self._text, self._fence, self._line_span))

    def fenced(self) -> bool:
        """Return True if a fenced block is open, given the same."""
        return bool(_open_behind(self._text, self._fence, self._span)[0])

    def _shorten(self) -> None:
        """Forget the words of a long line, but not the run at its end, which may go on."""
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
    """Return the runs that opened the fenced block and the span which are open behind a line, or
    behind its beginning, given the runs open before it.
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
