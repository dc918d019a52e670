"""The position of the next character: in code, in a quotation, in a sentence, or at a break.

The text since the last mark decides. It is examined only when the engine asks for the position,
because most text has no mark in it.
"""

import enum
import re

from converter.core.reading.code_spans import CodeSpans
from converter.core.reading.rows import LINE, PARAGRAPH, SENTENCE

QUOTES = "\"'“‘«‹„「『([`"
QUOTED_LINES = "+->"
"""The first characters of lines in a diff or a quotation."""
CLAUSE_ENDS = ",;"
BLANKS = " \t\r\n"
REMEMBERED = 64
"""How many characters at the end of the text are kept (`before`)."""
_BARE_CALL = re.compile(r"\bcall:[\w.-]++\{")
"""The beginning of a call of Gemma's without its mark. Another call in the same line is then a
quoted one, in an argument.
"""
_MOST_UNREAD = 4096
"""How many characters wait to be examined. The limit bounds the memory that a stream takes."""

_BEGINNINGS = {
    PARAGRAPH: re.compile(r"\n[^\S\n]*\n\s*\Z"),
    SENTENCE: re.compile(r"""(?:\n|[.!?…]["'”’)\]*_]{0,8}(?=\s))[^\S\n]*\Z"""),
    LINE: re.compile(r"\n[^\S\n]*\Z"),
}
"""For each position of a phrase, a pattern for the end of the text before it."""


class MarkPosition(enum.Enum):
    """The position of a mark in its line.

    Attributes:
        AT_BREAK: at the beginning of the line, or directly behind other text, without a blank.
        BEHIND_SENTENCE: behind a blank and the end of a sentence.
        IN_SENTENCE: behind a blank and a word, a comma or a semicolon.
        QUOTED: directly behind a quotation mark or an opening bracket.
    """

    AT_BREAK = enum.auto()
    BEHIND_SENTENCE = enum.auto()
    IN_SENTENCE = enum.auto()
    QUOTED = enum.auto()


class Context:
    """The position behind the text that was fed since the last mark."""

    def __init__(self) -> None:
        self._unread = ""
        self._code = CodeSpans()
        self._line_head = ""  # the first character of the line that is not a blank
        self._in_call = False  # the line has the beginning of a call without a mark
        self._tail = ""

    def feed(self, text: str) -> None:
        """Add the next piece of the text."""
        self._unread += text
        if len(self._unread) > _MOST_UNREAD:
            self._read()

    def begin_code_anew(self) -> None:
        """Close all code, because a mark stands here. The line goes on behind the mark."""
        self._read()
        self._code = CodeSpans()

    @property
    def before(self) -> str:
        """The last characters of the text."""
        self._read()
        return self._tail

    def begins(self, position: str, blanks: str = "") -> bool:
        """Return True if a phrase with this position (`POSITIONS`) counts here, behind `blanks`."""
        before = self.before
        start = "\n\n" if len(before) < REMEMBERED else ""
        return _BEGINNINGS[position].search(start + before + blanks) is not None

    @property
    def at_line_head(self) -> bool:
        """True if the line has nothing but blanks so far."""
        return not self.before.rpartition("\n")[2].strip()

    @property
    def in_code(self) -> bool:
        """True if Markdown code is open."""
        self._read()
        return self._code.inside()

    @property
    def in_fence(self) -> bool:
        """True if a fenced block is open."""
        self._read()
        return self._code.fenced()

    @property
    def position(self) -> MarkPosition:
        """The position in the line."""
        self._read()
        line = self._tail.rpartition("\n")[2]
        text_before = line.rstrip()
        last = text_before[-1:]
        if not text_before or text_before == line:
            return MarkPosition.QUOTED if text_before and last in QUOTES else MarkPosition.AT_BREAK
        in_clause = last.isalnum() or last in CLAUSE_ENDS
        return MarkPosition.IN_SENTENCE if in_clause else MarkPosition.BEHIND_SENTENCE

    @property
    def shows_calls(self) -> bool:
        """True if a call at this position is only shown to the user.

        It is in code, in a line of a diff or a quotation, directly behind a quotation mark, or in
        the same line behind a call without a mark. A span of code counts only up to the end of its
        line.
        """
        self._read()
        quoted = self.position is MarkPosition.QUOTED and not self._tail.endswith("`")
        in_line = self._in_call or (self._line_head != "" and self._line_head in QUOTED_LINES)
        return quoted or in_line or self._code.inside_line()

    def _read(self) -> None:
        text, self._unread = self._unread, ""
        if not text:
            return
        self._code.feed(text)
        _, broken, line = text.rpartition("\n")
        begun = line if broken else self._tail.rpartition("\n")[2] + line
        self._in_call = (self._in_call and not broken) or _BARE_CALL.search(begun) is not None
        self._line_head = ("" if broken else self._line_head) or line.lstrip(BLANKS)[:1]
        self._tail = (self._tail + text)[-REMEMBERED:]
