"""Parts of requests that OpenAI's two APIs share, or the Responses API and Ollama's: data URLs,
a call's arguments, tools, parts of a message, read and written.
"""

import base64
import binascii
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress

from converter.core.model.conversation import (
    Block,
    ContentBlock,
    Data,
    Document,
    Image,
    Linked,
    MediaSource,
    Sound,
    Stored,
    TextBlock,
    Tool,
)
from converter.core.wire import json_text
from converter.core.wire.checked import Fields
from converter.core.wire.partial_json import WRAPPED

TEXT_TYPES = (
    "text/",
    "application/json",
    "application/xml",
    "application/yaml",
    "application/toml",
)
"""Media types, or their beginnings, of files that a model can read as they are."""


def one_string(name: str) -> Mapping[str, object]:
    """Return the schema of an input that is one string."""
    return {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}


CUSTOM_INPUT = "input"
"""Key of a custom tool's free text in the input of its call."""
CUSTOM_SCHEMA = one_string(CUSTOM_INPUT)
"""Input of a custom tool, whose calls hold one free text."""
NO_PARAMETERS: Mapping[str, object] = {"type": "object", "properties": {}}


def read_arguments(arguments: object) -> Mapping[str, object]:
    """Return a call's arguments, JSON text in the format, an object from some clients. A text that
    is no object stands under a key of its own.
    """
    if isinstance(arguments, dict):
        return arguments
    text = arguments if isinstance(arguments, str) else text_of(arguments)
    data = text.strip().encode(errors="surrogatepass")
    for read in (json_text.read_strictly, json_text.rescue):
        with suppress(json_text.UnreadableError):
            value = read(data or b"{}")
            return value if isinstance(value, dict) else {WRAPPED: text}
    return {WRAPPED: text}


def text_of(value: object) -> str:
    """Return a value as JSON text, empty for none."""
    return "" if value is None else json_text.write(value).decode()


def read_parts(owner: Fields, name: str, left_out: set[str]) -> list[ContentBlock]:
    """Return the parts of a field that is a string or a list; none when it is absent. A kind of
    part without a reader is named in `left_out`.
    """
    content = owner.value(name)
    if content is None:
        return []
    if isinstance(content, str):
        return [TextBlock(content)]
    parts: list[ContentBlock] = []
    for part in owner.children(name):
        kind = part.optional("type", str) or "text"
        if kind in PARTS:
            parts.append(PARTS[kind](part))
        else:
            left_out.add(kind)
    return parts


def _text(part: Fields) -> TextBlock:
    return TextBlock(part.optional("text", str) or "")


_IN_OBJECTS = ("image_url", "input_audio", "audio_url", "video_url", "file")
"""Types of parts that stand in an object under the type's name."""


def _inner(part: Fields) -> Fields:
    """Return the object that holds the part; llama.cpp and Ollama take a bare string there, too."""
    kind = part.optional("type", str) or ""
    bare = isinstance(part.values.get(kind), str)
    return part.inner(kind) if kind in _IN_OBJECTS and not bare else part


def _image(part: Fields) -> Image:
    image = _inner(part)
    url = image.optional("image_url", str) or image.optional("url", str)
    source = source_of(url) if url else Stored(image.optional("file_id", str) or "")
    return Image(source, image.optional("detail", str) or "")


def _sound(part: Fields) -> Sound:
    sound = _inner(part)
    kind = sound.optional("format", str) or "wav"
    return Sound(Data(f"audio/{kind}", sound.required("data", str)))


def _linked(part: Fields) -> Document:
    """vLLM's `audio_url` and `video_url`."""
    return Document(source_of(_inner(part).required("url", str)))


def _file(part: Fields) -> Document:
    """Return a file that came as data, as a link or as an id; its text can be read."""
    file = _inner(part)
    title = file.optional("filename", str) or ""
    if data := file.optional("file_data", str):
        source = source_of(data if data.startswith("data:") else f"data:;base64,{data}")
    elif url := file.optional("file_url", str):
        source = Linked(url)
    else:
        source = Stored(file.optional("file_id", str) or "")
    return Document(readable(source), title)


PARTS: Mapping[str, Callable[[Fields], ContentBlock]] = {
    **dict.fromkeys(("text", "input_text", "output_text", "summary_text", "reasoning_text"), _text),
    "refusal": lambda part: TextBlock(part.optional("refusal", str) or "", "refusal"),
    **dict.fromkeys(("image_url", "input_image", "computer_screenshot"), _image),
    "input_audio": _sound,
    **dict.fromkeys(("audio_url", "video_url"), _linked),
    **dict.fromkeys(("file", "input_file"), _file),
}
"""Readers of the parts of both APIs' messages, by type."""


def source_of(url: str) -> MediaSource:
    """Return a data URL's bytes, any other URL as a link."""
    head, comma, content = url.partition(",")
    if not (comma and head.startswith("data:") and head.endswith(";base64")):
        return Linked(url)
    return Data(head.removeprefix("data:").removesuffix(";base64"), content)


def readable(source: MediaSource) -> tuple[TextBlock, ...] | MediaSource:
    """Return the text of bytes that are declared text, anything else as it is."""
    if not isinstance(source, Data) or not source.media_type.startswith(TEXT_TYPES):
        return source
    try:
        return (TextBlock(base64.b64decode(source.base64, validate=True).decode()),)
    except (binascii.Error, UnicodeDecodeError):
        return source


def function_of(function: Fields) -> Tool:
    """Return a tool that is offered as a function."""
    return Tool(
        function.required("name", str),
        function.optional("parameters", dict) or NO_PARAMETERS,
        function.optional("description", str) or "",
        function.optional("strict", bool) or False,
    )


# Parts of a message, written.

type Sendable = TextBlock | Image | Sound
"""A part of a message that a server takes."""

DETAILS = {"low": "low", "high": "high", "original": "high"}
"""How closely to look at an image, as chat completions word it: "auto" goes without saying,
and only the Responses API knows "original".
"""
NOT_READABLE = "[{} was attached, but this server can only be given text and images]"
NOT_REACHABLE = "[{} was attached as a stored file, which this server cannot reach]"


def part_of(block: Sendable) -> dict[str, object]:
    """Return the part of a message that holds a text, an image or a sound."""
    match block:
        case TextBlock(text):
            return {"type": "text", "text": text}
        case Sound(Data(media_type, content)):
            kind = media_type.removeprefix("audio/")
            return {"type": "input_audio", "input_audio": {"data": content, "format": kind}}
        case Image(_, detail):
            fields = {"detail": DETAILS[detail]} if detail in DETAILS else {}
            return {"type": "image_url", "image_url": {"url": _url(block), **fields}}


def _url(image: Image) -> str:
    match image.source:
        case Data(media_type, content):
            return f"data:{media_type};base64,{content}"
        case Linked(address) | Stored(address):
            return address


def sendable(blocks: Iterable[Block], links: bool) -> Iterator[Sendable]:
    """Yield the blocks as parts that this server takes; for others, a text that names them.
    `links`: the server fetches images by their links.
    """
    for block in blocks:
        match block:
            case TextBlock() | Sound():
                yield block
            case Image(Stored(file_id)):
                yield TextBlock(NOT_REACHABLE.format(f"the image {file_id}"))
            case Image(Linked(url)) if not links:
                yield TextBlock(f"[image: {url}]")
            case Image():
                yield block
            case Document():
                yield from _document(block, links)


def _document(block: Document, links: bool) -> Iterator[Sendable]:
    name = f'the document "{block.title}"' if block.title else "a document"
    match block.content:
        case Data(media_type, _):
            yield TextBlock(NOT_READABLE.format(f"{name} ({media_type})"))
        case Stored():
            yield TextBlock(NOT_REACHABLE.format(name))
        case Linked(url):
            yield TextBlock(NOT_READABLE.format(f"{name} ({url})"))
        case content:
            head = (
                "<document>",
                f"title: {block.title}" if block.title else "",
                f"context: {block.context}" if block.context else "",
            )
            yield TextBlock("\n".join(line for line in head if line))
            yield from sendable(content, links)
            yield TextBlock("</document>")
