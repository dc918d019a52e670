"""Tools of the Responses API, offered to a chat model as functions, and the way back from a
function to the tool.

Chat completions have functions only, without namespaces. So a namespace's name is joined with the
names of its tools, a tool that takes free text becomes a function with one string, and a search for
tools becomes a function with a query. Codex 0.169 refuses a call whose name, namespace or type is
not the one that it offered: so each call in the reply is mapped back.
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
    one_string,
    read_arguments,
)
from converter.core.model.conversation import Tool
from converter.core.wire.checked import Fields
from converter.core.wire.partial_json import WRAPPED

NAME_LIMIT = 64
"""The longest name of a function that OpenAI and vLLM accept."""
_UNFIT = re.compile(r"[^a-zA-Z0-9_-]")


@dataclass(frozen=True, slots=True)
class ToolName:
    """The name of a tool for its client. `kind`: a key of `CALL_KINDS`."""

    kind: str
    name: str
    namespace: str = ""


@dataclass(slots=True)
class Toolbox:
    """The tools that a request offers.

    Attributes:
        tools: the tools, as functions for the model.
        left_out: types of tools that only OpenAI's own servers can run.
    """

    tools: list[Tool] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    _names: dict[str, ToolName] = field(default_factory=dict)
    _flat: dict[tuple[str, str], str] = field(default_factory=dict)

    def offer(self, entry: Fields, namespace: str = "", about: str = "") -> None:
        """Add a tool, or all tools of a namespace. `about`: the description of the namespace, which
        goes before the tool's own.
        """
        kind = entry.optional("type", str) or "function"
        if kind == "namespace" and not namespace:
            self._offer_all(entry)
        elif kind not in CALL_KINDS or (
            kind == "tool_search" and entry.values.get("execution") != "client"
        ):
            self.left_out.append(kind)
        else:
            self._add(kind, entry, namespace, about)

    def _offer_all(self, entry: Fields) -> None:
        namespace = entry.required("name", str)
        about = entry.optional("description", str) or ""
        for tool in entry.children("tools"):
            self.offer(tool, namespace, about)
            about = ""  # only the first tool gets the description of the namespace

    def _add(self, kind: str, entry: Fields, namespace: str, about: str) -> None:
        name = entry.required("name", str) if kind in ("function", "custom") else kind
        if (namespace, name) in self._flat:
            return  # Codex offers the finds of a tool search again
        flat = self._free(flat_name(name, namespace))
        self._flat[namespace, name] = flat
        self._names[flat] = ToolName(kind, name, namespace)
        descriptions = (about, entry.optional("description", str))
        description = "\n\n".join(text for text in descriptions if text)
        self.tools.append(CALL_KINDS[kind].offer(flat, description, entry))

    def _free(self, flat: str) -> str:
        """Return a name that no other function has: `flat` itself, or `flat` with a number."""
        count, free = 1, flat
        while free in self._names:
            count += 1
            free = f"{flat[: NAME_LIMIT - 4]}_{count}"
        return free

    def flat(self, name: str, namespace: str = "") -> str:
        """Return the name of the function for a tool. The tool may be one of an earlier request."""
        return self._flat.get((namespace, name)) or flat_name(name, namespace)

    def find(self, name: str) -> ToolName:
        """Return the tool for the name in a model's call.

        The name may lack the namespace, or have it with a dot, if only one tool fits. Any other
        name is taken for a function of this name.
        """
        if tool := self._names.get(name):
            return tool
        fitting = [
            tool
            for tool in self._names.values()
            if tool.namespace and name in (tool.name, f"{tool.namespace}.{tool.name}")
        ]
        return fitting[0] if len(fitting) == 1 else ToolName("function", name)


def flat_name(name: str, namespace: str = "") -> str:
    """Return a function's name for a tool in a namespace, with characters that chat completions
    allow. A name that is too long is cut and gets a checksum at its end.
    """
    if not namespace:
        return name
    joined = _UNFIT.sub("_", f"{namespace.rstrip('_')}__{name}")
    if len(joined) <= NAME_LIMIT:
        return joined
    return f"{joined[: NAME_LIMIT - 9]}_{zlib.crc32(joined.encode()):08x}"


def _custom(name: str, description: str, entry: Fields) -> Tool:
    form = entry.within("format")
    if definition := form.optional("definition", str):
        syntax = form.optional("syntax", str) or "text"
        description += f"\n\nThe input is free text that fits this {syntax} grammar:\n{definition}"
    return Tool(name, CUSTOM_SCHEMA, description.strip())


_SEARCH = "Search for more tools; those found can be called afterwards."


@dataclass(frozen=True, slots=True)
class CallKind:
    """A type of tool that clients run.

    Attributes:
        item: the type of the item of a call.
        prefix: the beginning of the item's id. Codex 0.169 drops an id that does not begin with
            `rs_`, `msg_`, `fc_` or `ctc_`.
        offer: returns the function for a flat name, a description and the request's entry.
        read: returns the function's input for an item of the history.
        write: returns the fields of an item of the reply for the tool and the input of a call.
    """

    item: str
    prefix: str
    offer: Callable[[str, str, Fields], Tool]
    read: Callable[[Fields], Mapping[str, object]]
    write: Callable[[ToolName, Mapping[str, object]], dict[str, object]]


def named(tool: ToolName) -> dict[str, object]:
    """Return the fields with a tool's name and namespace."""
    return {"name": tool.name, **({"namespace": tool.namespace} if tool.namespace else {})}


def _read_arguments(item: Fields) -> Mapping[str, object]:
    return read_arguments(item.values.get("arguments"))


def free_text(arguments: Mapping[str, object]) -> str:
    """Return the free text in the arguments of a custom tool's call. The model may have given the
    only string another name, or may have written no JSON.
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
            **named(tool),
            "arguments": json.dumps(arguments, ensure_ascii=False),
        },
    ),
    "custom": CallKind(
        "custom_tool_call",
        "ctc",
        _custom,
        lambda item: {CUSTOM_INPUT: item.optional("input", str) or ""},
        lambda tool, arguments: {**named(tool), "input": free_text(arguments)},
    ),
    "tool_search": CallKind(
        "tool_search_call",
        "tsc",
        lambda name, description, entry: Tool(
            name,
            entry.optional("parameters", dict) or one_string("query"),
            description or _SEARCH,
        ),
        _read_arguments,
        lambda _, arguments: {"execution": "client", "arguments": dict(arguments)},
    ),
}
"""The types of tools that clients run, by `ToolName.kind`."""
KIND_OF_ITEM = {row.item: kind for kind, row in CALL_KINDS.items()}
"""Type of a call's item -> kind."""
