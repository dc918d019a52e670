"""Reader of a Messages request: `read` checks the format and returns a `Conversation`. `blocks` has
the readers of content. Also `BILLING_START`, the pattern of lines that Claude Code puts before its
system text.

- A request that breaks the format is refused before it goes to a server. The error is worded as the
  API words it and names the field.
- A valid field that means nothing to a local server is dropped, and the user gets no note of it:
  `cache_control`, `service_tier`, `container`, `context_management`, `betas`, `speed`. So is every
  unknown field, unless local servers know it (`SERVER_FIELDS`): then it goes on to the server.
- Tools of Anthropic's own types (`web_search`, `bash`), which only its models and servers know, the
  blocks of its servers' tools, and blocks of unknown types are left out. The user gets a note of
  it, because the client will miss them.
- A tool result without its call goes on to the server as it is, and the user gets a note of it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import get_args

from converter.core.dialects.anthropic import threads
from converter.core.dialects.anthropic.blocks import SYSTEM_BLOCKS, Reader, read_blocks, readers_of
from converter.core.dialects.anthropic.deferred_tools import order_of_finds
from converter.core.dialects.dialect import (
    NO_CONTEXT,
    Purpose,
    RequestContext,
    TurnOf,
    read_anew,
)
from converter.core.dialects.server_fields import SAMPLING, SERVER_FIELDS
from converter.core.model.conversation import (
    Block,
    Conversation,
    Role,
    Sampling,
    TextBlock,
    ThinkingMode,
    ThinkingSwitch,
    Tool,
    ToolChoice,
    ToolResult,
    ToolUse,
    Turn,
)
from converter.core.wire.checked import Fields, Kinds
from converter.core.wire.json_text import as_object

BILLING_START = re.compile(r"\A(?:x-anthropic-billing-header:[^\n]*\n*)+")
"""Billing lines at the beginning of a system text. Claude Code, from 2.1.29 on, begins its first
system block with such a line. A number in the line changes with each request. So the line is
removed: with it, no prompt would begin like the one before, and a server's prompt cache would be
useless.
"""

_OMITTED = "omitted"
"""Value of `thinking.display` by which a client asks that thinking is not shown."""
THINKING_MODES: dict[str, ThinkingMode] = {mode: mode for mode in get_args(ThinkingMode.__value__)}
"""`thinking.type` in a request -> mode of the conversation's `ThinkingSwitch`."""
EFFORTS = ("low", "medium", "high", "xhigh", "max", "ultra")
"""Values of `output_config.effort` that are read. Any other value is left out, and the user gets a
note of it.
"""
ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}
"""Role of a message in a request -> role of the conversation's turn."""
ORPHANS = "results of calls that the turn before does not have, passed on as they are: {}"
"""Note to the user about tool results without a call. `{}` stands for the ids of the calls."""
LEFT_OUT = "blocks left out: {}: no local server knows them"
"""Note to the user about blocks that are left out. `{}` stands for the types of the blocks."""
NO_ROOM = "thinking.budget_tokens {} leaves no room for an answer within max_tokens {}"
"""Note to the user about a thinking budget that is as high as the reply's limit, or higher."""
_SETTINGS: Kinds = {**SAMPLING, "stop_sequences": [str], "stream": bool}
"""Fields for sampling, stop strings and streaming -> their types."""
NO_STOP = "stop_sequences.{} left out: it is empty"
"""Note to the user about an empty stop string. `{}` stands for its index in the list."""


def read(body: object, context: RequestContext = NO_CONTEXT) -> Conversation:
    """Return the conversation of a Messages request. Raises RequestError, and nothing else, if the
    request breaks the format.

    If the request continues a message thread (`threads.py`), the thread's turns come first. The
    client may send back blocks that the option `think_map` put into earlier replies. They are left
    out without a note to the user.
    """
    thread = None
    if context.memory is not None and as_object(body).get("thread") is not None:
        body, thread = threads.with_kept_turns(body, context.memory)
    # `context.turn_of` finds the turn of an earlier request by the message object. It would find
    # none in a thread, whose messages are parsed anew from the memory for each request.
    turn_of = read_anew if thread else context.turn_of
    request = Fields(body)
    notes, left_out = list[str](), list[str]()
    max_tokens = None if context.purpose is Purpose.COUNT else request.required("max_tokens", int)
    if max_tokens is not None and max_tokens < 0:
        raise request.error("max_tokens", "Input should be greater than or equal to 0")
    tools, choice = tools_of(request, notes), request.child("tool_choice")
    thinking, output = request.child("thinking"), request.child("output_config")
    metadata, settings = request.child("metadata"), request.read(_SETTINGS)
    # An empty stop string is left out, because it means nothing. A string of blanks is kept.
    stops: Sequence[str] = settings.get("stop_sequences", ())
    notes += [NO_STOP.format(index) for index, text in enumerate(stops) if not text]
    turns = _turns(request, left_out, notes, turn_of)
    system = _system_texts(read_blocks(request, "system", SYSTEM_BLOCKS, left_out))
    unsaid = sorted(set(left_out).difference(row.block for row in context.map.values()))
    return Conversation(
        model=request.required("model", str),
        turns=turns,
        system=system,
        max_tokens=max_tokens,
        tools=tools,
        tool_choice=_choice(choice, request, tools, notes) if choice else None,
        parallel_tool_use=not (choice and choice.optional("disable_parallel_tool_use", bool)),
        stop_sequences=tuple(filter(None, stops)),
        sampling=Sampling(*map(settings.get, SAMPLING)),
        stream=settings.get("stream", False),
        thinking=_thinking(thinking, max_tokens, notes) if thinking else None,
        effort=_effort(output, notes) if output else None,
        output_schema=_output_schema(request, output),
        user_id=metadata.optional("user_id", str) if metadata else None,
        extensions={name: value for name, value in request.values.items() if name in SERVER_FIELDS},
        notes=(*notes, *([LEFT_OUT.format(", ".join(unsaid))] if unsaid else [])),
        own=thread,
    )


def _system_texts(blocks: Iterable[Block]) -> tuple[str, ...]:
    """Return the texts of a system prompt. Claude Code's billing lines and blank texts are left
    out.
    """
    texts = (BILLING_START.sub("", block.text) for block in blocks if isinstance(block, TextBlock))
    return tuple(text for text in texts if text.strip())


def _turns(
    request: Fields, left_out: list[str], notes: list[str], turn_of: TurnOf
) -> tuple[Turn, ...]:
    """Return the turns of the request's messages; an empty system message gives no turn. Types of
    blocks that are left out are appended to `left_out`. A note to the user about results without a
    call is appended to `notes`.
    """
    messages = request.required("messages", list)
    if not messages:
        raise request.error("messages", "at least one message is required")
    blocks = {role: readers_of(role, left_out) for role in ROLES.values()}
    turns = [
        turn_of(message, partial(_turn, message, f"messages.{at}", blocks, left_out), None)
        for at, message in enumerate(messages)
    ]
    if orphans := list(_results_without_call(turns)):
        notes.append(ORPHANS.format(", ".join(orphans)))
    return tuple(turn for turn in turns if turn.blocks or turn.role != "system")


def _turn(
    value: object,
    path: str,
    readers: Mapping[Role, Mapping[str, Reader[Block]]],
    left_out: list[str],
) -> tuple[Turn, bool]:
    """Return the turn of the message `value`, and True if one of its blocks was left out. Then the
    message is read again when the next request repeats it, so that the next request's notes to the
    user name the block, too. The type of such a block is appended to `left_out`.

    `path`: the message's address in errors, such as `messages.0`. `readers`: role -> the readers of
    the blocks that a message of this role may have.
    """
    message, before = Fields(value, path), len(left_out)
    role = message.row("role", ROLES)
    if message.values.get("content") is None:
        raise message.error("content", "Field required")
    blocks = read_blocks(message, "content", readers[role], left_out)
    turn = Turn(role, tuple(map(TextBlock, _system_texts(blocks))) if role == "system" else blocks)
    return turn, len(left_out) > before


def _results_without_call(turns: Iterable[Turn]) -> Iterator[str]:
    """Yield the ids of tool results whose call is not in the turn before.

    Successive messages of one role count as one turn here. System messages do not count.
    """
    called: set[str] = set()
    before = ""
    for turn in turns:
        if turn.role == "assistant":
            calls = {block.id for block in turn.blocks if isinstance(block, ToolUse)}
            called = called | calls if before == "assistant" else calls
        results = (block for block in turn.blocks if isinstance(block, ToolResult))
        yield from (block.tool_use_id for block in results if block.tool_use_id not in called)
        before = before if turn.role == "system" else turn.role


def _thinking(thinking: Fields, max_tokens: int | None, notes: list[str]) -> ThinkingSwitch:
    """Return the switch of thinking for the request's object `thinking`. Notes to the user about a
    budget that is negative, or that leaves no room for an answer, are appended to `notes`.
    """
    mode, shown = thinking.row("type", THINKING_MODES), thinking.optional("display", str)
    budget = thinking.required("budget_tokens", int) if mode == "enabled" else None
    if budget is not None and budget < 0:
        # opencode 1.18.33 sends -1 in the request for a conversation's title. If this request were
        # refused, the conversation would have no title.
        notes.append(f"thinking.budget_tokens {budget} read as no limit")
        budget = None
    elif budget is not None and max_tokens is not None and budget >= max_tokens:
        notes.append(NO_ROOM.format(budget, max_tokens))
    return ThinkingSwitch(mode, budget, shown=shown != _OMITTED)


def omits_thinking(body: Mapping[str, object]) -> bool:
    """Return True if a request asks that thinking is not shown. Its fields may have any type,
    because it goes to the server untranslated and no reader has checked it.
    """
    thinking = body.get("thinking")
    return isinstance(thinking, Mapping) and thinking.get("display") == _OMITTED


def _effort(output: Fields, notes: list[str]) -> str | None:
    """Return `output_config.effort`; None if it is absent, or if `EFFORTS` lacks it. A note to the
    user about a value that `EFFORTS` lacks is appended to `notes`.
    """
    effort = output.optional("effort", str)
    if effort is None or effort in EFFORTS:
        return effort
    notes.append(f"output_config.effort left out: {effort!r} is not known")
    return None


def _output_schema(request: Fields, output: Fields | None) -> dict[str, object] | None:
    """Return the JSON schema of `output_config.format`, or of `output_format`, which was the
    field's name in the API's beta. None if the request has neither.
    """
    form = (output and output.child("format")) or request.child("output_format")
    if form is None:
        return None
    form.one_of("type", ("json_schema",))
    return form.required("schema", dict)


CHOICES: dict[str, ToolChoice] = {
    "auto": ToolChoice("auto"),
    "any": ToolChoice("required"),
    "tool": ToolChoice("named"),
    "none": ToolChoice("none"),
}
"""`tool_choice.type` in a request -> tool choice of the conversation."""


def tools_of(request: Fields, notes: list[str]) -> tuple[Tool, ...]:
    """Return the tools that the client itself describes. Tools of Anthropic's own types, which only
    its models and servers know, are left out, and a note to the user is appended to `notes`. Raises
    RequestError for two tools of one name.

    A deferred tool (`deferred_tools.py`) is left out until a search has found it, unless only
    Anthropic's servers could run the search. The tools that were found come behind all others, in
    the order in which they were found.
    """
    tools, deferred, left_out = dict[str, Tool](), set[str](), list[str]()
    offered = request.children("tools")
    for tool in offered:
        kind = tool.optional("type", str) or "custom"
        name = tool.optional("name", str)
        if kind != "custom":
            left_out.append(kind)
        elif name in tools:
            raise request.error("tools", "Tool names must be unique.")
        else:
            name, schema = tool.required("name", str), tool.required("input_schema", dict)
            description = tool.optional("description", str) or ""
            strict = tool.optional("strict", bool) or False
            tools[name] = Tool(name, schema, description, strict)
            deferred |= {name} if tool.optional("defer_loading", bool) else set()
    if left_out:
        notes.append(
            f"tools left out: {', '.join(left_out)}: only Anthropic's models and servers know them"
        )
    finds = order_of_finds(request, offered) if deferred else None
    if finds is not None:
        undeferred = {name: tool for name, tool in tools.items() if name not in deferred}
        tools = undeferred | {name: tools[name] for name in finds if name in deferred}
    return tuple(tools.values())


def _choice(choice: Fields, request: Fields, tools: Iterable[Tool], notes: list[str]) -> ToolChoice:
    """Return the tool choice, for the request's object `tool_choice` (`choice`). A choice of a tool
    that is not among `tools`, because it was left out, becomes `auto`, and a note to the user is
    appended to `notes`. Raises RequestError for a tool that the request does not list.
    """
    read = choice.row("type", CHOICES)
    if read.mode != "named":
        return read
    name = choice.required("name", str)
    if name in {tool.name for tool in tools}:
        return ToolChoice("named", name)
    if name not in {tool.values.get("name") for tool in request.children("tools")}:
        raise choice.error("name", f"Tool '{name}' not found in provided tools")
    notes.append(f"tool_choice {name!r} left out: the model chooses")
    return ToolChoice("auto")
