"""Calls whose parameters are elements named by their keys, nested as their values are.

MiniMax-M3 writes so, with a mark of its own before every tag: `#<city>Oslo#</city>`, `#` being the
mark; a list is a row of `item` elements.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from converter.parsing.tool_calls.call import Calls, Schema
from converter.parsing.tool_calls.json_body import NAME_LIMIT
from converter.parsing.tool_calls.source import Refused, Source, Step
from converter.parsing.tool_calls.tag_body import marks_of
from converter.parsing.tool_calls.values import (
    NESTED_LIMIT,
    NO_STRING,
    literal,
    part,
    type_names,
    value,
)

ITEM = "item"


@dataclass(frozen=True, slots=True)
class Elements:
    """`mark`: what stands before every tag; `tag`: the call's, its attribute being the name."""

    mark: str
    tag: str = "invoke"

    @property
    def heads(self) -> Sequence[str]:
        """The marks that a call begins with."""
        return (f"{self.mark}<{self.tag} name=",)

    def read(self, source: Source, calls: Calls) -> Step[bool]:
        """Read one call."""
        call = calls.current
        written, _ = yield from source.short(marks_of(">"), NAME_LIMIT)
        call.named(written.strip("\"' "))
        opening = f"{self.mark}<"
        if not (yield from source.ahead((opening,)))[0]:
            raise Refused
        call.open()
        while (name := (yield from self._tag(source))) != f"/{self.tag}":
            call.key(name)
            inner = part(call.schema, name)
            if (yield from self._nested(source)):
                call.say((yield from self._value(source, inner, name, call.schema)))
            else:
                writer = value(type_names(inner, call.schema), call.say)
                if not (yield from source.until(marks_of(f"{opening}/{name}>"), writer.feed)):
                    raise Refused
                writer.close()
        call.complete()
        return False

    def _tag(self, source: Source) -> Step[str]:
        if not (yield from source.accept((f"{self.mark}<",))):
            raise Refused
        name, _ = yield from source.short(marks_of(">"), NAME_LIMIT)
        return name

    def _nested(self, source: Source) -> Step[bool]:
        """Tell whether elements come next, not text or the closing tag."""
        closing, opening = f"{self.mark}</", f"{self.mark}<"
        mark, _ = yield from source.ahead((closing, opening))
        return mark == opening

    def _value(
        self, source: Source, schema: Schema, name: str, root: Schema, depth: int = 0
    ) -> Step[str]:
        """Return the JSON text of an element, whose opening tag has been read."""
        if depth > NESTED_LIMIT:
            raise Refused
        if not (yield from self._nested(source)):
            return (yield from self._text(source, type_names(schema, root), name))
        items: list[str] = []
        members: dict[str, str] = {}
        while (tag := (yield from self._tag(source))) != f"/{name}":
            within = part(schema, tag, root)
            inner = yield from self._value(source, within, tag, root, depth + 1)
            items.append(inner)
            members[tag] = inner
        if set(members) == {ITEM}:
            return f"[{', '.join(items)}]"
        return "{" + ", ".join(f"{literal(key)}: {text}" for key, text in members.items()) + "}"

    def _text(self, source: Source, types: frozenset[str], name: str) -> Step[str]:
        pieces: list[str] = []
        writer = value(types or NO_STRING, pieces.append)
        if not (yield from source.until(marks_of(f"{self.mark}</{name}>"), writer.feed)):
            raise Refused
        writer.close()
        return "".join(pieces)
