"""Reads calls, tool results and thoughts of any dialect tolerantly (`SHOWN_BLOCKS`, `SHOWN_ITEMS`,
`call_of`, `result_of`), for views that show requests to people: `message_walk` uses these readers.

They also read calls of tools that a server runs itself, which have many shapes. The readers of
requests are strict: they refuse what breaks the format of their dialect.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from converter.core.dialects.reasoning_fields import thinking_in
from converter.core.model.conversation import Block, ThinkingBlock, ToolResult, ToolUse
from converter.core.wire.checked import Fields
from converter.core.wire.printable import json_of, size_of

ASSISTANT, TOOL = "assistant", "tool"
_ARGUMENT_FIELDS = ("arguments", "input", "action", "operation", "code", "queries")
"""Fields that may hold a call's arguments, depending on the type of the call."""
_NAME_FIELDS = ("server_label", "namespace", "name")
"""Fields that name a call's tool and where the tool comes from; their values are joined with dots.
"""


class OpenResult(NamedTuple):
    """A tool's result whose content is not read yet: `message_walk` reads it (`_piece_of`)."""

    result: ToolResult
    """The result, with its content left empty."""
    content: object
    """The JSON of the content: a text, a list of blocks, or any other value."""


type BlockReader = Callable[[Fields], Iterable[Block | OpenResult]]


class ItemRow(NamedTuple):
    """A row of `SHOWN_ITEMS`: the rule by which an item that is no message is shown."""

    speaker: str
    """The role that is shown as the item's speaker."""
    read: BlockReader
    """Reads the blocks in the item."""


def call_of(call: Fields, inner: Fields, default_name: str = "") -> ToolUse:
    """Return a call. `inner`: the object with the call's name and arguments, often `call` itself.
    `default_name`: the name for a call that has none.
    """
    names = [name for field in _NAME_FIELDS if (name := inner.optional(field, str))]
    field = next((name for name in _ARGUMENT_FIELDS if inner.values.get(name) is not None), "")
    arguments = json_of(inner.value(field)) if field else ""
    return ToolUse(call_id_of(call), ".".join(names) or default_name, arguments)


def call_id_of(item: Fields) -> str:
    """Return the id of a call, or of the call that a result belongs to; empty if there is none. The
    field `call_id` counts before the item's own `id`.
    """
    own, called = (item.optional(name, str) for name in ("id", "call_id"))
    return called or own or ""


def result_of(result: Fields, call: str, content: str = "content") -> OpenResult:
    """Return a tool's result. `call`: the name of the field with the call's id. `content`: the name
    of the field with the content.
    """
    value = result.value(content)
    id_, name = (result.optional(field, str) or "" for field in (call, "name"))
    failed = result.optional("is_error", bool) or result.values.get("status") == "failed"
    return OpenResult(ToolResult(id_, is_error=failed, name=name), value)


def _read_call(block: Fields) -> Iterator[ToolUse]:
    """Yield a call. A view shows each field that no reader has read: so the field `caller`, which
    means nothing to people, is read here and dropped.
    """
    block.value("caller")
    yield call_of(block, block)


def _read_thought(item: Fields) -> Iterator[Block]:
    """Yield a thought with its raw text; with its summary if it has no raw text. If it has only
    encrypted text, the block's text is empty, and its `note` says so: `sealed, 120 bytes`.
    """
    raw, summary, sealed = map(item.value, ("content", "summary", "encrypted_content"))
    thinking = thinking_in(raw) or thinking_in(summary)
    hidden = isinstance(sealed, str) and sealed and not thinking
    yield ThinkingBlock(thinking, note=f"sealed, {size_of(sealed)} bytes" if hidden else "")


SHOWN_BLOCKS: Mapping[str, BlockReader] = {
    "tool_result": lambda block: [result_of(block, "tool_use_id")],
    "tool_use": _read_call,
}
"""Readers of blocks, which are tried before the readers of the dialects. A reader reads each type
that ends with the reader's key: the reader at `tool_use` also reads `server_tool_use`.
"""
SHOWN_ITEMS: Mapping[str, ItemRow] = {
    "reasoning": ItemRow(ASSISTANT, _read_thought),
    "_call": ItemRow(
        ASSISTANT,
        lambda item: [call_of(item, item, str(item.values["type"]).removesuffix("_call"))],
    ),
    "_output": ItemRow(TOOL, lambda item: [result_of(item, "call_id", "output")]),
}
"""Readers of items that are no messages. A reader reads each type that ends with the reader's key:
the reader at `_call` also reads `web_search_call`.
"""
