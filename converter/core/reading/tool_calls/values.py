"""Values of tag forms, which are bare text, written as JSON by the types that the tool's schema
names.

A string goes on as it comes; any other value is short and waits for its end.
"""

import json

from converter.core.calls.schema_values import NULLS, typed
from converter.core.reading.tool_calls.source import Says
from converter.core.wire.bounds import HELD_LIMIT

NESTED_LIMIT = 64
"""Values within values; models write three or four."""


class Value:
    """One argument's value: bare text in, JSON out. A string goes on as it comes, whatever it looks
    like (`007` stays `007`); one of no known type is a string. Any other value waits for its end,
    and is a string beyond its limit; the beginning of the word null waits where that is none.
    """

    def __init__(self, types: frozenset[str], say: Says) -> None:
        self._is_string = not types or "string" in types
        self._types = types & {"null"} if self._is_string else types
        self._say = say
        self._held: list[str] | None = [] if self._types else None
        self._length = 0
        self._begun = False

    def goes_on(self) -> bool:
        """Tell whether it is a string that has begun."""
        return self._begun

    def feed(self, text: str) -> None:
        """Write the text, once it is clear that it is a string's."""
        if self._held is not None:
            self._held.append(text)
            self._length += len(text)
            if self._waits(self._held):
                return
            text, self._held = "".join(self._held), None
        self._write(text)

    def close(self) -> None:
        """Write the value, or the end of the string."""
        if self._held is not None:
            self._say(typed("".join(self._held), self._types))
            return
        if not self._begun:
            self._write("")
        self._say('"')

    def write(self, text: str) -> None:
        """Write a value that is all there."""
        self.feed(text)
        self.close()

    def _waits(self, held: list[str]) -> bool:
        if self._is_string:
            return any(null.startswith("".join(held)) for null in NULLS)
        return self._length <= HELD_LIMIT

    def _write(self, text: str) -> None:
        quote = "" if self._begun else '"'
        self._begun = True
        self._say(quote + json.dumps(text, ensure_ascii=False)[1:-1])
