"""The end of a JSON value, or of a list of Python calls, in a text that arrives in pieces.

The reader of JSON knows strings and brackets here and nothing else, because models write Python as
well, and text that is neither.
"""

from converter.core.wire.json_reader import JsonPart, JsonReader, Want


class JsonExtent:
    """Feed the text from the bracket or quote at which the value begins; `feed` tells where the
    value ends.
    """

    def __init__(self) -> None:
        self._reader = JsonReader(Want.LOOSE)
        self._depth = 0

    @property
    def wakes(self) -> str:
        """The characters without which a text changes nothing here."""
        reader = self._reader
        return f"{reader.quote}\\" if reader.quote and not reader.held else ""

    @property
    def quoted(self) -> bool:
        """Return True if the next character stands in a string."""
        return bool(self._reader.quote)

    def feed(self, text: str) -> int | None:
        """Return the offset behind the value's end, None while it goes on."""
        before = len(self._reader.held)
        for part, _, end in self._reader.feed(text):
            self._depth += (part is JsonPart.OPEN) - (part is JsonPart.CLOSE)
            if not (self._depth or self._reader.quote):
                return end - before
        return None
