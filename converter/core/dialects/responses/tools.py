"""Tools of the Responses API, offered to a chat model as plain functions and mapped back in its
reply.

Chat completions know functions with flat names and nothing else. A namespace is joined with its
tools' names; a tool that takes free text becomes a function of one string, a search for tools one
of a query. Codex 0.169 refuses a call whose name, namespace or kind is not the one it offered, so
the reply needs the way back.
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
"""Longest name of a function that OpenAI's and vLLM's checks let through."""
_UNFIT = re.compile(r"[^a-zA-Z0-9_-]")


@dataclass(frozen=True, slots=True)
class ToolName:
    """A tool as its client knows it. `kind`: one of `CALL_KINDS`."""

    kind: str
    name: str
    namespace: str = ""


@dataclass(slots=True)
class Toolbox:
    """The tools offered so far. `left_out`: kinds that only OpenAI's own servers can run."""

    tools: list[Tool] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    _names: dict[str, ToolName] = field(default_factory=dict)
    _flat: dict[tuple[str, str], str] = field(default_factory=dict)

    def offer(self, entry: Fields, namespace: str = "", about: str = "") -> None:
        """Offer one entry of a request's tools, which may be a whole namespace; `about` describes
        the namespace.
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
            about = ""  # once is enough

    def _add(self, kind: str, entry: Fields, namespace: str, about: str) -> None:
        name = entry.required("name", str) if kind in ("function", "custom") else kind
        if (namespace, name) in self._flat:
            return  # offered twice: Codex repeats the finds of a tool search
        flat = self._free(flat_name(name, namespace))
        self._flat[namespace, name] = flat
        self._names[flat] = ToolName(kind, name, namespace)
        descriptions = (about, entry.optional("description", str))
        description = "\n\n".join(text for text in descriptions if text)
        self.tools.append(CALL_KINDS[kind].offer(flat, description, entry))

    def _free(self, flat: str) -> str:
        """Return the name, changed if another tool has it."""
        count, free = 1, flat
        while free in self._names:
            count += 1
            free = f"{flat[: NAME_LIMIT - 4]}_{count}"
        return free

    def flat(self, name: str, namespace: str = "") -> str:
        """Return the function's name for a tool, of this request or of an earlier one."""
        return self._flat.get((namespace, name)) or flat_name(name, namespace)

    def find(self, name: str) -> ToolName:
        """Return the tool that a model means. A bare or dotted name counts when it fits one tool
        only; a name that was not offered is a function of that name.
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
    """Return a name that chat completions allow; one too long keeps its head and a checksum."""
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

# Kinds of tools that clients run: from an entry of the request to a function, from an item of the
# history to that function's input, and from a model's call to an item of the reply.


@dataclass(frozen=True, slots=True)
class CallKind:
    """`item`: the type of the call. `prefix`: of item ids; Codex 0.169 keeps only ids that begin
    with `rs_`, `msg_`, `fc_` and `ctc_`. `offer` gives the function of a name and a description,
    `read` its input, `write` the fields of a reply's item from the tool and the input.
    """

    item: str
    prefix: str
    offer: Callable[[str, str, Fields], Tool]
    read: Callable[[Fields], Mapping[str, object]]
    write: Callable[[ToolName, Mapping[str, object]], dict[str, object]]


def named(tool: ToolName) -> dict[str, object]:
    """Return the tool's name as its client offered it."""
    return {"name": tool.name, **({"namespace": tool.namespace} if tool.namespace else {})}


def _read_arguments(item: Fields) -> Mapping[str, object]:
    return read_arguments(item.values.get("arguments"))


def free_text(arguments: Mapping[str, object]) -> str:
    """Return the text of a custom tool's call; a model may name its only string otherwise, or write
    no JSON at all.
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
"""The kinds of `ToolName`."""
KIND_OF_ITEM = {row.item: kind for kind, row in CALL_KINDS.items()}
"""A call item's type -> its kind."""
