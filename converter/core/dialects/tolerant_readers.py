"""Tolerant readers of calls and tool results, for views. They accept every dialect, and the many
shapes of calls that a server runs with its own tools; the readers of requests are strict.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from converter.core.model.conversation import Block, ToolResult, ToolUse
from converter.core.wire.checked import Fields
from converter.core.wire.printable import json_of

ASSISTANT, TOOL = "assistant", "tool"
_ARGUMENTS = ("arguments", "input", "action", "operation", "code", "queries")
"""Fields that may hold a call's arguments, depending on the type of the call."""
_NAMES = ("server_label", "namespace", "name")
"""Fields that name a call's tool and where the tool comes from; their values are joined."""


class OpenResult(NamedTuple):
    """A tool's result whose content is not read yet."""

    block: ToolResult
    content: object


type BlockReader = Callable[[Fields], Iterable[Block | OpenResult]]


class ItemRow(NamedTuple):
    """The speaker of an item that is no message, and the reader of the item."""

    speaker: str
    read: BlockReader


def call_of(call: Fields, inner: Fields, otherwise: str = "") -> ToolUse:
    """Return a call. `inner`: the object with its name and arguments. `otherwise`: the name for a
    call that has none.
    """
    names = [name for field in _NAMES if (name := inner.optional(field, str))]
    field = next((name for name in _ARGUMENTS if inner.values.get(name) is not None), "")
    arguments = json_of(inner.value(field)) if field else ""
    return ToolUse(call_id_of(call), ".".join(names) or otherwise, arguments)


def call_id_of(item: Fields) -> str:
    """Return the id of a call, or of the call that a result belongs to. Of several ids, `call_id`
    counts before the item's own `id`.
    """
    own, called = (item.optional(name, str) for name in ("id", "call_id"))
    return called or own or ""


def result_of(result: Fields, call: str, content: str = "content") -> OpenResult:
    """Return a tool's result. `call` and `content`: the names of the fields with the call's id and
    the content.
    """
    value = result.value(content)
    id_, name = (result.optional(field, str) or "" for field in (call, "name"))
    failed = result.optional("is_error", bool) or result.values.get("status") == "failed"
    return OpenResult(ToolResult(id_, is_error=failed, name=name), value)
