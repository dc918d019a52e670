"""Reads the content blocks of a Messages request (`read_blocks`), by tables of readers with a row
for each type of block (`ROLE_BLOCKS`, `RESULT_BLOCKS`).

A reader turns the JSON of one type of block into a block of the model. Each field that may hold
blocks (a user's message, an assistant's message, a tool result, a document) has its own table:
type of block -> reader.
"""

import base64
from collections.abc import Callable, Mapping
from functools import partial

from converter.core.model.conversation import (
    Block,
    Data,
    Document,
    Image,
    Linked,
    MediaSource,
    RedactedThinking,
    Role,
    Stored,
    TextBlock,
    ThinkingBlock,
    ToolResult,
    ToolUse,
)
from converter.core.wire import long_json
from converter.core.wire.checked import Fields

type Reader[B] = Callable[[Fields], B]

PDF = "application/pdf"
"""Media type of a PDF document."""


def read_blocks[B](
    owner: Fields, name: str, readers: Mapping[str, Reader[B]], left_out: list[str] | None = None
) -> tuple[B | TextBlock, ...]:
    """Return the blocks in the field `name` of `owner`, a JSON object of the request. The field is
    a string, an array of blocks, or absent (`()` is returned); else RequestError is raised.

    `readers` has the types of blocks that may stand in this field. A block of any other type:

    - If no table of this file has the type, no local server can use the block: it is left out, and
      its type is appended to `left_out`. If `left_out` is None, RequestError is raised.
    - Else the block stands in the wrong field, and RequestError is raised.
    """
    content = owner.value(name)
    if content is None:
        return ()
    if isinstance(content, str):
        return (TextBlock(content),)
    if not isinstance(content, list):
        raise owner.error(name, "Input should be a valid string or an array")
    blocks: list[B | TextBlock] = []
    for block in owner.children(name):
        kind = block.required("type", str)
        if kind in readers:
            blocks.append(readers[kind](block))
        elif left_out is not None and kind not in BLOCK_TYPES:
            left_out.append(kind)
        else:
            raise block.error("type", _wrong_type_message(kind, readers))
    return tuple(blocks)


def readers_of(role: Role, left_out: list[str]) -> dict[str, Reader[Block]]:
    """Return type of block -> reader, for the messages of this role. The reader of tool results
    appends to `left_out` the types of blocks within a result that it has to leave out.
    """
    inner = {"tool_result": partial(_tool_result, left_out=left_out)} if role == "user" else {}
    return {**ROLE_BLOCKS[role], **inner}


def _wrong_type_message(kind: str, readers: Mapping[str, object]) -> str:
    """Return the text of the error for a block of type `kind` in a field that does not take it. If
    the field is a message's content, and messages of another role may have such a block, the text
    names that role. Otherwise it lists the types that the field takes, the keys of `readers`.
    """
    role = next((role for role, table in ROLE_BLOCKS.items() if kind in table), None)
    if role is not None and readers.keys() in [table.keys() for table in ROLE_BLOCKS.values()]:
        return f"`{kind}` blocks can only be in `{role}` messages"
    expected = ", ".join(repr(name) for name in readers)
    return f"Input tag {kind!r} does not match any of the expected tags: {expected}"


def _text(block: Fields) -> TextBlock:
    """Read a `text` block."""
    return TextBlock(block.required("text", str))


def _thinking(block: Fields) -> ThinkingBlock:
    """Read a `thinking` block."""
    # The API requires a signature. A thought without one is accepted here, because local servers
    # sign nothing, so that their clients may have no signature.
    return ThinkingBlock(block.required("thinking", str), block.optional("signature", str) or "")


def _search_result(block: Fields) -> Document:
    """Read a `search_result` block, as a document."""
    texts = tuple(_text(item) for item in block.children("content"))
    return Document(texts, block.required("title", str), block.required("source", str))


def _image(block: Fields) -> Image:
    """Read an `image` block."""
    return Image(_source(block, IMAGE_SOURCES))


def _document(block: Fields) -> Document:
    """Read a `document` block."""
    content = _source(block, DOCUMENT_SOURCES)
    return Document(
        content, block.optional("title", str) or "", block.optional("context", str) or ""
    )


def _tool_use(block: Fields) -> ToolUse:
    """Read a `tool_use` block: a call."""
    # Some clients send null for a call without arguments.
    values = block.optional("input", dict) or {}
    return ToolUse(block.required("id", str), block.required("name", str), long_json.spaced(values))


def _tool_result(block: Fields, left_out: list[str]) -> ToolResult:
    """Read a `tool_result` block. Types of blocks within it that have to be left out are appended
    to `left_out`.
    """
    content = read_blocks(block, "content", RESULT_BLOCKS, left_out)
    return ToolResult(
        block.required("tool_use_id", str), content, block.optional("is_error", bool) or False
    )


def _source[S](block: Fields, readers: Mapping[str, Reader[S]]) -> S:
    """Read the `source` of an image or document with the reader for the source's type."""
    source = block.child("source")
    if source is None:
        raise block.error("source", "Field required")
    return source.row("type", readers)(source)


def _decoded_data(source: Fields) -> bytes:
    """Return the bytes of a source's base64 text. Raises RequestError if it is invalid."""
    data = source.required("data", str)
    try:
        content = base64.b64decode(data, validate=True)
    except ValueError as error:
        raise source.error("data", "Invalid base64 data") from error
    if not content:
        raise source.error("data", "Invalid base64 data: it is empty")
    return content


def _image_data(source: Fields) -> MediaSource:
    """Read an image's source with base64 data. Raises RequestError if the data is invalid."""
    media_type = source.required("media_type", str)
    # Any type of image is accepted: only the server knows which types it can read.
    if not media_type.startswith("image/"):
        raise source.error("media_type", "Input should begin with 'image/'")
    _decoded_data(source)
    return Data(media_type, source.required("data", str))


def _document_data(source: Fields) -> tuple[TextBlock | Image, ...] | MediaSource:
    """Read a document's source with base64 data, which is a PDF or a text."""
    media_type = source.one_of("media_type", (PDF, "text/plain"))
    content = _decoded_data(source)
    if media_type == PDF:
        return Data(media_type, source.required("data", str))
    try:
        return (TextBlock(content.decode()),)
    except UnicodeDecodeError as error:
        raise source.error("data", "Input should be UTF-8 text") from error


def _plain_text(source: Fields) -> tuple[TextBlock | Image, ...]:
    """Read a document's source that has the document's text."""
    source.one_of("media_type", ("text/plain",))
    return (TextBlock(source.required("data", str)),)


INNER_BLOCKS: dict[str, Reader[TextBlock | Image]] = {"text": _text, "image": _image}
"""Type of a block within a document -> the block's reader."""
IMAGE_SOURCES: dict[str, Reader[MediaSource]] = {
    "base64": _image_data,
    "url": lambda source: Linked(source.required("url", str)),
    "file": lambda source: Stored(source.required("file_id", str)),
}
"""Type of an image's `source` -> the reader of the source."""
DOCUMENT_SOURCES: dict[str, Reader[tuple[TextBlock | Image, ...] | MediaSource]] = {
    **IMAGE_SOURCES,
    "base64": _document_data,
    "text": _plain_text,
    "content": lambda source: read_blocks(source, "content", INNER_BLOCKS),
}
"""Type of a document's `source` -> the reader of the source. The reader returns the document's
content as blocks; or, if only the server can read or fetch the document, its bytes, link or id.
"""
_CONTENT_BLOCKS: dict[str, Reader[TextBlock | Image | Document]] = {
    **INNER_BLOCKS,
    "document": _document,
    "search_result": _search_result,
}
"""Type -> reader, for blocks that may stand in a user's message and in a tool's result."""
RESULT_BLOCKS: dict[str, Reader[TextBlock | Image | Document]] = {
    **_CONTENT_BLOCKS,
    "tool_reference": lambda block: TextBlock(f"Tool: {block.required('tool_name', str)}"),
}
"""Type of a block within a tool's result -> the block's reader."""
SYSTEM_BLOCKS: dict[str, Reader[TextBlock]] = {"text": _text}
"""Type of a block in the request's field `system` -> the block's reader."""
ROLE_BLOCKS: dict[str, dict[str, Reader[Block]]] = {
    "user": {**_CONTENT_BLOCKS, "tool_result": partial(_tool_result, left_out=[])},
    "assistant": {
        "text": _text,
        "thinking": _thinking,
        "redacted_thinking": lambda block: RedactedThinking(block.required("data", str)),
        "tool_use": _tool_use,
        "compaction": lambda block: TextBlock(block.optional("content", str) or ""),
    },
    "system": {"text": _text},
}
"""Role of a message -> the readers of the message's blocks, by the type of block."""
BLOCK_TYPES = frozenset().union(*ROLE_BLOCKS.values(), RESULT_BLOCKS)
"""All types of blocks that have a reader in any table."""
