"""`Context` tells the position of the next character of a reply: in code, in a quotation, in a
sentence, or at the beginning of a line, sentence or paragraph. Also `BLANKS`, the characters that
count as blanks.

The text before the position decides, in most cases only that behind the last mark. It is examined
only when the engine asks for the position, because most text has no mark in it.
"""

import re

from converter.core.reading.code_spans import CodeSpans
from converter.core.reading.rows import LINE, PARAGRAPH, SENTENCE

QUOTES = "\"'“‘«‹„「『([`"
"""Quotation marks and opening brackets. A mark directly behind one of them is quoted."""
QUOTED_LINES = "+->"
"""The first characters of lines in a diff or a quotation. (Items of a list may begin with them too,
and are read in the same way.)
"""
CLAUSE_ENDS = ",;"
"""The punctuation behind which a sentence goes on."""
BLANKS = " \t\r\n"
"""The characters that count as blanks."""
REMEMBERED = 64
"""How many characters of the text before the position are kept (`Context.text_before`)."""
_BARE_CALL = re.compile(r"\bcall:[\w.-]++\{")
"""The pattern for the beginning of a call in Gemma's syntax without the mark before it:
`call:get_weather{`. A mark of calls behind it in the same line belongs to an argument of this call,
and begins no call.
"""
_MOST_UNREAD = 4096
"""How many characters may be fed before they are examined. The limit bounds the memory that a
stream takes.
"""

_BEGINNINGS = {
    PARAGRAPH: re.compile(r"\n[^\S\n]*\n\s*\Z"),
    SENTENCE: re.compile(r"""(?:\n|[.!?…]["'”’)\]*_]{0,8}(?=\s))[^\S\n]*\Z"""),
    LINE: re.compile(r"\n[^\S\n]*\Z"),
}
"""position at which a phrase counts -> the pattern for the end of the text before the phrase."""


class Context:
    """The position of the next character, by the text that was fed. Behind most marks the engine
    begins a new `Context`, because the text before the mark does not matter there.
    """

    def __init__(self) -> None:
        self._unread = ""
        self._code = CodeSpans()
        self._line_head = ""  # first character of the present line that is not blank
        self._in_call = False  # True if the present line has a match of `_BARE_CALL`
        self._tail = ""

    def feed(self, text: str) -> None:
        """Add the next piece of the text. Examine the added text if it exceeds `_MOST_UNREAD`."""
        self._unread += text
        if len(self._unread) > _MOST_UNREAD:
            self._examine()

    def close_code(self) -> None:
        """End the Markdown code that is open, because a mark that counts, or a candidate that
        proved to be text, ends here. The present line does not end: it goes on behind it.
        """
        self._examine()
        self._code = CodeSpans()

    @property
    def text_before(self) -> str:
        """The last `REMEMBERED` characters of the text."""
        self._examine()
        return self._tail

    def stands_at(self, position: str, blanks: str = "") -> bool:
        """Return True if the text, with `blanks` behind it, ends at a position of this kind
        (`POSITIONS`), so that a phrase counts there. Where no text stands before, a paragraph
        begins.
        """
        before = self.text_before
        start = "\n\n" if len(before) < REMEMBERED else ""
        return _BEGINNINGS[position].search(start + before + blanks) is not None

    @property
    def at_line_head(self) -> bool:
        """True if the present line has only blanks so far."""
        return not self.text_before.rpartition("\n")[2].strip()

    @property
    def in_code(self) -> bool:
        """True if Markdown code is open."""
        self._examine()
        return self._code.in_code()

    @property
    def in_fence(self) -> bool:
        """True if a fenced block of Markdown code is open."""
        self._examine()
        return self._code.in_fence()

    @property
    def quoted(self) -> bool:
        """True if a quotation mark or an opening bracket stands directly before the position."""
        return self.text_before[-1:] in tuple(QUOTES)

    @property
    def in_sentence(self) -> bool:
        """True in the middle of a sentence: blanks stand before the position, and before them, in
        the same line, a letter, a digit, a comma or a semicolon.
        """
        line = self.text_before.rpartition("\n")[2]
        last = line.rstrip()[-1:]
        return line[-1:].isspace() and (last.isalnum() or last in tuple(CLAUSE_ENDS))

    @property
    def shows_calls(self) -> bool:
        """True if a call at this position is only shown to the user.

        That is the case in Markdown code, in a line that begins with `+`, `-` or `>` (as in a diff
        or a quotation), directly behind a quotation mark or opening bracket, and in the same line
        behind `call:NAME{`. An inline span of code counts only up to the end of its line.
        """
        self._examine()
        quoted = self.quoted and not self._tail.endswith("`")
        in_line = self._in_call or (self._line_head != "" and self._line_head in QUOTED_LINES)
        return quoted or in_line or self._code.in_code_of_line()

    def _examine(self) -> None:
        """Update the facts about the position by the text that was fed since the last update."""
        text, self._unread = self._unread, ""
        if not text:
            return
        self._code.feed(text)
        _, broken, line = text.rpartition("\n")
        begun = line if broken else self._tail.rpartition("\n")[2] + line
        self._in_call = (self._in_call and not broken) or _BARE_CALL.search(begun) is not None
        self._line_head = ("" if broken else self._line_head) or line.lstrip(BLANKS)[:1]
        self._tail = (self._tail + text)[-REMEMBERED:]
