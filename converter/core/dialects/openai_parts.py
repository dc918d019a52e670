"""Reads and writes parts of requests in OpenAI's formats: `PARTS` reads the parts of a message,
`part_of` and `sendable_parts` write them, `read_arguments` reads a call's arguments, `function_of`
a tool. OpenAI's two APIs use them, and Ollama's some of them.
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
"""Media types, or their beginnings, of files whose bytes are text."""


def one_string_schema(name: str) -> Mapping[str, object]:
    """Return the schema of an object whose only field, `name`, is a string."""
    return {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}


CUSTOM_INPUT = "input"
"""The field that holds the free text of a custom tool's call, in the call's input."""
CUSTOM_SCHEMA = one_string_schema(CUSTOM_INPUT)
"""The schema of a custom tool's input: one string."""
NO_PARAMETERS: Mapping[str, object] = {"type": "object", "properties": {}}
"""The schema of a tool that takes no parameters."""


def read_arguments(arguments: object) -> Mapping[str, object]:
    """Return a call's arguments. The format has them as JSON text; some clients send an object. An
    empty text gives `{}`. A text that is no JSON object is returned as `{"arguments": text}`.
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
    """Return a value as JSON text; an empty string for None."""
    return "" if value is None else json_text.write(value).decode()


def read_parts(owner: Fields, name: str, left_out: set[str]) -> list[ContentBlock]:
    """Return the parts in the field `name` of `owner`: of a string one text, of a list its parts;
    `[]` if the field is absent. `left_out` gets the types of parts that have no reader. Raises
    RequestError for any other value, and for a part that breaks the format.
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


_IN_OBJECTS = ("image_url", "input_audio", "audio_url", "video_url", "file")
"""Types of parts whose fields are in an inner object: `{"type": "file", "file": {...}}`."""


def _fields_of_part(part: Fields) -> Fields:
    """Return the object with a part's fields: for a type in `_IN_OBJECTS` the inner object, for
    other types the part itself. If the inner value is a string, which llama.cpp and Ollama accept,
    the part itself is returned, too.
    """
    kind = part.optional("type", str) or ""
    bare = isinstance(part.values.get(kind), str)
    return part.inner(kind) if kind in _IN_OBJECTS and not bare else part


def _image(part: Fields) -> Image:
    """Read an image part, which has a URL or the id of a file."""
    image = _fields_of_part(part)
    url = image.optional("image_url", str) or image.optional("url", str)
    source = source_of(url) if url else Stored(image.optional("file_id", str) or "")
    return Image(source, image.optional("detail", str) or "")


def _sound(part: Fields) -> Sound:
    """Read a sound part, which has the sound itself as base64 text."""
    sound = _fields_of_part(part)
    kind = sound.optional("format", str) or "wav"
    return Sound(Data(f"audio/{kind}", sound.required("data", str)))


def _file(part: Fields) -> Document:
    """Return a file that came as data, as a link or as an id. The data of a text file becomes
    text.
    """
    file = _fields_of_part(part)
    title = file.optional("filename", str) or ""
    if data := file.optional("file_data", str):
        source = source_of(data if data.startswith("data:") else f"data:;base64,{data}")
    elif url := file.optional("file_url", str):
        source = Linked(url)
    else:
        source = Stored(file.optional("file_id", str) or "")
    return Document(as_text_or_source(source), title)


PARTS: Mapping[str, Callable[[Fields], ContentBlock]] = {
    **dict.fromkeys(
        ("text", "input_text", "output_text", "summary_text", "reasoning_text"),
        lambda part: TextBlock(part.optional("text", str) or ""),
    ),
    "refusal": lambda part: TextBlock(part.optional("refusal", str) or "", "refusal"),
    **dict.fromkeys(("image_url", "input_image", "computer_screenshot"), _image),
    "input_audio": _sound,
    **dict.fromkeys(  # types of parts that no server but vLLM accepts
        ("audio_url", "video_url"),
        lambda part: Document(source_of(_fields_of_part(part).required("url", str))),
    ),
    **dict.fromkeys(("file", "input_file"), _file),
}
"""Type of a message's part -> the part's reader, for chat completions and the Responses API."""


def source_of(url: str) -> MediaSource:
    """Return the source that a URL stands for: the data in a data URL, or a link."""
    head, comma, content = url.partition(",")
    if not (comma and head.startswith("data:") and head.endswith(";base64")):
        return Linked(url)
    return Data(head.removeprefix("data:").removesuffix(";base64"), content)


def as_text_or_source(source: MediaSource) -> tuple[TextBlock, ...] | MediaSource:
    """Return data as text if its media type begins with one of `TEXT_TYPES` and its bytes are
    UTF-8; any other source as it is.
    """
    if not isinstance(source, Data) or not source.media_type.startswith(TEXT_TYPES):
        return source
    try:
        return (TextBlock(base64.b64decode(source.base64, validate=True).decode()),)
    except (binascii.Error, UnicodeDecodeError):
        return source


def function_of(function: Fields) -> Tool:
    """Return the tool that a `function` object of a request offers."""
    return Tool(
        function.required("name", str),
        function.optional("parameters", dict) or NO_PARAMETERS,
        function.optional("description", str) or "",
        function.optional("strict", bool) or False,
    )


# From here on: writers of a message's parts for a chat-completions server.

type Sendable = TextBlock | Image | Sound
"""A part of a message that a chat-completions server takes."""

DETAILS = {"low": "low", "high": "high", "original": "high"}
"""`detail` of an image -> its value in chat completions. `auto` is left out, because it is the
default; `original` is known to the Responses API only.
"""
NOT_READABLE = "[{} was attached, but this server can only be given text and images]"
"""The text in place of a document that the server cannot read. `{}` stands for the document's name.
"""
NOT_REACHABLE = "[{} was attached as a stored file, which this server cannot reach]"
"""The text in place of an image or document that the client has stored at another server. `{}`
stands for its name.
"""


def part_of(block: Sendable) -> dict[str, object]:
    """Return a text, an image or a sound as a part of a chat-completions message."""
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
    """Return the value of `image_url` for an image: a data URL, or the image's own link or id."""
    match image.source:
        case Data(media_type, content):
            return f"data:{media_type};base64,{content}"
        case Linked(address) | Stored(address):
            return address


def sendable_parts(blocks: Iterable[Block], links: bool) -> Iterator[Sendable]:
    """Yield the texts, sounds, images and documents among these blocks, as parts that the server
    takes. A document with readable content becomes this content, between the texts `<document>` and
    `</document>`. A document or an image that the server cannot get becomes a text that names it.

    `links`: True if the server fetches images by their links; else such an image becomes a text.
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
    """Yield a document as parts: its content between `<document>` and `</document>`; or one text
    that names it, if the server cannot get its content or cannot read it.
    """
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
            yield from sendable_parts(content, links)
            yield TextBlock("</document>")
