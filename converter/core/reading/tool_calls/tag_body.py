"""Calls written in tags: a function's tag with a tag for each parameter, or keys and values in
turn.

Values are bare text, typed by the tool's schema. The closing mark of a value counts only where the
form goes on behind it, because a value may be text about these very marks.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from converter.core.calls.schema_values import (
    NO_STRING,
    Schema,
    literal,
    part,
    properties_of,
    type_names,
    types_of,
)
from converter.core.reading.tool_calls.call import Call, Calls
from converter.core.reading.tool_calls.json_body import arguments_alone
from converter.core.reading.tool_calls.source import (
    BLANKS,
    BrokenArguments,
    Refused,
    Says,
    Source,
    Step,
)
from converter.core.reading.tool_calls.value_end import HEADER, ValueEnd, ValueMarks
from converter.core.reading.tool_calls.values import NESTED_LIMIT, Value
from converter.core.wire.bounds import HELD_LIMIT

_IS_STRING = re.compile(r"""\bstring=["']?true|\btype=["']?str""")
_IS_JSON = re.compile(r"""\bstring=["']?false|\btype=["']?(\w+)""")
_ATTRIBUTE = re.compile(r"""([\w.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'/>]+))""")
_OF_THE_CALL = frozenset(("id", "index", "type", "call_id", "tool_call_id", "string"))
"""Attributes of a call's tag that are no arguments."""
_WORD = re.compile(r"\s*+([\w.:/-]*+)(?=[^\w.:/-])")
"""A name, once a mark or a blank follows it; an empty one where there is none."""
_CDATA = "<![CDATA[", "]]>"
_LINE_ENDS = ("\r\n", "\n")


@dataclass(frozen=True, slots=True)
class Tags(ValueMarks):
    """A call's tag with a tag for each parameter. `cdata`: a value may stand in a CDATA section."""

    cdata: bool = False

    def read(self, source: Source, calls: Calls) -> Step[bool]:
        """Read one call."""
        call = calls.current
        name, more = _header((yield from source.short(self.tag_end)))
        call.named(name)
        first, place = yield from source.ahead((*self.parameters, *self.end, "{"))
        beside = _beside(more)
        if not first or (call.name and not all(map(call.knows, beside))):
            raise Refused
        if first == "{":  # as Llama 3.1 has them
            source.take(place)
            yield from arguments_alone(source, call, self.end)
            if not (yield from source.accept(self.end)):
                raise Refused
        else:
            call.open()
            for key, given in beside.items():
                call.key(key)
                Value(types_of(call.schema, key), call.say).write(given)
            yield from self._parameters(source, call, calls.close)
            if not call.given and (yield from source.ahead(('{"',)))[0]:
                raise BrokenArguments  # the arguments stand behind a call that has none
        call.complete()
        return False

    def _parameters(self, source: Source, call: Call, close: Sequence[str]) -> Step[None]:
        end: str | None = None
        while end not in (*self.end, *close):
            while end is None or end in self.ends:  # a closing mark said again says nothing
                said = self.ends if end else ()
                end = yield from source.accept((*self.parameters, *self.end, *said))
            if end in self.parameters:
                end = yield from self._parameter(source, call, close)
            elif not end:  # it is complete if its outer mark or a call follows, or nothing can
                followed = (yield from source.ahead((*close, *self.heads)))[0]
                if not followed and not (self.open_ended and not source.cut):
                    raise Refused
                return
            if end in self.end and (yield from source.ahead(self.parameters))[0]:
                end = None  # it stood too early

    def _parameter(self, source: Source, call: Call, close: Sequence[str]) -> Step[str]:
        """Read a parameter; return the mark that ended its value. Models leave closing marks out,
        so it may be the parameter's own mark, the call's or an outer one, or the mark of another
        parameter of the tool.
        """
        name, types_named = _header((yield from source.short(self.tag_end)))
        if "=" in name and not call.knows(name):
            raise Refused  # the value stands in the tag: the call has no meaning without it
        call.key(name)
        written = Value(_types(types_named) or types_of(call.schema, name), call.say)
        if self.padded:
            while (padding := source.look_at(_LINE_ENDS, 0)) is None:
                yield None
            source.take(len(padding[0]))
        if self.cdata and (yield from source.accept(_CDATA[:1])):
            yield from source.until({_CDATA[1]: None}, written.feed, as_is=written.goes_on)
        return (yield from ValueEnd(source, call, self, close, written).read())


@dataclass(frozen=True, slots=True)
class Pairs:
    """The bare name, then keys and values in turn; `separator` may follow the name.

    `key`, `value`, `kind`: opening and closing marks; a kind may stand between key and value. A
    value may have no opening mark. `reads_unknown`: a value that the schema does not know is read
    as JSON, where it is.
    """

    key: tuple[str, str]
    value: tuple[str, str]
    kind: tuple[str, str] = ("", "")
    separator: str = ""
    heads: Sequence[str] = ("",)
    reads_unknown: bool = False

    def read(self, source: Source, calls: Calls) -> Step[bool]:
        """Read one call, and its closing mark."""
        call, nexts = calls.current, (self.key[0], *calls.close, *self.value[1:])
        written = (yield from source.match(_WORD))[1]
        if self.separator:
            yield from source.accept((self.separator,))
        key, mark = "", (yield from source.ahead(nexts))[0]
        if not written or not mark:
            written, key = yield from self._unopened(source, written, call.tools)
        call.named(written)
        if mark in self.value[1:] and (yield from self._ends(source, nexts)):
            call.complete()
            return True
        call.open()
        ended = (yield from self._pair(source, call, calls.close, key)).strip() if key else ""
        while ended not in calls.close or (yield from source.ahead(self.key[:1]))[0]:
            if ended != self.key[0]:
                # a value's closing mark, or the call's that stood too early, says nothing
                ended = yield from source.accept(nexts)
            if not ended:
                raise Refused
            if ended == self.key[0]:
                ended = (yield from self._pair(source, call, calls.close)).strip()
        call.complete()
        return True

    def _ends(self, source: Source, nexts: Sequence[str]) -> Step[bool]:
        """Take a value's closing mark behind the name; tell whether it closes the call, as of
        Hunyuan v3 and GLM-5.2: nothing follows. Raises Refused where anything but `nexts` does.
        """
        yield from source.accept(self.value[1:])
        if (yield from source.ahead(nexts))[0]:
            return False
        if source.cut or source.rest.strip(BLANKS):
            raise Refused
        return True

    def _unopened(
        self, source: Source, written: str, tools: Mapping[str, Schema]
    ) -> Step[tuple[str, str]]:
        """Return the name, and the first key, whose opening mark GLM-4.7 leaves out at times: it
        stands behind the name, or goes on with it.
        """
        named = [tool for tool in tools if written.startswith(tool)]
        if not named or self.key[0] == "":
            raise Refused
        behind = (yield from source.short(self.key[1])).strip()
        pairs = [(tool, f"{written[len(tool) :]}{behind}") for tool in named]
        fitting = [(tool, key) for tool, key in pairs if key in properties_of(tools[tool])]
        if len(fitting) != 1:
            raise Refused
        return fitting[0]

    def _pair(self, source: Source, call: Call, close: Sequence[str], name: str = "") -> Step[str]:
        """Read a key, unless its `name` is known, and its value; return the mark that ended it."""
        if not name:
            name = (yield from source.short(self.key[1])).strip()
        while (yield from source.accept(self.key[1:])):
            continue  # a closing mark said again says nothing
        if self.kind[0] and (yield from source.accept(self.kind[:1])):
            yield from source.short(self.kind[1])
        opened = not self.value[0] or (yield from source.accept(self.value[:1]))
        if not opened and not call.lacks(name):  # GLM-4.7 leaves the mark out under load
            raise Refused
        unknown = self.reads_unknown and not call.knows(name)
        call.key(name)
        written = Value(NO_STRING if unknown else types_of(call.schema, name), call.say)
        closing = (*close, *(f"\n{mark}" for mark in close))
        keys = (self.key[0], f"\n{self.key[0]}")
        marks = ValueMarks((), (), keys, self.value[1:], self.key[1], padded=False)
        ended = yield from ValueEnd(source, call, marks, closing, written).read()
        if not opened and ended not in self.value:
            raise Refused
        return ended


def _header(tag: str) -> tuple[str, str]:
    """Return the name in a tag, and the other text in it."""
    match = HEADER.fullmatch(tag)
    if not match or "<" in tag or "\n" in tag:
        raise Refused
    return match[1], match[2]


def _beside(tag: str) -> dict[str, str]:
    """Return the arguments that stand in a call's tag, behind its name."""
    found = _ATTRIBUTE.findall(tag)
    return {name: "".join(given) for name, *given in found if name not in _OF_THE_CALL}


def _types(written: str) -> frozenset[str]:
    """Return the types that a parameter's tag tells by itself."""
    if _IS_STRING.search(written):
        return frozenset({"string"})
    return NO_STRING if _IS_JSON.search(written) else frozenset()


ITEM = "item"


@dataclass(frozen=True, slots=True)
class Elements:
    """Calls whose parameters are elements named by their keys, nested as their values are.

    MiniMax-M3 writes so, with a mark of its own before every tag: `#<city>Oslo#</city>`, `#` being
    the mark; a list is a row of `item` elements.

    `mark`: what stands before every tag; `tag`: the call's, its attribute being the name.
    """

    mark: str
    tag: str = "invoke"

    @property
    def heads(self) -> Sequence[str]:
        """The marks that a call begins with, the second where the model leaves `<` out."""
        return (f"{self.mark}<{self.tag} name=", f"{self.mark}{self.tag} name=")

    def read(self, source: Source, calls: Calls) -> Step[bool]:
        """Read one call."""
        call = calls.current
        written = yield from source.short(">")
        call.named(written.strip("\"' "))
        if not (yield from source.ahead((self.mark,)))[0]:
            raise Refused
        call.open()
        closing, opening, over = f"{self.mark}</", f"{self.mark}<", False
        while not over:
            if (yield from source.ahead((opening, self.mark)))[0] == self.mark:
                yield from self._unopened(source, call)
                continue
            name = yield from self._tag(source)
            if name == f"/{self.tag}":  # too early where an element follows
                over = (yield from source.ahead((*self.heads, closing, opening)))[0] != opening
            else:
                call.key(name)
                schema = part(call.schema, name)
                yield from self._element(source, schema, name, call.schema, call.say)
        call.complete()
        return False

    def _tag(self, source: Source) -> Step[str]:
        """Take a tag and return its name."""
        if not (yield from source.accept((f"{self.mark}<",))):
            raise Refused
        return (yield from source.short(">"))

    def _unopened(self, source: Source, call: Call) -> Step[None]:
        """Say an argument without its opening tag: the closing one has its name."""
        yield from source.accept((self.mark,))
        written = yield from source.before((self.mark,), HELD_LIMIT)
        tag = yield from self._tag(source)
        if tag[:1] != "/" or not call.lacks(tag[1:]):
            raise Refused
        call.key(tag[1:])
        Value(types_of(call.schema, tag[1:]), call.say).write(written)

    def _element(
        self, source: Source, schema: Schema, name: str, root: Schema, say: Says, depth: int = 0
    ) -> Step[None]:
        """Say the JSON text of an element, whose opening tag has been read."""
        if depth > NESTED_LIMIT:
            raise Refused
        closing, opening = f"{self.mark}</", f"{self.mark}<"
        if (yield from source.ahead((closing, opening)))[0] != opening:
            written = Value(type_names(schema, root) or (NO_STRING if depth else frozenset()), say)
            end, as_is = f"{self.mark}</{name}>", None if depth else written.goes_on
            if not (yield from source.until({end: None}, written.feed, as_is=as_is)):
                raise Refused
            written.close()
            return
        items: list[str] = []
        members: dict[str, str] = {}
        while (tag := (yield from self._tag(source))) != f"/{name}":
            pieces: list[str] = []
            within = part(schema, tag, root)
            yield from self._element(source, within, tag, root, pieces.append, depth + 1)
            items.append("".join(pieces))
            members[tag] = items[-1]
        if set(members) == {ITEM}:
            say(f"[{', '.join(items)}]")
        else:
            inner = ", ".join(f"{literal(key)}: {text}" for key, text in members.items())
            say(f"{{{inner}}}")
