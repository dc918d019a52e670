"""The content of a turn as people read it, whichever dialect's: read part by part by the readers of
the dialects' requests, all in one table. Never raises.

A block that no reader takes is told as it came, and what a reader did not ask for as fields of
their own, so nothing is lost on odd data.
"""

from collections.abc import Iterable, Iterator, Mapping

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
    TextPart,
    ThinkingPart,
)
from converter.wire.checked import Fields

type Body = Mapping[str, object]

READERS = block_readers()
SERVICE = frozenset({"type", "cache_control", "signature", "index"})
"""Fields that steer a server and say nothing to a person."""
_DEPTH = 8
"""A tool result holds documents, which hold blocks; nothing is known to nest deeper."""


def parts_of(content: object) -> list[Part]:
    """Return what a content says: a string, a list of blocks, or whatever stands in its place."""
    return list(_parts(content, _DEPTH))


def part_of(block: Body) -> list[Part]:
    """Return what one block says."""
    return list(_block(block, _DEPTH))


def plain(parts: list[Part]) -> str:
    """Return the parts of a tool result as one text, pictures as a line."""
    return "\n".join(_words(part) for part in parts)


def json_of(value: object) -> str:
    """Return the JSON text of arguments: some send it as a string, some as the object itself."""
    return value if isinstance(value, str) else in_json(value)


def _parts(content: object, depth: int) -> Iterator[Part]:
    if isinstance(content, str):
        yield TextPart(content)
    elif isinstance(content, list) and depth:
        for block in content:
            yield from _block(block, depth) if isinstance(block, dict) else _odd(block)
    elif content is not None:
        yield from _odd(content)


def _odd(value: object) -> Iterator[Part]:
    if isinstance(value, str):
        yield TextPart(value)
    elif value is not None:
        yield Raw(in_json(value))


def _block(block: Body, depth: int) -> Iterator[Part]:
    kind = str(block.get("type") or "")
    fields = Fields(block)
    try:
        parts = list(_read(kind, fields, depth))
    except (RequestError, RecursionError):
        yield Raw(in_json(block))
    else:
        yield from parts
        yield from _fields(fields.unread())


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
    text = plain(list(_parts(block.value("content"), depth - 1)))
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
