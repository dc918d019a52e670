"""`Toolbox` has the tools of a Responses request. Each is offered to a chat model as a function,
and the model's call of the function becomes a call of the tool again, by the row of its type in
`CALL_KINDS`.

Chat completions have functions only, without namespaces. So a tool `read` in the namespace `files`
becomes a function `files__read`, a custom tool (one that takes free text) a function with one
string, and a search for tools a function with a query. Codex 0.169 refuses a call whose name,
namespace or type is not the one that it offered: so each call in the reply is translated back.
"""

import json
import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from converter.core.dialects.openai_parts import (
    CUSTOM_INPUT,
    CUSTOM_SCHEMA,
    function_of,
    one_string_schema,
    read_arguments,
)
from converter.core.model.conversation import Tool
from converter.core.wire.checked import Fields
from converter.core.wire.partial_json import WRAPPED

NAME_LIMIT = 64
"""The most characters of a function's name that OpenAI and vLLM accept."""
_UNFIT = re.compile(r"[^a-zA-Z0-9_-]")
"""A character that a function's name may not have in chat completions."""


@dataclass(frozen=True, slots=True)
class ToolName:
    """The type, name and namespace by which a client knows a tool."""

    kind: str
    """The tool's type, a key of `CALL_KINDS`."""
    name: str
    """The tool's name within its namespace."""
    namespace: str = ""
    """The tool's namespace; empty for none."""


@dataclass(slots=True)
class Toolbox:
    """The tools that a request offers."""

    tools: list[Tool] = field(default_factory=list)
    """The tools, as functions for the model."""
    left_out_types: list[str] = field(default_factory=list)
    """The types of tools that are not offered to the model: those without a row in `CALL_KINDS`,
    and a search for tools that OpenAI's server would run.
    """
    _tool_of_function: dict[str, ToolName] = field(default_factory=dict)
    """Name of a function -> its tool."""
    _function_of_tool: dict[tuple[str, str], str] = field(default_factory=dict)
    """Namespace and name of a tool -> the name of its function."""

    def offer(self, entry: Fields, namespace: str = "", about: str = "") -> None:
        """Add the tool in `entry`, or all tools of a namespace in `entry`, unless it is offered
        already. Of a tool that cannot be offered, only the type is recorded.

        `namespace`: the namespace of the tool, empty for none. `about`: the description of the
        namespace, which is put before the tool's own.
        """
        kind = entry.optional("type", str) or "function"
        if kind == "namespace" and not namespace:
            namespace = entry.required("name", str)
            about = entry.optional("description", str) or ""
            for tool in entry.children("tools"):
                self.offer(tool, namespace, about)
                # Only the first tool gets the description of the namespace, so that the prompt has
                # it once.
                about = ""
            return
        client_runs = kind != "tool_search" or entry.values.get("execution") == "client"
        if kind not in CALL_KINDS or not client_runs:
            self.left_out_types.append(kind)
            return
        name = entry.required("name", str) if kind in ("function", "custom") else kind
        if (namespace, name) in self._function_of_tool:
            # The tool is offered already: a tool that a search has found is listed twice in Codex's
            # later requests.
            return
        flat = joined = flat_name(name, namespace)
        count = 1
        while flat in self._tool_of_function:
            count += 1
            flat = f"{joined[: NAME_LIMIT - 4]}_{count}"
        self._function_of_tool[namespace, name] = flat
        self._tool_of_function[flat] = ToolName(kind, name, namespace)
        descriptions = (about, entry.optional("description", str))
        description = "\n\n".join(text for text in descriptions if text)
        self.tools.append(CALL_KINDS[kind].as_function(flat, description, entry))

    def function_name(self, name: str, namespace: str = "") -> str:
        """Return the name of the function for a tool. The tool need not be offered: a call in the
        history may be of a tool that only an earlier request offered.
        """
        return self._function_of_tool.get((namespace, name)) or flat_name(name, namespace)

    def find(self, name: str) -> ToolName:
        """Return the tool that a model's call with this name means.

        Usually the call has the name of an offered function: `files__read`. If the model wrote
        `read` or `files.read` instead, and only one offered tool fits, this tool is returned. Any
        other name is read as that of a function without a namespace.
        """
        if tool := self._tool_of_function.get(name):
            return tool
        fitting = [
            tool
            for tool in self._tool_of_function.values()
            if tool.namespace and name in (tool.name, f"{tool.namespace}.{tool.name}")
        ]
        return fitting[0] if len(fitting) == 1 else ToolName("function", name)


def flat_name(name: str, namespace: str = "") -> str:
    """Return the name of the function for a tool: `read` in the namespace `my files` ->
    `my_files__read`, with `_` for characters that chat completions do not allow. A name beyond
    `NAME_LIMIT` is cut and gets a checksum at its end. Without a namespace the name is the tool's.
    """
    if not namespace:
        return name
    joined = _UNFIT.sub("_", f"{namespace.rstrip('_')}__{name}")
    if len(joined) <= NAME_LIMIT:
        return joined
    return f"{joined[: NAME_LIMIT - 9]}_{zlib.crc32(joined.encode()):08x}"


def _custom(name: str, description: str, entry: Fields) -> Tool:
    """Return the function for a custom tool. If only input that fits a grammar is allowed, the
    grammar is written into the function's description.
    """
    form = entry.within("format")
    if definition := form.optional("definition", str):
        syntax = form.optional("syntax", str) or "text"
        description += f"\n\nThe input is free text that fits this {syntax} grammar:\n{definition}"
    return Tool(name, CUSTOM_SCHEMA, description.strip())


@dataclass(frozen=True, slots=True)
class CallKind:
    """A type of tool that clients run, and the item that holds a call of such a tool."""

    item_type: str
    """The type of the item that holds a call."""
    id_prefix: str
    """The beginning of the item's id: `fc` in `fc_7_0`. Codex 0.169 drops an id that does not begin
    with `rs_`, `msg_`, `fc_` or `ctc_`.
    """
    as_function: Callable[[str, str, Fields], Tool]
    """Takes the function's name, its description and the tool in the request's `tools`; returns the
    function that is offered to the model.
    """
    read_input: Callable[[Fields], Mapping[str, object]]
    """Takes the item of a call in the history. Returns the arguments for the function that stands
    for the tool, such as `{"input": "ls"}` for a custom tool.
    """
    item_fields: Callable[[ToolName, Mapping[str, object]], dict[str, object]]
    """Takes the tool, and the input of the model's call of its function. Returns the fields of the
    item that hold the tool's name and the input.
    """


def name_fields(tool: ToolName) -> dict[str, object]:
    """Return the fields of an item that name its tool: `name`, and `namespace` if it has one."""
    return {"name": tool.name, **({"namespace": tool.namespace} if tool.namespace else {})}


def _read_arguments(item: Fields) -> Mapping[str, object]:
    """Return the input of an earlier call, from the `arguments` of its item."""
    return read_arguments(item.values.get("arguments"))


def free_text_in(arguments: Mapping[str, object]) -> str:
    """Return the free text for a custom tool from the arguments of the function's call:
    `{"input": "ls"}` -> `ls`. The model may have used another key, or plain text instead of JSON.
    """
    for text in (arguments.get(CUSTOM_INPUT), arguments.get(WRAPPED), *arguments.values()):
        if isinstance(text, str):
            return text
    return json.dumps(arguments, ensure_ascii=False) if arguments else ""


CALL_KINDS = {
    "function": CallKind(
        "function_call",
        "fc",
        lambda name, description, entry: replace(
            function_of(entry), name=name, description=description
        ),
        _read_arguments,
        lambda tool, arguments: {
            **name_fields(tool),
            "arguments": json.dumps(arguments, ensure_ascii=False),
        },
    ),
    "custom": CallKind(
        "custom_tool_call",
        "ctc",
        _custom,
        lambda item: {CUSTOM_INPUT: item.optional("input", str) or ""},
        lambda tool, arguments: {**name_fields(tool), "input": free_text_in(arguments)},
    ),
    "tool_search": CallKind(
        "tool_search_call",
        "tsc",
        lambda name, description, entry: Tool(
            name,
            entry.optional("parameters", dict) or one_string_schema("query"),
            description or "Search for more tools; those found can be called afterwards.",
        ),
        _read_arguments,
        lambda _, arguments: {"execution": "client", "arguments": dict(arguments)},
    ),
}
"""Type of a tool (`ToolName.kind`) -> how such tools are offered and called."""
KIND_OF_ITEM = {row.item_type: kind for kind, row in CALL_KINDS.items()}
"""Type of the item that holds a call -> type of the tool (`ToolName.kind`)."""
