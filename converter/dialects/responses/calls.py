"""Kinds of tool calls that clients of the Responses API run: a row each, from an item of the
history to a function's input and from a model's call to an item of the reply.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from converter.dialects.openai_parts import CUSTOM_INPUT, read_arguments
from converter.dialects.responses.tools import ToolName
from converter.wire.checked import Fields
from converter.wire.partial_json import WRAPPED

type Item = dict[str, object]


@dataclass(frozen=True, slots=True)
class CallKind:
    """`item` and `output`: types of the call and of its output. `prefix`: of item ids; Codex 0.169
    keeps only ids that begin with `rs_`, `msg_`, `fc_` and `ctc_`. `read` gives the function's
    input, `write` the fields of a reply's item from the tool and the input.
    """

    item: str
    output: str
    prefix: str
    read: Callable[[Fields], Mapping[str, object]]
    write: Callable[[ToolName, Mapping[str, object]], Item]


def named(tool: ToolName) -> Item:
    """Return the tool's name as its client offered it."""
    return {"name": tool.name, **({"namespace": tool.namespace} if tool.namespace else {})}


def _read_function(item: Fields) -> Mapping[str, object]:
    return read_arguments(item.values.get("arguments"))


def _write_function(tool: ToolName, given: Mapping[str, object]) -> Item:
    return {**named(tool), "arguments": json.dumps(given, ensure_ascii=False)}


def _read_custom(item: Fields) -> Mapping[str, object]:
    return {CUSTOM_INPUT: item.optional("input", str) or ""}


def _write_custom(tool: ToolName, given: Mapping[str, object]) -> Item:
    return {**named(tool), "input": free_text(given)}


def free_text(given: Mapping[str, object]) -> str:
    """Return the text of a custom tool's call; a model may name its only string otherwise, or write
    no JSON at all.
    """
    for text in (given.get(CUSTOM_INPUT), given.get(WRAPPED), *given.values()):
        if isinstance(text, str):
            return text
    return json.dumps(given, ensure_ascii=False) if given else ""


def _write_search(_: ToolName, given: Mapping[str, object]) -> Item:
    return {"execution": "client", "arguments": dict(given)}


def _read_shell(item: Fields) -> Mapping[str, object]:
    return _said(item.child("action"))


def _write_shell(_: ToolName, given: Mapping[str, object]) -> Item:
    return {
        "action": {
            "commands": _strings(given.get("commands") or given.get("command")),
            "timeout_ms": _integer(given.get("timeout_ms")),
            "max_output_length": _integer(given.get("max_output_length")),
        }
    }


def _write_local_shell(_: ToolName, given: Mapping[str, object]) -> Item:
    action: Item = {"type": "exec", "command": _strings(given.get("command")), "env": {}}
    if isinstance(folder := given.get("working_directory"), str):
        action["working_directory"] = folder
    if (limit := _integer(given.get("timeout_ms"))) is not None:
        action["timeout_ms"] = limit
    return {"action": action}


def _read_patch(item: Fields) -> Mapping[str, object]:
    return _said(item.child("operation"))


def _write_patch(_: ToolName, given: Mapping[str, object]) -> Item:
    kind = given.get("type")
    operation: Item = {"type": kind if kind in _OPERATIONS else "update_file"}
    operation["path"] = str(given.get("path") or "")
    if operation["type"] != "delete_file":
        operation["diff"] = str(given.get("diff") or "")
    return {"operation": operation}


_OPERATIONS = ("create_file", "update_file", "delete_file")


def _said(fields: Fields | None) -> Mapping[str, object]:
    values = fields.values if fields else {}
    return {
        name: value
        for name, value in values.items()
        if value not in (None, {}) and (name, value) != ("type", "exec")
    }


def _strings(value: object) -> list[str]:
    """Return a list of strings; models write a single one bare."""
    values = value if isinstance(value, list) else [] if value is None else [value]
    return [entry if isinstance(entry, str) else json.dumps(entry) for entry in values]


def _integer(value: object) -> int | None:
    return value if type(value) is int else None


CALL_KINDS = {
    "function": CallKind(
        "function_call", "function_call_output", "fc", _read_function, _write_function
    ),
    "custom": CallKind(
        "custom_tool_call", "custom_tool_call_output", "ctc", _read_custom, _write_custom
    ),
    "tool_search": CallKind(
        "tool_search_call", "tool_search_output", "tsc", _read_function, _write_search
    ),
    "shell": CallKind("shell_call", "shell_call_output", "sh", _read_shell, _write_shell),
    "local_shell": CallKind(
        "local_shell_call", "local_shell_call_output", "lsh", _read_shell, _write_local_shell
    ),
    "apply_patch": CallKind(
        "apply_patch_call", "apply_patch_call_output", "apc", _read_patch, _write_patch
    ),
}
"""The kinds of `ToolName`."""
KIND_OF_ITEM = {row.item: kind for kind, row in CALL_KINDS.items()}
"""A call item's type -> its kind."""
