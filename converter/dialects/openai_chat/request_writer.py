"""A request of the OpenAI chat-completions API, written for one kind of server."""

from collections.abc import Iterator
from dataclasses import replace

from converter.dialects.openai_chat.messages import RequestSettings, write_messages
from converter.model.conversation import (
    Block,
    Conversation,
    Document,
    Image,
    Stored,
    Tool,
    ToolChoice,
    ToolResult,
)
from converter.servers.profiles import Server, system_switch, thinking_fields

type Body = dict[str, object]

OUTPUT_NAME = "output"
"""Name of an output schema that has none: the format wants one, the Messages API has none."""
# Fields nobody misses: their loss needs no line in a log.
UNMISSED = frozenset({"user", "stream_options"})


def write(conversation: Conversation, settings: RequestSettings) -> tuple[Body, tuple[str, ...]]:
    """Return the body of a chat-completions request, and notes on its omissions, a line each.

    Nothing the server's row leaves out is in it, unless the client itself asks for it in the
    server's words, and no signature ever is. Never raises for a conversation that a reader made.
    """
    fields, leaves_out = _fields(conversation, settings), settings.server.leaves_out
    body = {name: value for name, value in fields.items() if name not in leaves_out}
    for name, value in conversation.extensions.items():
        known = body.get(name)
        body[name] = known | value if isinstance(known, dict) and isinstance(value, dict) else value
    return body, _notes(conversation, settings, fields)


def _notes(conversation: Conversation, settings: RequestSettings, fields: Body) -> tuple[str, ...]:
    dropped = sorted(fields.keys() & (settings.server.leaves_out - UNMISSED))
    lines = [f"{name} left out: {settings.server.name} does not take it" for name in dropped]
    unreadable = sum(1 for block in _all_blocks(conversation) if _is_unreadable(block))
    if unreadable:
        lines.append(f"{unreadable} attachment(s) left out: no text, or not sent with the request")
    return tuple(lines)


def _all_blocks(conversation: Conversation) -> Iterator[Block]:
    for turn in conversation.turns:
        for block in turn.blocks:
            yield block
            if isinstance(block, ToolResult):
                yield from block.content


def _is_unreadable(block: Block) -> bool:
    match block:
        case Image(Stored()):
            return True
        case Document(content):
            return not isinstance(content, tuple)
    return False


def _fields(conversation: Conversation, settings: RequestSettings) -> Body:
    switch = system_switch(settings.server, conversation.thinking, conversation.model)
    if switch and not "".join(conversation.system[:1]).startswith(switch):
        conversation = replace(conversation, system=(switch, *conversation.system))
    messages = write_messages(conversation, settings)
    body: Body = {"model": conversation.model, "messages": messages}
    for fields in (
        _limits(conversation),
        _tools(conversation, settings.server),
        _output(conversation),
        _prefill(messages, settings.server),
        thinking_fields(
            settings.server,
            conversation.thinking,
            conversation.effort,
            conversation.model,
            settings.server_parses,
        ),
    ):
        body |= fields
    return body


def _limits(conversation: Conversation) -> Body:
    sampling = conversation.sampling
    fields: Body = {
        # The Messages API takes 0, to fill its prompt cache; vLLM and SGLang want at least one
        # token.
        "max_tokens": None if conversation.max_tokens is None else max(1, conversation.max_tokens),
        "stop": list(conversation.stop_sequences) or None,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "top_k": sampling.top_k,
        "user": conversation.user_id,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _tools(conversation: Conversation, server: Server) -> Body:
    choice = conversation.tool_choice or ToolChoice("auto")
    tools = _offered(conversation.tools, choice, server)
    if not tools:
        return {}  # vLLM and OpenAI refuse a tool_choice without tools
    body: Body = {"tools": [_tool(tool) for tool in tools]}
    if conversation.tool_choice is not None:
        body["tool_choice"] = _choice(choice, server)
    if not conversation.parallel_tool_use:
        body["parallel_tool_calls"] = False
    return body


def _offered(tools: tuple[Tool, ...], choice: ToolChoice, server: Server) -> tuple[Tool, ...]:
    """The tools to offer: where the choice cannot be said, only the allowed ones."""
    if choice.mode == "none" and "tool_choice" in server.leaves_out:
        return ()
    if choice.mode == "named" and (
        not server.named_tool_choice or "tool_choice" in server.leaves_out
    ):
        return tuple(tool for tool in tools if tool.name == choice.name)
    return tools


def _tool(tool: Tool) -> Body:
    described = {"description": tool.description} if tool.description else {}
    strict = {"strict": True} if tool.strict else {}
    return {
        "type": "function",
        "function": {"name": tool.name, **described, "parameters": tool.input_schema, **strict},
    }


def _choice(choice: ToolChoice, server: Server) -> object:
    if choice.mode != "named":
        return choice.mode
    if not server.named_tool_choice:
        return "required"
    return {"type": "function", "function": {"name": choice.name}}


def _output(conversation: Conversation) -> Body:
    body: Body = {}
    if conversation.stream:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    if conversation.output_schema is not None:
        strict = conversation.output_strict
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {
                "name": conversation.output_name or OUTPUT_NAME,
                "schema": conversation.output_schema,
                **({} if strict is None else {"strict": strict}),
            },
        }
    return body


def _prefill(messages: list[Body], server: Server) -> Body:
    last = messages[-1] if messages else {}
    continued = last.get("role") == "assistant" and "tool_calls" not in last
    return dict(server.prefill) if continued else {}
