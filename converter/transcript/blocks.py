"""The content of a turn, read part by part, whichever dialect's: a table of readers by type. Never
raises.

What a block holds beside the fields its reader knows is told as fields of its own, so nothing is
lost on odd data.
"""

import base64 as encoding
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from converter.dialects.reasoning_fields import is_said, words_of
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

type Fields = Mapping[str, object]
type Reader = Callable[[Fields], Iterator[Part]]

SERVICE = frozenset({"type", "cache_control", "signature", "index"})
"""Fields that steer a server and say nothing to a person."""
_DEPTH = 8
"""A tool result holds documents, which hold blocks; nothing is known to nest deeper."""
_IMAGE, _FILE = "image", ("file_data", "file_url", "file_id")


def parts_of(content: object) -> list[Part]:
    """Return what a content says: a string, a list of blocks, or whatever stands in its place."""
    return list(_parts(content, _DEPTH))


def part_of(block: Fields) -> list[Part]:
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


def _block(block: Fields, depth: int) -> Iterator[Part]:
    kind = str(block.get("type") or "")
    reader, known = _READERS.get(_reduced(kind)) or (None, ())
    if kind.endswith("tool_result"):
        yield from _tool_result(block, depth)
    elif reader is None:
        yield Raw(in_json(block))
    else:
        yield from _read(reader, known, block)


def _read(reader: Reader, known: tuple[str, ...], block: Fields) -> Iterator[Part]:
    """Read a block; as it came when a field is not of the shape that its reader expects."""
    try:
        yield from list(reader(block))
    except (TypeError, ValueError, KeyError, RecursionError):
        yield Raw(in_json(block))
    else:
        yield from left_over(block, known)


def left_over(block: Fields, known: tuple[str, ...]) -> Iterator[Part]:
    """Return the fields that say something and have not been read."""
    for name, value in block.items():
        if name not in known and name not in SERVICE and is_said(value):
            yield Field(name, value)


def _reduced(kind: str) -> str:
    return "tool_use" if kind.endswith("tool_use") else kind


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


def _string(block: Fields, name: str) -> str:
    value = block.get(name, "")
    if not isinstance(value, str):
        raise TypeError
    return value


def _text(block: Fields) -> Iterator[Part]:
    yield TextPart(_string(block, "text"))


def _refusal(block: Fields) -> Iterator[Part]:
    yield TextPart(_string(block, "refusal"), "refusal")


def _thinking(block: Fields) -> Iterator[Part]:
    value = block.get("thinking") or ""
    words = words_of(value)
    if value and not words:
        raise TypeError
    yield ThinkingPart(words)


def _redacted(block: Fields) -> Iterator[Part]:
    yield ThinkingPart("", f"only its vendor can read it, {size_of(_string(block, 'data'))} bytes")


def _tool_use(block: Fields) -> Iterator[Part]:
    given = block.get("input")
    yield CallPart(
        _string(block, "name"), _string(block, "id"), "" if given is None else json_of(given)
    )


def _tool_result(block: Fields, depth: int) -> Iterator[Part]:
    known = ("tool_use_id", "content", "is_error")
    id_, error = block.get("tool_use_id"), block.get("is_error")
    if isinstance(id_, str | None) and isinstance(error, bool | None):
        yield ResultPart(
            plain(list(_parts(block.get("content"), depth - 1))), id_ or "", error=bool(error)
        )
        yield from left_over(block, known)
    else:
        yield Raw(in_json(block))


def _linked(block: Fields) -> Iterator[Part]:
    """`image_url` and its like: `{"url": ...}`, or the URL itself."""
    kind = _string(block, "type")
    inner = block[kind]
    url = inner if isinstance(inner, str) else _string(_dict(inner), "url")
    yield _of_url(kind.removesuffix("_url").removeprefix("input_"), url)
    if isinstance(inner, dict):
        yield from left_over(inner, ("url", "detail"))


def _input_image(block: Fields) -> Iterator[Part]:
    yield _of_url(_IMAGE, _string(block, "image_url") or _string(block, "file_id"))


def _audio(block: Fields) -> Iterator[Part]:
    inner = _dict(block["input_audio"])
    yield Media("audio", _string(inner, "format"), size_of(_string(inner, "data")))
    yield from left_over(inner, ("data", "format"))


def _file(block: Fields) -> Iterator[Part]:
    inner = _dict(block.get("file", block))  # `input_file` holds itself what `file` holds in it
    url = next((written for name in _FILE if (written := _string(inner, name))), "")
    yield replace(_of_url("file", url), title=_string(inner, "filename"))
    yield from left_over(inner, (*_FILE, "filename")) if inner is not block else ()


def _sourced(block: Fields) -> Iterator[Part]:
    """An image or document of the Messages API."""
    source, kind = _dict(block["source"]), _string(block, "type")
    title, context = _string(block, "title"), _string(block, "context")
    match source.get("type"):
        case "base64":
            media_type, data = _string(source, "media_type"), _string(source, "data")
            yield Media(kind, media_type, _bytes(source), title=title, data=data)
        case "url" | "file":
            place = _string(source, "url") or _string(source, "file_id")
            yield Media(kind, place=place, title=title)
        case "text":
            yield Media(kind, _string(source, "media_type"), title=title)
            yield TextPart(_string(source, "data"), kind)
        case "content" if kind == "document":
            yield Media(kind, title=title)
            yield from _inner(source.get("content"))
        case _:
            raise ValueError
    if context:
        yield TextPart(context, "context")
    yield from left_over(source, ("media_type", "data", "url", "file_id", "content"))


def _inner(content: object) -> Iterator[Part]:
    """Read a document's content: text and images, so that documents in documents end somewhere."""
    for block in content if isinstance(content, list) else [content]:
        odd = isinstance(block, dict) and block.get("type") not in ("text", _IMAGE)
        yield from (
            [Raw(in_json(block))] if odd else parts_of(block if isinstance(block, str) else [block])
        )


def _bytes(source: Fields) -> int:
    data = _string(source, "data")
    encoding.b64decode(data, validate=True)
    return size_of(data)


def _of_url(kind: str, url: str) -> Media:
    head, comma, data = url.partition(",")
    if comma and head.startswith("data:") and head.endswith(";base64"):
        media_type = head.removeprefix("data:").removesuffix(";base64")
        return Media(kind, media_type, size_of(data), data=data)
    return Media(kind, place=url)


def _dict(value: object) -> Fields:
    if not isinstance(value, dict):
        raise TypeError
    return value


_READERS: dict[str, tuple[Reader, tuple[str, ...]]] = {
    "text": (_text, ("text",)),
    "input_text": (_text, ("text",)),
    "output_text": (_text, ("text",)),
    "refusal": (_refusal, ("refusal",)),
    "thinking": (_thinking, ("thinking", "closed")),
    "redacted_thinking": (_redacted, ("data",)),
    "tool_use": (_tool_use, ("name", "id", "input", "caller")),
    "image": (_sourced, ("source",)),
    "document": (_sourced, ("source", "title", "context", "citations")),
    "image_url": (_linked, ("image_url",)),
    "video_url": (_linked, ("video_url",)),
    "audio_url": (_linked, ("audio_url",)),
    "input_image": (_input_image, ("image_url", "file_id", "detail")),
    "input_audio": (_audio, ("input_audio",)),
    "input_file": (_file, (*_FILE, "filename")),
    "file": (_file, ("file",)),
}
