"""The items of a Responses request, read: one reader per type, to blocks of a conversation.

Calls that only OpenAI's servers make (web search, a computer, ...), and their outputs, are left out
and named once, as is all else that has no meaning for another server.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from converter.core.dialects.openai_parts import read_parts
from converter.core.dialects.responses import compaction, thoughts
from converter.core.dialects.responses.tools import CALL_KINDS, KIND_OF_ITEM, Toolbox
from converter.core.model.conversation import (
    Block,
    ContentBlock,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolResult,
    ToolUse,
    Turn,
    arguments_of,
)
from converter.core.wire.checked import Fields

ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
}
NO_CALL = "No tool call found for function call output with call_id {}."
OFFERING = ("additional_tools", "tool_search_output")
"""Types of items that bring tools."""
SEALED = "reasoning.encrypted_content"
"""The log's word for thinking that is nowhere else in its item."""
SILENT = ("additional_tools", "item_reference", compaction.TRIGGER, "configuration_update")
"""Read elsewhere, or nothing that a model could be told."""


@dataclass(slots=True)
class Items:
    """The items read so far. `whole`: they begin with the conversation. `left_out`: types of items
    and parts that have no place in a conversation.
    """

    toolbox: Toolbox
    whole: bool = True
    turns: list[Turn] = field(default_factory=list)
    left_out: set[str] = field(default_factory=set)
    _calls: dict[str, str] = field(default_factory=dict)  # call_id or item id -> call_id

    def add(self, item: Fields) -> None:
        """Read one item. Raises RequestError for one that breaks the format."""
        kind = kind_of(item)
        if kind == "message":
            role = item.row("role", ROLES)
            self._say(role, read_parts(item, "content", self.left_out))
        elif kind == "reasoning":
            self._say("assistant", _thoughts(item, self.left_out))
        elif kind in KIND_OF_ITEM:
            self._call(item, kind)
        elif kind in _OUTPUTS:
            self._say("user", [self._result(item, kind)])
        elif kind == compaction.ITEM:
            self._compaction(item)
        elif kind not in SILENT:
            self.left_out.add(kind)

    def _say(self, role: Role, blocks: Iterable[Block]) -> None:
        """Add a turn, unless the model says nothing in it. Who writes turns joins those in a row of
        one role.
        """
        words = tuple(blocks)
        if words or role != "assistant":
            self.turns.append(Turn(role, words))

    def _call(self, item: Fields, kind: str) -> None:
        known = KIND_OF_ITEM[kind]
        name = item.required("name", str) if known in ("function", "custom") else known
        flat = self.toolbox.flat(name, item.optional("namespace", str) or "")
        arguments = CALL_KINDS[known].read(item)
        call = item.optional("call_id", str) or item.optional("id", str) or ""
        self._calls |= dict.fromkeys((call, item.optional("id", str) or call), call)
        self._say("assistant", [ToolUse(call, flat, arguments_of(arguments))])

    def _result(self, item: Fields, kind: str) -> ToolResult:
        call_id = item.optional("call_id", str) or item.optional("id", str) or ""
        if call_id not in self._calls and self.whole:
            raise item.error("call_id", NO_CALL.format(call_id))
        content = _OUTPUTS[kind](item, self)
        failed = item.values.get("status") == "failed"
        return ToolResult(self._calls.get(call_id, call_id), tuple(content), failed)

    def _compaction(self, item: Fields) -> None:
        """Read a compaction of our own; another can only be read where it was made."""
        summary = compaction.read(item.optional("encrypted_content", str) or "")
        if summary is None:
            self.left_out.add(compaction.ITEM)
        else:
            self._say("user", [summary])


def kind_of(item: Fields) -> str:
    """Return an item's type; a message may leave it out."""
    return item.optional("type", str) or "message"


def _thoughts(item: Fields, left_out: set[str]) -> Iterator[Block]:
    """The encoded text is whole; a client may have cut or left out the others. Words that others
    have sealed can only be read where it was made.
    """
    sealed = item.optional("encrypted_content", str) or ""
    text = thoughts.decode(sealed)
    if text is None:
        parts = [*item.children("content")] or item.children("summary")
        text = "\n\n".join(part.optional("text", str) or "" for part in parts)
    if text:
        yield ThinkingBlock(text)
    elif sealed:
        left_out.add(SEALED)


# Outputs of the client's own tools.


def _output(item: Fields, items: Items) -> list[ContentBlock]:
    return read_parts(item, "output", items.left_out)


def _found_tools(item: Fields, items: Items) -> list[ContentBlock]:
    names = [name for tool in item.children("tools") for name in _names(tool, items.toolbox)]
    return [TextBlock(f"Tools found: {', '.join(names) or 'none'}")]


def _names(tool: Fields, toolbox: Toolbox) -> list[str]:
    name = tool.optional("name", str) or ""
    if tool.values.get("type") != "namespace":
        return [toolbox.flat(name)]
    return [toolbox.flat(str(inner.values.get("name")), name) for inner in tool.children("tools")]


_OUTPUTS: dict[str, Callable[[Fields, Items], list[ContentBlock]]] = {
    "function_call_output": _output,
    "custom_tool_call_output": _output,
    "tool_search_output": _found_tools,
}
