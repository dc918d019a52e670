"""Calls whose name stands in a header before arguments that are JSON. A name alone is a call of a
tool that needs no argument.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from converter.parsing.tool_calls.call import Calls
from converter.parsing.tool_calls.json_body import object_of
from converter.parsing.tool_calls.source import Refused, Source, Step
from converter.parsing.tool_calls.tag_body import marks_of

HEADER_LIMIT = 384
"""Characters of a header: a name, which has at most 64 everywhere, an id, and special tokens."""
_NAME = re.compile(r"\s*+(?P<name>[\w.:-]+)\s*+")


@dataclass(frozen=True, slots=True)
class Header:
    """`pattern`: a header, whole, up to the brace; its group `name` is the tool's name.

    `tail`: what may stand behind the arguments, before the call's closing mark. `heads`: what the
    header begins with, before the pattern. `user`: a header that is no text, of words for the user.
    """

    pattern: str
    tail: str = ""
    heads: Sequence[str] = ("",)
    user: str = ""
    _expression: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_expression", re.compile(self.pattern, re.DOTALL))

    def read(self, source: Source, calls: Calls) -> Step[bool]:
        """Read one call."""
        if self.user and (yield from source.accept((self.user,))):
            return True
        call = calls.current
        header = yield from _header(source, calls.close)
        alone = not source.rest.startswith("{")
        if alone:
            header = header.rstrip().removesuffix(self.tail)
        match = self._expression.fullmatch(header) or (_NAME.fullmatch(header) if alone else None)
        if not (match or alone):
            raise Refused
        call.named(match["name"] if match else "")
        if not alone:
            close = filter(None, (self.tail, *calls.close))
            yield from object_of(source, call, tuple(close))
        elif call.schema.get("required"):
            call.drop()
        call.complete()
        if self.tail:
            yield from source.accept((self.tail,))
        return False


def _header(source: Source, close: Sequence[str]) -> Step[str]:
    """Return the text before the next brace or closing mark, which stays."""
    ends = marks_of("{", *close)
    while not (match := ends.search(source.rest)):
        begun = ends.undecided(source.rest, 0)
        if source.last or len(source.rest) - begun > HEADER_LIMIT:
            raise Refused
        yield
    if match.start() > HEADER_LIMIT:
        raise Refused
    return source.take(match.start())
