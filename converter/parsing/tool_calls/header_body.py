"""Calls whose name stands in a header before arguments that are JSON."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from converter.parsing.tool_calls.call import Calls
from converter.parsing.tool_calls.json_body import object_of
from converter.parsing.tool_calls.source import Refused, Source, Step

HEADER_LIMIT = 384
"""Characters of a header: a name, which has at most 64 everywhere, an id, and special tokens."""


@dataclass(frozen=True, slots=True)
class Header:
    """`pattern`: a header, whole, up to the brace; its group `name` is the tool's name.

    `tail`: what may stand behind the arguments, before the call's closing mark. `heads`: what the
    header begins with, before the pattern.
    """

    pattern: str
    tail: str = ""
    heads: Sequence[str] = ("",)
    _expression: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_expression", re.compile(self.pattern, re.DOTALL))

    def read(self, source: Source, calls: Calls) -> Step[bool]:
        """Read one call."""
        found = self._expression.fullmatch((yield from _header(source)))
        if not found:
            raise Refused
        calls.current.named(found["name"])
        yield from object_of(source, calls.current)
        calls.current.complete()
        if self.tail:
            yield from source.accept((self.tail,))
        return False


def _header(source: Source) -> Step[str]:
    """Return what stands before the next brace, which stays."""
    while (place := source.rest.find("{")) < 0:
        if source.last or len(source.rest) > HEADER_LIMIT:
            raise Refused
        yield
    if place > HEADER_LIMIT:
        raise Refused
    return source.take(place)
