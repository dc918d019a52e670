"""Parts of requests that chat completions and the Responses API share: data URLs, files, a call's
arguments, a custom tool.
"""

import base64
import binascii
import json
from collections.abc import Mapping

from converter.model.conversation import Data, Document, Linked, Source, Stored, TextBlock
from converter.wire.checked import Fields
from converter.wire.partial_json import WRAPPED

TEXT_TYPES = (
    "text/",
    "application/json",
    "application/xml",
    "application/yaml",
    "application/toml",
)
"""Media types, or their beginnings, of files that a model can read as they are."""


CUSTOM_INPUT = "input"
"""Key of a custom tool's free text in the input of its call."""
CUSTOM_SCHEMA: Mapping[str, object] = {
    "type": "object",
    "properties": {CUSTOM_INPUT: {"type": "string"}},
    "required": [CUSTOM_INPUT],
}
"""Input of a custom tool, whose calls hold one free text."""
NO_PARAMETERS: Mapping[str, object] = {"type": "object", "properties": {}}


def read_arguments(arguments: object) -> Mapping[str, object]:
    """Return a call's arguments, JSON text in the format, an object from some clients. A text that
    is no object stands under a key of its own.
    """
    if isinstance(arguments, dict):
        return arguments
    text = arguments if isinstance(arguments, str) else ""
    try:
        read = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        read = None
    return read if isinstance(read, dict) else {WRAPPED: text}


def document_of(file: Fields) -> Document:
    """Return a file that came as data, as a link or as an id; its text can be read."""
    title = file.optional("filename", str) or ""
    if data := file.optional("file_data", str):
        source = source_of(data if data.startswith("data:") else f"data:;base64,{data}")
    elif url := file.optional("file_url", str):
        source = Linked(url)
    else:
        source = Stored(file.optional("file_id", str) or "")
    return Document(readable(source), title)


def source_of(url: str) -> Source:
    """Return a data URL's bytes, any other URL as a link."""
    head, comma, content = url.partition(",")
    if not (comma and head.startswith("data:") and head.endswith(";base64")):
        return Linked(url)
    return Data(head.removeprefix("data:").removesuffix(";base64"), content)


def readable(source: Source) -> tuple[TextBlock, ...] | Source:
    """Return the text of bytes that are declared text, anything else as it is."""
    if not isinstance(source, Data) or not source.media_type.startswith(TEXT_TYPES):
        return source
    try:
        return (TextBlock(base64.b64decode(source.base64, validate=True).decode()),)
    except (binascii.Error, UnicodeDecodeError):
        return source
