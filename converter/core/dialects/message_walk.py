"""Walks over the messages of a request, block by block, for views, which show them to people. No
request makes the public functions raise.

Calls, results and items are read by `tolerant_readers`. Other blocks are read by the readers in the
`Requests` of all dialects, because the dialect of a shown request may be unknown. Nothing of a
malformed request is lost: an object without a reader is yielded as it is. Fields that a reader did
not read are yielded behind its blocks, except empty ones and those in `_SERVICE_FIELDS` and
`_HEAD_FIELDS`.
"""

from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from converter.core.dialects.reasoning_fields import has_value, thoughts_of
from converter.core.dialects.table import DIALECTS
from converter.core.dialects.tolerant_readers import (
    ASSISTANT,
    SHOWN_BLOCKS,
    SHOWN_ITEMS,
    TOOL,
    OpenResult,
    call_of,
    result_of,
)
from converter.core.model.conversation import Block, RequestError, TextBlock, ThinkingBlock
from converter.core.wire.checked import Fields

_SERVICE_FIELDS = frozenset({"type", "cache_control", "signature", "index"})
"""Fields that are shown nowhere, because they are for the server and hold no content."""
MODEL_ROLES, _RESULT_ROLES = (ASSISTANT, "model"), (TOOL, "function")
"""Roles of the model's messages, and roles of the messages with a tool's result."""
JOINED = (ASSISTANT, TOOL)
"""Speakers whose successive messages are shown as one turn."""
_UNKNOWN = "?"
"""The speaker of an item whose speaker cannot be read."""
_HEAD_FIELDS = frozenset({"id", "status"})
"""Fields of messages and items that are not shown. Those of a block are shown."""
_DEPTH = 8
"""How many levels of nested content are read. A tool result holds documents, which hold blocks; no
API nests deeper.
"""
_LONGEST_ROLE = 200
"""The most characters of a role. A message with a longer role is yielded as an unread value."""
_BLOCKS = {kind: read for each in reversed(DIALECTS) for kind, read in each.requests.blocks.items()}
"""Type of a block, in any dialect -> the block's reader. If two dialects have the same type, the
reader of the dialect that comes first in `DIALECTS` counts.
"""


@dataclass(frozen=True, slots=True)
class Unread:
    """A value that no reader could read."""

    name: str
    """The field that has the value; empty if the value is a whole object."""
    value: object
    """The value, parsed from JSON."""


class Piece(NamedTuple):
    """A block of a message as a view gets it: with the JSON object from which it was read."""

    block: Block | Unread
    """The block, or a value that no reader could read."""
    fields: Fields | None = None
    """The object from which the block was read. None if the block was read from a string or from
    one field, or if it is an `Unread`.
    """
    inner: "tuple[Piece, ...]" = ()
    """The blocks within a tool's result; empty for any other block."""


class WalkedItem(NamedTuple):
    """A message or item of a request."""

    speaker: str
    """The role of a message; `user` for an input that is a string. For an item the speaker in its
    row of `SHOWN_ITEMS`. `?` for an item without a row, and for a message without a usable role.
    """
    pieces: list[Piece]
    """The blocks, in their order."""
    is_message: bool
    """True for a message, which may have several blocks; False for an item, and for an input that
    is a string.
    """


def walk_items(messages: object) -> Iterator[WalkedItem]:
    """Yield the messages and items of a request's input. The input may be a text, a list, or any
    other value.
    """
    if isinstance(messages, str):
        yield WalkedItem("user", [Piece(TextBlock(messages))], is_message=False)
    elif isinstance(messages, list):
        yield from map(read_item, messages)
    elif has_value(messages):
        yield read_item(messages)


def read_item(value: object) -> WalkedItem:
    """Return a message or an item, with its blocks."""
    fields = value if isinstance(value, dict) else {}
    kind, role = str(fields.get("type") or "message"), fields.get("role")
    if kind == "message" and isinstance(role, str) and 0 < len(role) <= _LONGEST_ROLE:
        pieces = _read(value, partial(_read_message, role=role), _HEAD_FIELDS)
        return WalkedItem(role, pieces, is_message=True)
    rows = (row for ending, row in SHOWN_ITEMS.items() if kind.endswith(ending))
    if row := next(rows, None):
        return WalkedItem(row.speaker, _read(value, row.read, _HEAD_FIELDS), is_message=False)
    return WalkedItem(_UNKNOWN, [Piece(Unread("", value))], is_message=False)


def read_content(value: object, depth: int = _DEPTH) -> list[Piece]:
    """Return the blocks of a content, which may be a string, a list of blocks or any other value.
    `depth`: how many levels of nested content are read; a list below them is yielded as unread.
    """
    if not isinstance(value, list) or not depth:
        return _read_other(value)
    return [
        piece
        for each in value
        for piece in (read_block(each, depth) if isinstance(each, dict) else _read_other(each))
    ]


def read_block(value: object, depth: int = _DEPTH) -> list[Piece]:
    """Return the block in `value`, followed by the fields that its reader did not read."""
    return _read(value, _blocks_by_type, depth=depth - 1)


def _read_other(value: object) -> list[Piece]:
    """Return the pieces for a value that is not read as blocks: a `TextBlock` for a string, none
    for null, an `Unread` for any other value.
    """
    if isinstance(value, str):
        return [Piece(TextBlock(value))]
    return [] if value is None else [Piece(Unread("", value))]


type _Reader = Callable[[Fields], Iterable[Block | OpenResult | Piece]]


def _read(
    value: object, read: _Reader, silent: Set[str] = frozenset(), depth: int = _DEPTH
) -> list[Piece]:
    """Return the blocks that `read` finds in an object, followed by the fields that it did not
    read, except empty fields and those in `_SERVICE_FIELDS` or `silent`. If the reader raises, the
    whole object is returned as one `Unread`.

    `depth`: how many levels of a tool result's content are read.
    """
    try:
        fields = Fields(value)
        pieces = [_piece_of(each, fields, depth) for each in read(fields)]
    except (RequestError, RecursionError):
        return [Piece(Unread("", value))]
    for name, left_over in fields.unread():
        if name not in _SERVICE_FIELDS | silent and has_value(left_over):
            pieces.append(Piece(Unread(name, left_over)))
    return pieces


def _piece_of(read: Block | OpenResult | Piece, fields: Fields, depth: int) -> Piece:
    """Return the piece for `read`, a block that a reader returned. If it is a tool's result, read
    the content of the result, too, down to `depth` levels. `fields`: the object from which the
    block was read.
    """
    if isinstance(read, OpenResult):
        blocks = [read.content] if isinstance(read.content, dict) else read.content
        return Piece(read.result, fields, tuple(read_content(blocks, depth)))
    return read if isinstance(read, Piece) else Piece(read, fields)


def _blocks_by_type(fields: Fields) -> Iterator[Block | OpenResult]:
    """Yield the block in an object, which the reader for its type returns. Raises RequestError if
    its type has no reader.
    """
    kind = str(fields.values.get("type") or "")
    shown = (read for ending, read in SHOWN_BLOCKS.items() if kind.endswith(ending))
    if read := next(shown, None):
        yield from read(fields)
    elif kind in _BLOCKS:
        yield _BLOCKS[kind](fields)
    else:
        raise fields.error("type", "Not known")


def _read_message(message: Fields, role: str) -> Iterator[OpenResult | Piece]:
    """Yield the blocks of a message: thoughts, content, a refusal and calls; only the result if it
    is a tool's message.
    """
    message.value("role")
    if role in _RESULT_ROLES:
        yield result_of(message, "tool_call_id")
        return
    for name, thinking in thoughts_of(message.values).items():
        if message.value(name) and thinking:
            yield Piece(ThinkingBlock(thinking))
    yield from read_content(message.value("content"))
    if refusal := message.value("refusal"):
        yield from read_block({"type": "refusal", "refusal": refusal})
    calls, legacy = message.value("tool_calls"), message.value("function_call")
    each = calls if isinstance(calls, list) else [calls] if has_value(calls) else []
    for call in [*each, *([{"function": legacy}] if has_value(legacy) else [])]:
        yield from _read(call, _read_call_entry)


def _read_call_entry(entry: Fields) -> Iterator[Block]:
    """Yield the call in an entry of a message's `tool_calls`."""
    yield call_of(entry, entry.inner(str(entry.values.get("type") or "function")))
