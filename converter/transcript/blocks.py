"""The content of a turn as people read it, whichever dialect's: read part by part by the readers of
the dialects' requests, all in one table; and the items of an input or reply, of which those that
the model wrote, and those that its tools gave, are one turn each. Never raises.

A block that no reader takes is told as it came, and what a reader did not ask for as fields of
their own, so nothing is lost on odd data.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from converter.dialects.reasoning_fields import is_said, words_of
from converter.dialects.table import block_readers
from converter.model.conversation import (
    Block,
    Data,
    Document,
    Image,
    Linked,
    RedactedThinking,
    RequestError,
    Sound,
    Source,
    TextBlock,
)
from converter.observe.printable import in_json, size_of
from converter.transcript.turns import (
    CallPart,
    Field,
    Media,
    Part,
    Raw,
    ResultPart,
    ShownTurn,
    TextPart,
    ThinkingPart,
)
from converter.wire.checked import Fields

type Body = Mapping[str, object]
type Split = Callable[[str], list[Part]]

READERS = block_readers()
SERVICE = frozenset({"type", "cache_control", "signature", "index"})
"""Fields that steer a server and say nothing to a person."""
_DEPTH = 8
"""A tool result holds documents, which hold blocks; nothing is known to nest deeper."""
_ASSISTANT, _TOOL, _UNKNOWN = "assistant", "tool", "?"
_HEAD = ("id", "status")
"""Fields of every item that say nothing to a person."""
_GIVEN = ("arguments", "input", "action", "operation", "code", "queries")
"""Where an item of a call holds its arguments, by the kind of call."""
_NAMES = ("server_label", "namespace", "name")
"""The names in a call: the tool's source, and the tool."""


def parts_of(content: object, depth: int = _DEPTH) -> list[Part]:
    """Return the parts of a content: a string, a list of blocks, or anything in its place. `depth`:
    the levels that are read, one in the other.
    """
    if not isinstance(content, list) or not depth:
        return _odd(content)
    return [
        part
        for block in content
        for part in (part_of(block, depth) if isinstance(block, dict) else _odd(block))
    ]


def part_of(block: Body, depth: int = _DEPTH) -> list[Part]:
    """Return the parts of one block."""
    kind, fields = str(block.get("type") or ""), Fields(block)
    try:
        parts = list(_read(kind, fields, depth))
    except (RequestError, RecursionError):
        return [Raw(in_json(block))]
    return [*parts, *_fields(fields.unread())]


def plain(parts: list[Part]) -> str:
    """Return the parts of a tool result as one text, pictures as a line."""
    return "\n".join(_words(part) for part in parts)


def json_of(value: object) -> str:
    """Return the JSON text of arguments: some send it as a string, some as the object itself."""
    return value if isinstance(value, str) else in_json(value)


def _odd(value: object) -> list[Part]:
    if isinstance(value, str):
        return [TextPart(value)]
    return [] if value is None else [Raw(in_json(value))]


def _read(kind: str, block: Fields, depth: int) -> Iterator[Part]:
    """Read a block. Raises RequestError for one that is not of the shape that its reader expects,
    or that has none.
    """
    if kind.endswith("tool_result"):
        yield _result(block, depth)
    elif kind.endswith("tool_use"):
        yield _call(block)
    elif kind == "thinking":
        yield _thinking(block)
    elif kind in READERS:
        place = kind if kind == "refusal" else ""
        yield from _shown(READERS[kind](block), block, place)
    else:
        raise block.error("type", "Not known")


def _call(block: Fields) -> CallPart:
    given = block.value("input")
    name, id_ = (block.optional(field, str) or "" for field in ("name", "id"))
    block.value("caller")
    return CallPart(name, id_, "" if given is None else json_of(given))


def _result(block: Fields, depth: int) -> ResultPart:
    text = plain(parts_of(block.value("content"), depth - 1))
    id_, error = block.optional("tool_use_id", str), block.optional("is_error", bool)
    return ResultPart(text, id_ or "", error=error or False)


def _thinking(block: Fields) -> ThinkingPart:
    value = block.value("thinking")
    words = words_of(value)
    if value and not words:
        raise block.error("thinking", "Input should be text")
    block.value("closed")  # Mistral's
    return ThinkingPart(words)


def _shown(read: Block, block: Fields, place: str) -> Iterator[Part]:
    """Return the parts that a read block is to a person; `place` is that of its text."""
    match read:
        case TextBlock(text):
            yield TextPart(text, place)
        case RedactedThinking(data):
            yield ThinkingPart("", f"only its vendor can read it, {size_of(data)} bytes")
        case Image(source):
            yield _media("image", source)
        case Sound(Data(media_type, data)):
            yield Media("audio", media_type.removeprefix("audio/"), size_of(data))
        case Document():
            yield from _document(read, block)


def _media(kind: str, source: Source, title: str = "") -> Media:
    match source:
        case Data(media_type, data):
            return Media(kind, media_type, size_of(data), title=title, data=data)
        case Linked(place):
            return Media(kind, place=place, title=title)
        case stored:
            return Media(kind, place=stored.file_id, title=title)


def _document(read: Document, block: Fields) -> Iterator[Part]:
    kind = block.required("type", str).removeprefix("input_").removesuffix("_url")
    if isinstance(read.content, tuple):
        source = block.value("source")
        form = source if isinstance(source, dict) else {}
        yield Media(kind, str(form.get("media_type") or ""), title=read.title)
        place = "" if form.get("type") == "content" else kind
        for inner in read.content:
            yield from _shown(inner, block, place)
    else:
        yield _media(kind, read.content, read.title)
    if read.context:
        yield TextPart(read.context, "context")


def left_over(block: Body, known: tuple[str, ...]) -> Iterator[Part]:
    """Return the fields that say something and have not been read."""
    return _fields((name, value) for name, value in block.items() if name not in known)


def _fields(unread: Iterable[tuple[str, object]]) -> Iterator[Part]:
    for name, value in unread:
        if name not in SERVICE and is_said(value):
            yield Field(name, value)


def _words(part: Part) -> str:
    match part:
        case TextPart() | Raw() | ThinkingPart():
            return part.text
        case Media():
            return f"[{part.kind} {part.words}]"
        case Field():
            return f"{part.name}: {json_of(part.value)}"
        case _:
            return str(part)


def _as_it_is(text: str) -> list[Part]:
    return [TextPart(text)]


def turns_of(given: object, split: Split = _as_it_is) -> list[ShownTurn]:
    """Return the turns of an input: a text, a list of items, or whatever stands in its place.
    `split` sets thinking apart that stands in the text of an assistant.
    """
    if isinstance(given, str):
        return [ShownTurn("user", (TextPart(given),))]
    turns: list[tuple[str, list[Part]]] = []
    for item in given if isinstance(given, list) else [given] if is_said(given) else []:
        role, parts = _item(item, split)
        if turns and role in (_ASSISTANT, _TOOL) and turns[-1][0] == role:
            turns[-1][1].extend(parts)
        else:
            turns.append((role, [*parts]))
    return [ShownTurn(role, tuple(parts)) for role, parts in turns]


def parts_of_item(item: Body) -> list[Part]:
    """Return the parts of one item."""
    return list(_item(item, _as_it_is)[1])


def _item(item: object, split: Split) -> tuple[str, Iterator[Part]]:
    """Return an item's speaker, and its parts."""
    if not isinstance(item, dict):
        return _UNKNOWN, iter([Raw(in_json(item))])
    kind, role = str(item.get("type") or "message"), item.get("role")
    if kind == "message" and isinstance(role, str) and role:
        return role, _message(item, split if role == _ASSISTANT else _as_it_is)
    if kind == "reasoning":
        return _ASSISTANT, _thought(item)
    if kind.endswith("_call"):
        return _ASSISTANT, _item_call(item, kind)
    if kind.endswith("_output"):
        return _TOOL, _output(item)
    return _UNKNOWN, iter([Raw(in_json(item))])


def _message(item: Body, split: Split) -> Iterator[Part]:
    for part in parts_of(item.get("content")):
        yield from split(part.text) if isinstance(part, TextPart) and not part.place else [part]
    yield from left_over(item, (*_HEAD, "role", "content"))


def _thought(item: Body) -> Iterator[Part]:
    """Read a thought: raw or as a summary; a sealed one only where it has no words."""
    raw, summary, sealed = (item.get(name) for name in ("content", "summary", "encrypted_content"))
    words = words_of(raw) or words_of(summary)
    hidden = isinstance(sealed, str) and sealed and not words
    yield ThinkingPart(words, f"sealed, {size_of(str(sealed))} bytes" if hidden else "")
    yield from left_over(item, (*_HEAD, "content", "summary", "encrypted_content"))


def _item_call(item: Body, kind: str) -> Iterator[Part]:
    place = next((name for name in _GIVEN if item.get(name) is not None), "")
    names = [written for name in _NAMES if isinstance(written := item.get(name), str)]
    name, call = ".".join(names), item.get("call_id") or item.get("id") or ""
    given = json_of(item[place]) if place else ""
    yield CallPart(name or kind.removesuffix("_call"), str(call), given)
    yield from left_over(item, (*_HEAD, *_NAMES, "call_id", place))


def _output(item: Body) -> Iterator[Part]:
    given, call = item.get("output"), item.get("call_id")
    text = plain(parts_of([given] if isinstance(given, dict) else given))
    yield ResultPart(text, str(call or ""), error=item.get("status") == "failed")
    yield from left_over(item, (*_HEAD, "output", "call_id"))
