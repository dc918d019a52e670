"""A request of the chat-completions API, read.

Tolerant where a server would be: a field of a local server, of a newer API or of nobody's is kept
among the extensions, and `request_writer` writes it back. Raises RequestError only for requests
that no server can answer: a body that is no object, messages that are none, a value of the wrong
type.
"""

from collections.abc import Mapping

from converter.dialects.error_words import dict_of
from converter.dialects.openai_chat.message_reader import Messages
from converter.dialects.openai_chat.request_writer import OUTPUT_NAME
from converter.dialects.openai_parts import CUSTOM_SCHEMA, function_of, split_head
from converter.dialects.server_fields import BUDGET_FIELDS, sampling_of
from converter.model.conversation import (
    Conversation,
    ThinkingSwitch,
    Tool,
    ToolChoice,
    ToolChoiceMode,
    Turn,
)
from converter.wire.checked import Fields

CHOICES: dict[str, ToolChoiceMode] = {
    "auto": "auto",
    "none": "none",
    "required": "required",
    "any": "required",  # Mistral's word
}
USAGE_ASKED = {"include_usage": True}
_READ = frozenset(
    {
        "model",
        "messages",
        "max_tokens",
        "max_completion_tokens",
        "tools",
        "functions",
        "tool_choice",
        "function_call",
        "parallel_tool_calls",
        "stop",
        "temperature",
        "top_p",
        "top_k",
        "stream",
        "user",
    }
)
"""Fields that have a place in a conversation; every other one is an extension, even when the
conversation says the same.
"""
_TEMPLATE = "chat_template_kwargs"
_SWITCHES: dict[str, dict[object, bool]] = {
    "enable_thinking": {True: True, False: False},  # Qwen3, GLM, Nemotron 3, SmolLM3, Laguna
    "thinking": {True: True, False: False},  # DeepSeek V3.1, Kimi, Granite
    "thinking_mode": {"enabled": True, "disabled": False},  # MiniMax-M3
    "reasoning": {True: True, False: False},  # Cohere
}
"""Template switches of thinking and their values; see `servers/profiles.py`."""


def read(body: object) -> Conversation:
    """Return the request's conversation; `body` is its parsed JSON. Raises RequestError."""
    request = Fields(body)
    system, turns, notes = _messages(request)
    schema = _schema(request)
    name = schema.optional("name", str)
    return Conversation(
        model=request.optional("model", str) or "",
        turns=turns,
        system=system,
        max_tokens=request.optional("max_tokens", int)
        or request.optional("max_completion_tokens", int),
        tools=_tools(request),
        tool_choice=_choice(request),
        parallel_tool_use=request.optional("parallel_tool_calls", bool) is not False,
        stop_sequences=_stop(request),
        sampling=sampling_of(request),
        stream=request.optional("stream", bool) or False,
        thinking=_thinking(request),
        effort=_effort(request),
        output_schema=schema.optional("schema", dict),
        output_name="" if name in (None, OUTPUT_NAME) else name,
        output_strict=schema.optional("strict", bool),
        user_id=request.optional("user", str),
        extensions=_extensions(request, schema),
        notes=notes,
    )


def _messages(request: Fields) -> tuple[tuple[str, ...], tuple[Turn, ...], tuple[str, ...]]:
    """Return the system texts at the head, the turns after them, and the notes."""
    request.required("messages", list)
    read = Messages()
    for message in request.children("messages"):
        read.add(message)
    system, turns = split_head(read.turns)
    left_out = ", ".join(sorted(read.left_out))
    notes = (f"parts of messages left out: {left_out}",) if left_out else ()
    return system, turns, notes


def _tools(request: Fields) -> tuple[Tool, ...]:
    legacy = [function_of(function) for function in request.children("functions")]
    return (*(_tool(tool) for tool in request.children("tools")), *legacy)


def _tool(tool: Fields) -> Tool:
    if custom := tool.child("custom"):
        return Tool(
            custom.required("name", str), CUSTOM_SCHEMA, custom.optional("description", str) or ""
        )
    return function_of(tool.child("function") or tool)  # Ollama takes the flat form as well


def _choice(request: Fields) -> ToolChoice | None:
    name = "tool_choice" if "tool_choice" in request.values else "function_call"
    value = request.values.get(name)
    if value is None:
        return None
    if isinstance(value, str):
        return ToolChoice(request.row(name, CHOICES))
    fields = Fields(value, name)
    if allowed := fields.child("allowed_tools"):
        return ToolChoice("required" if allowed.values.get("mode") == "required" else "auto")
    named = fields.child("function") or fields.child("custom") or fields
    return ToolChoice("named", named.required("name", str))


def _stop(request: Fields) -> tuple[str, ...]:
    stop = request.values.get("stop")
    if isinstance(stop, str):
        return (stop,)
    return tuple(request.strings("stop"))


def _thinking(request: Fields) -> ThinkingSwitch | None:
    """Return the wish in known servers' switches; the first that says something counts."""
    template = _template(request)
    wishes = [
        values[template[name]]
        for name, values in _SWITCHES.items()
        if isinstance(template.get(name), bool | str) and template[name] in values
    ]
    if wishes:
        on = ThinkingSwitch("enabled", _budget(request))
        return on if wishes[0] else ThinkingSwitch("disabled")
    effort = _said_effort(request)
    if effort == "none":
        return ThinkingSwitch("disabled")
    return ThinkingSwitch("adaptive") if effort else None


def _effort(request: Fields) -> str | None:
    effort = _said_effort(request)
    return None if effort in ("", "none") else effort


def _said_effort(request: Fields) -> str:
    reasoning = request.values.get("reasoning")  # OpenRouter
    for place in (request.values, _template(request), reasoning):
        for name in ("reasoning_effort", "effort"):
            value = place.get(name) if isinstance(place, dict) else None
            if isinstance(value, str):
                return value
    return ""


def _budget(request: Fields) -> int | None:
    template = _template(request)
    extra = request.values.get("nvext")  # NIM
    budgets = (
        *(request.values.get(name) for name in BUDGET_FIELDS),
        template.get("thinking_budget"),
        extra.get("max_thinking_tokens") if isinstance(extra, dict) else None,
    )
    return next((value for value in budgets if type(value) is int), None)


def _template(request: Fields) -> Mapping[str, object]:
    return dict_of(request.values.get(_TEMPLATE))


def _schema(request: Fields) -> Fields:
    form = request.within("response_format")
    named = form.values.get("type") == "json_schema"
    return form.within("json_schema") if named else Fields({})


def _extensions(request: Fields, schema: Fields) -> dict[str, object]:
    names = {"response_format"} if schema.child("schema") else set()
    if request.values.get("stream_options") == USAGE_ASKED:
        names.add("stream_options")
    return {
        name: value
        for name, value in request.values.items()
        if name not in _READ and name not in names and value is not None
    }
