"""Writer of a chat-completions request (`write`) from a `Conversation`, for one kind of server, by
its `RequestSettings`. `openai_parts` writes the parts of a message.

Messages are written in the order of the conversation. The format holds less than a conversation
does: an assistant message is one string with its tool calls last, and a tool message is text only.
Chat templates allow still less than servers do:

- system text at the beginning only (Qwen3.5, Mistral);
- user and assistant by turns (Mistral, Gemma);
- a string, and no list of parts, if the content is text only.

So successive turns of one role become one message, and a part that the format cannot hold becomes a
text that names it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby

from converter.core.dialects.openai_parts import Sendable, part_of, sendable_parts
from converter.core.dialects.request_settings import RequestSettings
from converter.core.model.conversation import (
    Block,
    Conversation,
    Document,
    Image,
    Sound,
    Stored,
    TextBlock,
    ThinkingBlock,
    Tool,
    ToolResult,
    ToolUse,
    Turn,
)

OUTPUT_NAME = "output"
"""Name for an output schema to which the client gave none. Chat completions require a name, and the
Messages API has no field for it.
"""
UNMISSED = frozenset({"user", "stream_options"})
"""Fields of which the user gets no note if the server does not take them: nobody misses them."""
INLINE_SYSTEM = "<system-reminder>\n{}\n</system-reminder>"
"""A system text within a user turn. Claude Code puts these tags around its own text in user turns,
and models that were trained on its traffic know them.
"""
NO_OUTPUT = "(no output)"
"""The text of a tool message whose result has no text. Several chat templates skip a tool message
without text; the call would then seem to have no result.
"""
TOOL_ERROR = "[The tool reported an error.]"
"""The first line of a tool message whose result is an error: chat completions have no field that
says so.
"""
BELOW = "[{}: in the next user message]"
"""The text in a tool message in place of an image or a sound; `{}` stands for `image` or `sound`.
"""
ABOVE = "[{} from the result of tool call {}]"
"""The text before an image or a sound in the user message after the tool message. The first `{}`
stands for `image` or `sound`, the second one for the id of the call.
"""
NAMES: dict[type, str] = {Image: "image", Sound: "sound"}
"""Types of parts that a tool message cannot hold -> their names in the text that takes their place.
"""


type RunOf = Callable[
    [Sequence[Turn], object, Callable[[], list[dict[str, object]]]], list[dict[str, object]]
]
"""Takes successive turns of one role, the settings on which the writing depends, and the writer.
Returns the messages for the turns: what the writer returns, or the messages that it returned for
the same turns and settings in the conversation's previous request.
"""


def _write_anew(
    _turns: Sequence[Turn], _basis: object, write: Callable[[], list[dict[str, object]]]
) -> list[dict[str, object]]:
    """Return the messages that `write` returns. Callers that keep no messages between requests take
    this function as their `RunOf`: it writes each message of each request.
    """
    return write()


def write(
    conversation: Conversation, settings: RequestSettings, run_of: RunOf = _write_anew
) -> tuple[dict[str, object], tuple[str, ...]]:
    """Return the body of a chat-completions request, and notes to the user, one line each, about
    what was left out.

    Fields that the server does not take are left out, unless the client sent them as fields of the
    server (`Conversation.extensions`). Signatures of thoughts are left out. Never raises for a
    conversation from one of the request readers.

    `run_of`: returns the messages for successive turns of one role: it writes them, or returns
    those that were written for the same turns in the conversation's previous request.
    """
    fields, leaves_out = _fields(conversation, settings, run_of), settings.leaves_out
    body = {name: value for name, value in fields.items() if name not in leaves_out}
    for name, value in conversation.extensions.items():
        own = body.get(name)
        body[name] = own | value if isinstance(own, dict) and isinstance(value, dict) else value
    dropped = sorted(fields.keys() & (leaves_out - UNMISSED))
    notes = [f"{name} left out: {settings.server} does not take it" for name in dropped]
    blocks = [block for turn in conversation.turns for block in turn.blocks]
    results = (block.content for block in blocks if isinstance(block, ToolResult))
    blocks += [block for content in results for block in content]
    images = sum(isinstance(block, Image) and isinstance(block.source, Stored) for block in blocks)
    documents = (block.content for block in blocks if isinstance(block, Document))
    if unreadable := images + sum(not isinstance(content, tuple) for content in documents):
        notes.append(f"{unreadable} attachment(s) left out: no text, or not sent with the request")
    return body, tuple(notes)


def _fields(
    conversation: Conversation, settings: RequestSettings, run_of: RunOf
) -> dict[str, object]:
    """Return the fields of the request that follow from the conversation's own fields and from the
    settings. `write` then removes the fields that the server does not take, and adds those of
    `Conversation.extensions`.
    """
    switch, sampling, most = settings.switch, conversation.sampling, conversation.max_tokens
    if switch and not "".join(conversation.system[:1]).startswith(switch):
        conversation = replace(conversation, system=(switch, *conversation.system))
    messages = write_messages(conversation, settings, run_of)
    last = messages[-1] if messages else {}
    goes_on = last.get("role") == "assistant" and "tool_calls" not in last
    response_format = None
    if conversation.output_schema is not None:
        strict = conversation.output_strict
        schema = {
            "name": conversation.output_name or OUTPUT_NAME,
            "schema": conversation.output_schema,
            **({} if strict is None else {"strict": strict}),
        }
        response_format = {"type": "json_schema", "json_schema": schema}
    fields: dict[str, object | None] = {
        "model": conversation.model,
        "messages": messages,
        # A client of the Messages API may send 0, only to fill the prompt cache. vLLM and SGLang
        # refuse 0.
        "max_tokens": None if most is None else max(1, most),
        "stop": list(conversation.stop_sequences) or None,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "top_k": sampling.top_k,
        "user": conversation.user_id,
        **_tool_fields(conversation, settings),
        "stream": conversation.stream or None,
        "stream_options": {"include_usage": True} if conversation.stream else None,
        "response_format": response_format,
    }
    sent = {name: value for name, value in fields.items() if value is not None}
    return {**sent, **(settings.prefill if goes_on else {}), **settings.thinking}


def _tool_fields(conversation: Conversation, settings: RequestSettings) -> dict[str, object]:
    """Return the request's fields for the offered tools and the choice between them; no field if no
    tool is offered. If the client chose one tool, but the server's `tool_choice` may not name it,
    only this tool is offered, and a call is required. If the client forbids calls, but the server
    does not take `tool_choice`, no tool is offered.
    """
    choice, tools = conversation.tool_choice, conversation.tools
    leaves_out = "tool_choice" in settings.leaves_out
    sent_choice: object = choice.mode if choice else None
    if choice and choice.mode == "none" and leaves_out:
        tools = ()
    elif choice and choice.mode == "named":
        sent_choice = {"type": "function", "function": {"name": choice.name}}
        if leaves_out or not settings.named_tool_choice:
            sent_choice = "required"
            tools = tuple(tool for tool in tools if tool.name == choice.name)
    if not tools:
        return {}  # no `tool_choice`: vLLM and OpenAI refuse one without tools
    return {
        "tools": [_tool(tool) for tool in tools],
        "tool_choice": sent_choice,
        "parallel_tool_calls": None if conversation.parallel_tool_use else False,
    }


def _tool(tool: Tool) -> dict[str, object]:
    """Return the entry for a tool in the request's `tools`."""
    described = {"description": tool.description} if tool.description else {}
    strict = {"strict": True} if tool.strict else {}
    return {
        "type": "function",
        "function": {"name": tool.name, **described, "parameters": tool.input_schema, **strict},
    }


def write_messages(
    conversation: Conversation, settings: RequestSettings, run_of: RunOf = _write_anew
) -> list[dict[str, object]]:
    """Return the messages of a chat-completions request, the system text first.

    A later system turn becomes a user turn with tags around its text (`INLINE_SYSTEM`). An
    assistant turn at the end stays there, for the server to continue it; if nothing but its role
    would be written, it is left out.

    `run_of`: returns the messages for successive turns of one role: it writes them, or returns
    those that were written for the same turns in the conversation's previous request.
    """
    turns, texts = list(conversation.turns), list(conversation.system)
    while turns and turns[0].role == "system":
        texts += _texts(turns.pop(0))
    turns = [_as_user(turn) if turn.role == "system" else turn for turn in turns]
    system, messages = join_texts(texts), list[dict[str, object]]()
    if system:
        messages.append({"role": "system", "content": system})
    basis = (settings.history, settings.tool_turn_history, settings.order, settings.image_links)
    for _, same_role in groupby(turns, key=lambda turn: turn.role):
        run = tuple(same_role)
        write = _write_assistant if run[0].role == "assistant" else _write_user
        blocks = tuple(block for turn in run for block in turn.blocks)
        messages += run_of(run, basis, partial(write, blocks, settings))
    if len(messages) > 1 and messages[-1] == {"role": "assistant", "content": ""}:
        messages.pop()
    return messages


def _texts(turn: Turn) -> list[str]:
    """Return the texts of a turn, without its other blocks."""
    return [block.text for block in turn.blocks if isinstance(block, TextBlock)]


def _as_user(turn: Turn) -> Turn:
    """Return a user turn with the text of a system turn, between the tags of `INLINE_SYSTEM`."""
    text = join_texts(_texts(turn))
    return Turn("user", (TextBlock(INLINE_SYSTEM.format(text)),) if text else ())


def join_texts(texts: Iterable[str]) -> str:
    """Return the texts as one, with a blank line between two texts unless one of them has a line
    break there. Blank texts are left out.
    """
    joined = ""
    for text in texts:
        if text.strip():
            parted = not joined or joined.endswith("\n") or text.startswith("\n")
            joined += text if parted else f"\n\n{text}"
    return joined


def _write_assistant(blocks: Sequence[Block], settings: RequestSettings) -> list[dict[str, object]]:
    """Return a list of one message, the assistant's, with the texts, thoughts and calls among these
    blocks. Its thoughts are written where `settings.history` says; if the message has calls, in the
    field `settings.tool_turn_history`, unless that is empty.
    """
    calls = [
        {
            "id": block.id,
            "type": "function",
            "function": {"name": block.name, "arguments": block.arguments},
        }
        for block in blocks
        if isinstance(block, ToolUse)
    ]
    of_tool_turns = settings.tool_turn_history if calls else ""
    field = of_tool_turns or settings.history
    texts, thoughts = list[str](), list[str]()
    for block in blocks:
        if isinstance(block, TextBlock):
            texts.append(block.text)
        elif isinstance(block, ThinkingBlock):
            thoughts.append(block.text)
            if field == "tags" and block.text.strip():
                texts.append(f"<think>{block.text}</think>")
    message: dict[str, object] = {"role": "assistant", "content": join_texts(texts)}
    thought = join_texts(thoughts)
    if field not in ("tags", "drop") and (thought or of_tool_turns):
        message[field] = thought
    if calls:
        message["tool_calls"] = calls
    return [message]


def _write_user(blocks: Sequence[Block], settings: RequestSettings) -> list[dict[str, object]]:
    """Return the user messages and tool messages for a user turn, in the order of its blocks; with
    the setting `tools-first` the results come first. Images and sounds of tool results are put into
    the user message that follows the results. A turn without content gives one user message without
    text.
    """
    links = settings.image_links
    if settings.order == "tools-first":
        blocks = sorted(blocks, key=lambda block: not isinstance(block, ToolResult))
    messages, parts, waiting = list[dict[str, object]](), list[Sendable](), list[Sendable]()
    for block in blocks:
        if isinstance(block, ToolResult):
            messages += _user_message(parts)
            parts, content = [], [*sendable_parts(block.content, links)]
            messages.append(_tool_message(block, content))
            for part in content:
                if name := NAMES.get(type(part)):
                    waiting += [TextBlock(ABOVE.format(name, block.tool_use_id)), part]
        else:
            sent = (block,) if isinstance(block, TextBlock) else sendable_parts((block,), links)
            parts += [*waiting, *sent]
            waiting = []
    messages += _user_message([*parts, *waiting])
    return messages or [{"role": "user", "content": ""}]


def _tool_message(block: ToolResult, parts: Iterable[Sendable]) -> dict[str, object]:
    """Return the tool message for a result. `parts`: the parts of the result's content."""
    texts = [
        part.text if isinstance(part, TextBlock) else BELOW.format(NAMES[type(part)])
        for part in parts
    ]
    content = join_texts(texts) or NO_OUTPUT
    return {
        "role": "tool",
        "tool_call_id": block.tool_use_id,
        "content": f"{TOOL_ERROR}\n{content}" if block.is_error else content,
    }


def _user_message(parts: Iterable[Sendable]) -> list[dict[str, object]]:
    """Return a list of one user message with these parts; an empty list if they are only blanks."""
    parts = [part for part in parts if not isinstance(part, TextBlock) or part.text.strip()]
    if not all(isinstance(part, TextBlock) for part in parts):
        return [{"role": "user", "content": [part_of(part) for part in parts]}]
    text = join_texts(part.text for part in parts if isinstance(part, TextBlock))
    return [{"role": "user", "content": text}] if text else []
