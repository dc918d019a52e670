"""Reader of the input items of a Responses request: it turns them into turns of a conversation.

Calls of tools that only OpenAI's servers run (web search, a computer), the outputs of these calls,
and all else that another server cannot use, are left out. A note to the user names each type that
was left out.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial

from converter.core.dialects.dialect import TurnOf, read_anew
from converter.core.dialects.openai_parts import read_parts
from converter.core.dialects.responses import compaction, thoughts
from converter.core.dialects.responses.tools import CALL_KINDS, KIND_OF_ITEM, Toolbox
from converter.core.dialects.tolerant_readers import call_id_of
from converter.core.model.conversation import (
    Block,
    ContentBlock,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolResult,
    ToolUse,
    Turn,
)
from converter.core.wire import long_json
from converter.core.wire.checked import Fields

ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
}
"""`role` of a message -> role of its turn."""
NO_CALL = "No tool call found for function call output with call_id {}."
"""The error's message for a tool's output whose call is not in the conversation; `{}`: the call's
id.
"""
OFFERING = ("additional_tools", "tool_search_output")
"""Types of items that offer tools to the model, as the request's field `tools` does."""
_OUTPUT_TYPES = ("function_call_output", "custom_tool_call_output", "tool_search_output")
"""Types of the outputs of tools that the client runs."""
SEALED = "reasoning.encrypted_content"
"""The name, in the note to the user, of a thought that was left out because it has only encrypted
text.
"""
UNNOTED_TYPES = {"additional_tools", "item_reference", compaction.TRIGGER, "configuration_update"}
"""Types of items that add no turn, and of which the user gets no note: other code reads them
(`additional_tools`, `item_reference`, the compaction trigger), or a model has no use for them
(`configuration_update`).
"""


@dataclass(slots=True)
class Items:
    """Reads the items of a request, one after another, into turns."""

    toolbox: Toolbox
    """The tools that the request offers."""
    is_whole_conversation: bool = True
    """True if the items are a whole conversation, so that a tool's output without its call is an
    error. False if the request refers to earlier items that are not kept here.
    """
    turn_of: TurnOf = read_anew
    """Returns the turn of an item: it reads the item, or returns the turn that was read for the
    same item in the conversation's previous request.
    """
    turns: list[Turn] = field(default_factory=list)
    """The turns of the items that were added so far."""
    left_out_types: set[str] = field(default_factory=set)
    """Types of the items, and of their parts, that were left out."""
    _call_ids: dict[str, str] = field(default_factory=dict)
    """`call_id` or `id` of a call's item -> `call_id`. An output may name its call by either."""

    def add(self, item: Fields) -> None:
        """Append the turn of an item to `turns`. Raises RequestError if the item breaks the format.

        An item of the assistant without content adds no turn. Successive turns of one role are
        joined later, when the request to the server is written.
        """
        kind = kind_of(item)
        # For a call: the name of the function to call. For a tool's output: the id of its call.
        name_or_id = ""
        if call_kind := KIND_OF_ITEM.get(kind):
            name = item.required("name", str) if call_kind in ("function", "custom") else call_kind
            call = call_id_of(item)
            self._call_ids |= dict.fromkeys((call, item.optional("id", str) or call), call)
            name_or_id = self.toolbox.function_name(name, item.optional("namespace", str) or "")
        elif kind in _OUTPUT_TYPES:
            call = call_id_of(item)
            if call not in self._call_ids and self.is_whole_conversation:
                raise item.error("call_id", NO_CALL.format(call))
            name_or_id = self._call_ids.get(call, call)
        reader = partial(self._read_item, item, kind, name_or_id)
        turn = self.turn_of(item.values, reader, name_or_id)
        if turn.blocks or turn.role != "assistant":
            self.turns.append(turn)

    def _read_item(self, item: Fields, kind: str, name_or_id: str) -> tuple[Turn, bool]:
        """Return the turn of an item, and True if the item must be read again when the next request
        repeats it. It must if reading it adds a note to the user, or if it lists tools: the names
        of their functions depend on the request's other tools.

        `name_or_id`: for a call the name of its function in the `toolbox`, for a tool's output the
        id of its call, else empty.
        """
        role: Role = "assistant"
        blocks: Iterable[Block] = ()
        left_out = set[str]()
        if kind == "message":
            role, blocks = item.row("role", ROLES), read_parts(item, "content", left_out)
        elif kind == "reasoning":
            blocks = _thoughts(item, left_out)
        elif call_kind := KIND_OF_ITEM.get(kind):
            arguments = long_json.spaced(CALL_KINDS[call_kind].read_input(item))
            blocks = [ToolUse(call_id_of(item), name_or_id, arguments)]
        elif kind in _OUTPUT_TYPES:
            find = kind == "tool_search_output"
            content = self._tool_list(item) if find else tuple(read_parts(item, "output", left_out))
            failed = item.values.get("status") == "failed"
            role, blocks = "user", [ToolResult(name_or_id, content, failed)]
        # A summary that cannot be read, because another server encrypted it, is left out below.
        elif kind == compaction.ITEM and (summary := compaction.read_summary(item)):
            role, blocks = "user", [summary]
        else:
            left_out |= {kind} - UNNOTED_TYPES
        # `blocks` may be the generator `_thoughts`, which fills `left_out` while `tuple` reads it.
        turn = Turn(role, tuple(blocks))
        self.left_out_types |= left_out
        return turn, bool(left_out) or kind in OFFERING

    def _tool_list(self, item: Fields) -> tuple[ContentBlock, ...]:
        """Return the output of a tool search for the model: a text with the names of the functions
        for the tools that the search has found.
        """
        names = list[str]()
        for tool in item.children("tools"):
            name = tool.optional("name", str) or ""
            if tool.values.get("type") == "namespace":
                inner = (str(each.values.get("name")) for each in tool.children("tools"))
                names += (self.toolbox.function_name(each, name) for each in inner)
            else:
                names.append(self.toolbox.function_name(name))
        return (TextBlock(f"Tools found: {', '.join(names) or 'none'}"),)


def kind_of(item: Fields) -> str:
    """Return an item's type. An item without a type is a message."""
    return item.optional("type", str) or "message"


def _thoughts(item: Fields, left_out: set[str]) -> Iterator[Block]:
    """Yield the thought of an item `reasoning`, if it can be read.

    Its text is in `encrypted_content` if the addon wrote the item, else in `content` or `summary`.
    The first of these that the item has counts, because a client may have shortened the others. If
    there is only a text that another server encrypted, `left_out` gets `SEALED`.
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
