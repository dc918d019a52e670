"""The messages of a request, of any dialect, walked block by block; nothing raises.

Messages, items of an input or reply, and blocks of a content are read by the rows of the dialects
(`dialect.Requests`), all in one table, because a request that somebody looks at need not tell its
dialect. An object without a row is yielded as it came, and fields that its reader passed over are
yielded beside its blocks, so that nothing is lost on odd data.
"""

from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from converter.core.dialects.reasoning_fields import has_value, thoughts_of
from converter.core.dialects.table import DIALECTS, block_readers
from converter.core.dialects.tolerant_readers import (
    ASSISTANT,
    TOOL,
    ItemRow,
    OpenResult,
    call_of,
    result_of,
)
from converter.core.model.conversation import Block, RequestError, TextBlock, ThinkingBlock
from converter.core.wire.checked import Fields

_SERVICE = frozenset({"type", "cache_control", "signature", "index"})
"""Fields that steer a server and are not shown."""
THINKERS, _RESULTS = (ASSISTANT, "model"), (TOOL, "function")
"""Roles of the model's own messages, and of its tools'."""
JOINED = (ASSISTANT, TOOL)
"""Speakers whose messages in a row are one turn."""
_UNKNOWN = "?"
_HEAD = frozenset({"id", "status"})
"""Fields of every item that are not shown."""
_DEPTH = 8
"""A tool result holds documents, which hold blocks; nothing is known to nest deeper."""
_LONGEST_ROLE = 200
_BLOCKS = block_readers()
_SHOWN_BLOCKS = {
    ending: read for each in DIALECTS for ending, read in each.requests.shown_blocks.items()
}
_ITEMS = {ending: row for each in DIALECTS for ending, row in each.requests.shown_items.items()}


@dataclass(frozen=True, slots=True)
class Unread:
    """A value that no reader knows: of a field, or, without a name, an object as it came."""

    name: str
    value: object


class Piece(NamedTuple):
    """A block.

    Attributes:
        fields: the object that it was read from.
        inner: the content of a tool's result.
    """

    block: Block | Unread
    fields: Fields | None = None
    inner: "tuple[Piece, ...]" = ()


class WalkedItem(NamedTuple):
    """A message or item: its speaker, and its blocks. `whole`: it is a message."""

    speaker: str
    pieces: list[Piece]
    whole: bool


def walk(messages: object) -> Iterator[WalkedItem]:
    """Yield the items of an input: a text, a list of messages and items, or any other value."""
    if isinstance(messages, str):
        yield WalkedItem("user", [Piece(TextBlock(messages))], whole=False)
    elif isinstance(messages, list):
        yield from map(item, messages)
    elif has_value(messages):
        yield item(messages)


def item(value: object) -> WalkedItem:
    """Return one message or item."""
    fields = value if isinstance(value, dict) else {}
    kind, role = str(fields.get("type") or "message"), fields.get("role")
    if kind == "message" and isinstance(role, str) and 0 < len(role) <= _LONGEST_ROLE:
        return WalkedItem(role, _read(value, partial(_message, role=role), _HEAD), whole=True)
    rows = (row for ending, row in _ITEMS.items() if kind.endswith(ending))
    speaker, read = next(rows, _NO_ROW)
    return WalkedItem(speaker, _read(value, read, _HEAD), whole=False)


def content(value: object, depth: int = _DEPTH) -> list[Piece]:
    """Return the blocks of a content: a string, a list of blocks, or any value in its stead.
    `depth`: the levels that are read, one in the other.
    """
    if not isinstance(value, list) or not depth:
        return _odd(value)
    return [
        piece
        for each in value
        for piece in (block(each, depth) if isinstance(each, dict) else _odd(each))
    ]


def block(value: object, depth: int = _DEPTH) -> list[Piece]:
    """Return one block, and its unread fields."""
    return _read(value, _block, depth=depth - 1)


def _odd(value: object) -> list[Piece]:
    if isinstance(value, str):
        return [Piece(TextBlock(value))]
    return [] if value is None else [Piece(Unread("", value))]


type _Reader = Callable[[Fields], Iterable[Block | OpenResult | Piece]]


def _read(
    value: object, read: _Reader, silent: Set[str] = frozenset(), depth: int = _DEPTH
) -> list[Piece]:
    """Return the blocks of an object, and its unread fields that are not `silent`. An object of
    another shape than its reader expects stays as it came. `depth`: the levels of a result that are
    read.
    """
    try:
        fields = Fields(value)
        pieces = [_piece(each, fields, depth) for each in read(fields)]
    except (RequestError, RecursionError):
        return [Piece(Unread("", value))]
    for name, left_over in fields.unread():
        if name not in _SERVICE | silent and has_value(left_over):
            pieces.append(Piece(Unread(name, left_over)))
    return pieces


def _piece(read: Block | OpenResult | Piece, fields: Fields, depth: int) -> Piece:
    if isinstance(read, OpenResult):
        blocks = [read.content] if isinstance(read.content, dict) else read.content
        return Piece(read.block, fields, tuple(content(blocks, depth)))
    return read if isinstance(read, Piece) else Piece(read, fields)


def _block(fields: Fields) -> Iterator[Block | OpenResult]:
    kind = str(fields.values.get("type") or "")
    shown = (read for ending, read in _SHOWN_BLOCKS.items() if kind.endswith(ending))
    if read := next(shown, None):
        yield from read(fields)
    elif kind in _BLOCKS:
        yield _BLOCKS[kind](fields)
    else:
        raise fields.error("type", "Not known")


def _message(message: Fields, role: str) -> Iterator[OpenResult | Piece]:
    message.value("role")
    if role in _RESULTS:
        yield result_of(message, "tool_call_id")
        return
    thoughts = thoughts_of(message.values)
    for name, thinking in thoughts.items():
        if message.value(name) and thinking:
            yield Piece(ThinkingBlock(thinking))
    yield from content(message.value("content"))
    if refusal := message.value("refusal"):
        yield from block({"type": "refusal", "refusal": refusal})
    calls, legacy = message.value("tool_calls"), message.value("function_call")
    each = calls if isinstance(calls, list) else [calls] if has_value(calls) else []
    for call in [*each, *([{"function": legacy}] if has_value(legacy) else [])]:
        yield from _read(call, _entry)


def _entry(entry: Fields) -> Iterator[Block]:
    yield call_of(entry, entry.inner(str(entry.values.get("type") or "function")))


def _no_reader(item: Fields) -> Iterator[Block]:
    raise item.error("type", "Not known")


_NO_ROW = ItemRow(_UNKNOWN, _no_reader)
