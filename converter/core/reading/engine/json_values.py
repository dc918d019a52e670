"""JSON in an answer, in which nothing is a tag: a call without marks, or the answer that was asked
for; and the end of such a value, or of a list of Python calls, in a text that arrives in pieces.

An argument may be a text about tags, and so may a string of an answer. Brackets count outside of
strings only. A single quote begins a string where a key or a value may begin, because models write
Python's quotes as well.
"""

import re
from collections.abc import Callable

from converter.core.reading.engine.states import IN_TEXT, SILENT_SO_FAR, UNDECIDED, State

_OUTSIDE = re.compile(r"[\[{(\]})\"']")
_INSIDE = {quote: re.compile(rf"\\.|\\\Z|{quote}", re.DOTALL) for quote in "\"'"}
_BEFORE_STRING = "[{(,:="
_NO_HEADER = re.compile(r"[^\w\s.\-:\[\]]")
_VALUE = re.compile(r"[\[{]")
_VALUE_AT_HEAD = re.compile(r"\s*+[\[{]")
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


class JsonValues:
    """The values in a text, from the first bracket to the last. `wanted`: the answer is to
    be JSON; `open`: the value that is read.
    """

    def __init__(self, wanted: bool) -> None:
        self._wanted = wanted
        self._find: Callable[[str, int, int], re.Match[str] | None] | None = None
        self.open: JsonExtent | None = None

    @property
    def waits(self) -> bool:
        """Tell whether a value is open, or may begin here."""
        return self.open is not None or self._find is not None

    @property
    def firsts(self) -> str:
        """The characters with which a value may begin in an answer."""
        return "[{" if self._wanted else ""

    def look(self, state: State, offered: bool, in_call: bool) -> None:
        """Find out where values may begin in a state. `offered`: the request offers tools;
        `in_call`: a call's arguments may.
        """
        self._find = _VALUE.search if in_call and not self.open else None
        if state in IN_TEXT and not self.open:
            if self._wanted and state not in UNDECIDED:
                self._find = _VALUE.search
            elif (self._wanted or offered) and state in SILENT_SO_FAR:
                self._find = _VALUE_AT_HEAD.match

    def begin(self, header: bool = False) -> None:
        """Begin a value. `header`: a tool's name may stand before it."""
        self.open = JsonExtent(header)

    def begins(self, text: str, stop: int) -> int | None:
        """Return where a value begins before `stop`."""
        found = self._find(text, 0, stop) if self._find else None
        return found.end() - 1 if found else None

    def ends(self, text: str) -> int | None:
        """Return where the open value ends in the text that comes next."""
        return self.open.feed(text) if self.open else None
