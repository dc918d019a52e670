"""The place of the next character, told by the text since the last mark: in code, in quotation, in
the middle of a sentence, or at a break.

One answer for thoughts and for calls. It is worked out when somebody asks, because most text has no
mark in it and nobody asks.
"""

import enum
import re

from converter.core.reading.code_spans import CodeSpans
from converter.core.reading.rows import LINE, PARAGRAPH, SENTENCE

QUOTES = "\"'“‘«‹„「『([`"
QUOTED_LINES = "+->"
"""The beginning of a line in a diff or a quotation."""
CLAUSE_ENDS = ",;"
BLANKS = " \t\r\n"
REMEMBERED = 64
"""Characters before a mark that `before` returns."""
_BARE_CALL = re.compile(r"\bcall:[\w.-]++\{")
"""Gemma's call without its mark: an argument may quote another call."""
_MOST_UNREAD = 4096
"""Characters that wait until somebody asks, because a stream's memory is bounded."""

_BEGINNINGS = {
    PARAGRAPH: re.compile(r"\n[^\S\n]*\n\s*\Z"),
    SENTENCE: re.compile(r"""(?:\n|[.!?…]["'”’)\]*_]{0,8}(?=\s))[^\S\n]*\Z"""),
    LINE: re.compile(r"\n[^\S\n]*\Z"),
}
"""The end of the text before each place of a phrase."""


class MarkPosition(enum.Enum):
    """The place of a mark that prose may say."""

    AT_BREAK = enum.auto()  # at a line's head, or with no blank behind other words
    BEHIND_SENTENCE = enum.auto()
    IN_SENTENCE = enum.auto()  # a word and a blank before it
    QUOTED = enum.auto()  # directly behind a quotation mark


class Context:
    """Feed the text since the last mark, and ask about the place behind it."""

    def __init__(self) -> None:
        self._unread = ""
        self._code = CodeSpans()
        self._line_head = ""  # the line's first character, blanks aside
        self._in_call = False  # a call without a mark stands before, in this line
        self._tail = ""

    def feed(self, text: str) -> None:
        """Take the next piece of the text."""
        self._unread += text
        if len(self._unread) > _MOST_UNREAD:
            self._read()

    def begin_code_anew(self) -> None:
        """Close code, because a mark stands here; the line goes on."""
        self._read()
        self._code = CodeSpans()

    @property
    def before(self) -> str:
        """The end of the text."""
        self._read()
        return self._tail

    def begins(self, position: str, blanks: str = "") -> bool:
        """Return True if a phrase of this position counts here, behind these blanks as well."""
        before = self.before
        start = "\n\n" if len(before) < REMEMBERED else ""
        return _BEGINNINGS[position].search(start + before + blanks) is not None

    @property
    def at_line_head(self) -> bool:
        """True if the line has nothing but blanks so far."""
        return not self.before.rpartition("\n")[2].strip()

    @property
    def in_code(self) -> bool:
        """Return True if code is open, by the rules of Markdown."""
        self._read()
        return self._code.inside()

    @property
    def in_fence(self) -> bool:
        """Return True if a fenced block is open."""
        self._read()
        return self._code.fenced()

    @property
    def position(self) -> MarkPosition:
        """The place on its line."""
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
        """Return True if a call would only be shown here: in code, in a line of a diff or a
        quotation, behind a call without a mark, or directly behind a quotation mark. A lone
        backtick hides calls up to its line's end only, and one that stands directly before a call
        is code already.
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
