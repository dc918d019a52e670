"""The end of a JSON value, or of a list of Python calls, in a text that arrives in pieces.

Brackets count outside of strings only. A single quote begins a string where a key or a value may
begin, because models write Python's quotes as well.
"""

import re

_OUTSIDE = re.compile(r"[\[{(\]})\"']")
_INSIDE = {quote: re.compile(rf"\\.|\\\Z|{quote}", re.DOTALL) for quote in "\"'"}
_BEFORE_STRING = "[{(,:="
_NO_HEADER = re.compile(r"[^\w\s.\-:\[\]]")
HEADER_LIMIT = 384
"""Characters before a call's first brace: its name, which has at most 64 everywhere, an id and
special tokens.
"""


class JsonExtent:
    """Feed the text from where the value begins; `feed` tells where it ends.

    `header`: whether a tool's name may stand before it, as behind `[TOOL_CALLS]`.
    """

    def __init__(self, header: bool = False) -> None:
        self._header = HEADER_LIMIT if header else 0
        self._said = False  # a part of the header
        self._depth = 0
        self._quote = ""
        self._escaped = False
        self._ended = False
        self._last = ""  # the last character outside of strings, blanks aside

    @property
    def wakes(self) -> str:
        """The characters without which a text changes nothing here."""
        return f"{self._quote}\\" if self._quote and not self._escaped else ""

    def feed(self, text: str) -> int | None:
        """Return the offset behind the value's end, None while it goes on. A text that begins no
        value ends where that shows.
        """
        offset = 0 if self._depth or self._ended else self._begin(text)
        while self._depth and offset is not None and offset < len(text):
            offset = self._in_string(text, offset) if self._quote else self._outside(text, offset)
        self._ended = not self._depth and offset is not None
        return offset if self._ended else None

    @property
    def quoted(self) -> bool:
        """Tell whether the next character stands in a string."""
        return bool(self._quote)

    def _begin(self, text: str) -> int | None:
        """Return the offset behind the first bracket, or of what shows that there is none."""
        for offset, character in enumerate(text):
            first = not self._said and not character.isspace()
            if character == "{" or (first and character == "["):
                self._depth, self._last = 1, character
                return offset + 1
            self._said = self._said or first
            if first and not self._header:
                return offset
            self._header -= 1
            if self._said and (self._header <= 0 or _NO_HEADER.match(character)):
                return offset
        return None

    def _outside(self, text: str, offset: int) -> int | None:
        match = _OUTSIDE.search(text, offset)
        before = text[offset : match.start() if match else len(text)].rstrip()
        self._last = before[-1:] or self._last
        if not match:
            return None
        mark = match[0]
        if mark == '"' or (mark == "'" and self._last in _BEFORE_STRING):
            self._quote = mark
        elif mark != "'":
            self._depth += 1 if mark in "[{(" else -1
        self._last = mark
        return match.end()

    def _in_string(self, text: str, offset: int) -> int | None:
        if self._escaped:
            self._escaped = False
            return offset + 1
        match = _INSIDE[self._quote].search(text, offset)
        if not match:
            return None
        self._escaped = match[0] == "\\"
        if match[0] == self._quote:
            self._quote = ""
        return match.end()
