"""Tolerant readers of the calls and results of a model and its tools, of any dialect: for views,
where the readers of requests are strict. A server's own tools have calls and results as well, of
many shapes.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from converter.core.model.conversation import Block, ToolResult, ToolUse
from converter.core.wire.checked import Fields
from converter.core.wire.printable import json_of

ASSISTANT, TOOL = "assistant", "tool"
_ARGUMENTS = ("arguments", "input", "action", "operation", "code", "queries")
"""Where a call holds its arguments, by the kind of call."""
_NAMES = ("server_label", "namespace", "name")
"""The names in a call: the tool's source, and the tool."""


class OpenResult(NamedTuple):
    """A tool's result, and its content, which is yet to be read."""

    block: ToolResult
    content: object


type BlockReader = Callable[[Fields], Iterable[Block | OpenResult]]


class ItemRow(NamedTuple):
    """The speaker of an item that is no message, and the item's reader."""

    speaker: str
    read: BlockReader


def call_of(call: Fields, inner: Fields, otherwise: str = "") -> ToolUse:
    """Return a call. `inner`: holds its name and arguments; `otherwise`: names a call that has no
    name.
    """
    names = [name for field in _NAMES if (name := inner.optional(field, str))]
    field = next((name for name in _ARGUMENTS if inner.values.get(name) is not None), "")
    arguments = json_of(inner.value(field)) if field else ""
    return ToolUse(call_id_of(call), ".".join(names) or otherwise, arguments)


def call_id_of(item: Fields) -> str:
    """Return the id of a call, or of the call that a result is of: an item's own id is another."""
    own, called = (item.optional(name, str) for name in ("id", "call_id"))
    return called or own or ""


def result_of(result: Fields, call: str, content: str = "content") -> OpenResult:
    """Return a tool's result. `call` and `content`: the names of its fields."""
    value = result.value(content)
    id_, name = (result.optional(field, str) or "" for field in (call, "name"))
    failed = result.optional("is_error", bool) or result.values.get("status") == "failed"
    return OpenResult(ToolResult(id_, is_error=failed, name=name), value)
