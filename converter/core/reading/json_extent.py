"""The end of a JSON value, or of a list of Python calls, in a text that arrives in pieces.

The reader of JSON knows strings and brackets here and nothing else, because models write Python as
well, and text that is neither.
"""

import re

from converter.core.wire.json_reader import JsonReader, Part, Want

_NO_HEADER = re.compile(r"[^\w\s.\-:\[\]]")
HEADER_LIMIT = 384
"""Characters before a call's first brace: its name, which has at most 64 everywhere, an id and
special tokens.
"""


class JsonExtent:
    """Feed the text from where the value begins, an object, a list or a string; `feed` tells where
    it ends.

    `header`: whether a tool's name may stand before it, as behind `[TOOL_CALLS]`.
    """

    def __init__(self, header: bool = False) -> None:
        self._header = HEADER_LIMIT if header else 0  # characters that it may still have
        self._firsts = "[" if header else "[\"'"
        self._said = False  # something but blanks
        self._reader = JsonReader(Want.LOOSE)
        self._depth = 0
        self._ended = False

    @property
    def wakes(self) -> str:
        """The characters without which a text changes nothing here."""
        reader = self._reader
        return f"{reader.quote}\\" if reader.quote and not reader.held else ""

    @property
    def quoted(self) -> bool:
        """Tell whether the next character stands in a string."""
        return bool(self._reader.quote)

    def feed(self, text: str) -> int | None:
        """Return the offset behind the value's end, None while it goes on. A text that begins no
        value ends where that shows.
        """
        begin = 0 if self._depth or self._ended or self.quoted else self._begin(text)
        if begin is None or self._ended:
            return begin
        before = len(self._reader.held)
        for part, _, end in self._reader.feed(text[begin:]):
            self._depth += (part is Part.OPEN) - (part is Part.CLOSE)
            if not (self._depth or self._reader.quote):
                self._ended = True
                return begin + end - before
        return None

    def _begin(self, text: str) -> int | None:
        """Return where the value begins, or where shows that there is none, which ends it."""
        for offset, character in enumerate(text):
            first = not self._said and not character.isspace()
            if character == "{" or (first and character in self._firsts):
                return offset
            self._said = self._said or first
            self._header -= 1
            if self._said and (self._header <= 0 or _NO_HEADER.match(character)):
                self._ended = True
                return offset
        return None
