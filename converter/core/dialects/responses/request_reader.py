"""Reader of a Responses request: `read` returns the conversation, and a `ResponseContext` with all
that the encoder of the response has to know of the request. `items` reads the input, `tools` the
tools.

Fields that only OpenAI's servers use (`include`, `store`, `client_metadata`, `prompt_cache_key`,
`service_tier`, `text.verbosity`) are dropped without a note to the user, because Codex sends them
with every request and chat servers refuse them. A field whose loss a client would notice is left
out, and a note to the user names it; or the request is refused.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from converter.core.dialects.dialect import TurnOf, read_anew
from converter.core.dialects.responses import compaction
from converter.core.dialects.responses.items import OFFERING, Items, kind_of
from converter.core.dialects.responses.tools import Toolbox
from converter.core.dialects.server_fields import SAMPLING, SERVER_FIELDS, names_in
from converter.core.model.conversation import (
    Conversation,
    RequestError,
    Sampling,
    TextBlock,
    ThinkingSwitch,
    Tool,
    ToolChoice,
    ToolChoiceMode,
    Turn,
)
from converter.core.wire.checked import Fields


@dataclass(frozen=True, slots=True)
class ResponseContext:
    """Facts of a Responses request that the encoder of its response needs."""

    toolbox: Toolbox = field(default_factory=Toolbox)
    """The request's tools. With it the encoder turns the model's call of a function into a call of
    the client's tool.
    """
    echoed_fields: Mapping[str, object] = field(default_factory=dict)
    """Fields that the response repeats from the request, such as `tools`: name -> value."""
    wants_encrypted: bool = False
    """True if the client wants each thought also as `encrypted_content`, to send it back later."""
    is_codex: bool = False
    """True if the client is Codex. If a content filter ends a reply, Codex gets a failed response,
    because after an incomplete one it would repeat the request 5 times.
    """
    is_compaction: bool = False
    """True if the client requests a compaction: the text of the reply then becomes one item, with
    the summary of the conversation.
    """
    repeated_messages: tuple[dict[str, object], ...] | None = None
    """The user's messages, which come before the summary in the answer of `/responses/compact`;
    None for any other request.
    """
    keep_response: Callable[[dict[str, object]], None] = lambda _: None
    """Keeps the response for later requests, unless it failed or the request says `store: false`.
    It is called with the whole response, before the last event is sent.
    """


ECHOED: Mapping[str, object] = {
    "instructions": None,
    "max_output_tokens": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "prompt_cache_key": None,
    "safety_identifier": None,
    "service_tier": None,
    "temperature": None,
    "tool_choice": "auto",
    "tools": [],
    "top_p": None,
    "truncation": "disabled",
    "user": None,
}
"""Field that a response repeats from its request -> its value if the request lacks the field."""


def echoed_fields(request: Fields) -> dict[str, object]:
    """Return the fields that a response repeats from this request, with their default values where
    the request lacks them.
    """
    values = request.values
    sent = {name: value for name, value in values.items() if value is not None}
    fields = {name: sent.get(name, default) for name, default in ECHOED.items()}
    return {
        **fields,
        "reasoning": {"effort": None, "summary": None, **request.within("reasoning").values},
        "store": values.get("store") is not False,
        "text": {"format": {"type": "text"}, **request.within("text").values},
    }


UNNOTED_FIELDS = names_in("""
    access_programs client_metadata context_management include max_tool_calls metadata moderation
    prompt_cache_key prompt_cache_options prompt_cache_retention safety_identifier service_tier
    store stream_options
""")
"""Fields of the API that mean nothing to a local server. They are dropped without a note to the
user.
"""
_MEMORY_FIELDS = frozenset({"conversation", "input", "previous_response_id"})
"""Fields that `input_items` and `state.py` read, so that no note to the user lists them as left
out.
"""
_SAME_EFFORTS = ("low", "medium", "high", "xhigh", "max", "ultra")
"""Values of `reasoning.effort` that become the conversation's effort unchanged."""
EFFORTS = {"minimal": "low", **{name: name for name in _SAME_EFFORTS}}
"""`reasoning.effort` of a request -> effort of the conversation."""
CHOICES: dict[str, ToolChoiceMode] = {"auto": "auto", "none": "none", "required": "required"}
"""`tool_choice` of a request, or the `mode` in it -> mode of the conversation's tool choice."""
NO_BACKGROUND = "Background mode is not supported: this server keeps no queue of responses"
"""The error's message for a request with `background: true`."""
NO_TEMPLATES = "Prompt templates are kept by OpenAI: this server has none"
"""The error's message for a request with `prompt`, which refers to a prompt template."""
_SWITCHES = {
    "none": ThinkingSwitch("disabled"),
    **dict.fromkeys(EFFORTS, ThinkingSwitch("adaptive")),
}
"""`reasoning.effort` of a request -> whether the model shall think. `adaptive`: the model itself
decides.
"""
_CODEX_FIELD = "client_metadata"
"""A field by which Codex is recognised: Codex 0.169 always sends it, and no other client that was
tried does.
"""


def read(
    body: object, items: Iterable[object] | None = None, turn_of: TurnOf = read_anew
) -> tuple[Conversation, ResponseContext]:
    """Return the request's conversation, and the facts that the encoder of its response needs.
    Raises RequestError if the request breaks the format or needs what the addon lacks.

    Arguments:
        body: the request's parsed JSON.
        items: the items of the whole conversation, with its kept history; None if there is no
            memory. Then only the request's own items are read.
        turn_of: returns the turn of an item: it reads the item, or returns the turn that was read
            for the same item in the conversation's previous request.
    """
    request = Fields(body)
    refuse_unsupported(request)
    own = input_items(request) if items is None else items
    entries = [Fields(item, f"input.{index}") for index, item in enumerate(own)]
    toolbox = Toolbox()
    for offering in (request, *(entry for entry in entries if kind_of(entry) in OFFERING)):
        for tool in offering.children("tools"):
            toolbox.offer(tool)
    reading = Items(toolbox, items is not None or not _has_history(request), turn_of)
    for entry in entries:
        reading.add(entry)
    notes: list[str] = []
    form = request.within("text").within("format")
    choice, toolbox.tools = _choice(request, toolbox, notes)
    if is_compaction := compaction.TRIGGER in map(kind_of, entries):
        reading.turns.append(Turn("user", (TextBlock(compaction.PROMPT),)))
        choice, toolbox.tools = None, []
    conversation = Conversation(
        model=request.required("model", str),
        turns=tuple(reading.turns),
        tools=tuple(toolbox.tools),
        tool_choice=choice,
        system=tuple(text for text in [request.optional("instructions", str)] if text),
        max_tokens=request.optional("max_output_tokens", int),
        parallel_tool_use=request.optional("parallel_tool_calls", bool) is not False,
        sampling=Sampling(**request.read(SAMPLING)),
        stream=request.optional("stream", bool) or False,
        thinking=_SWITCHES.get(_effort(request)),
        effort=EFFORTS.get(_effort(request)),
        output_schema=form.optional("schema", dict),
        output_name=form.optional("name", str) or "",
        output_strict=form.optional("strict", bool),
        user_id=request.optional("user", str),
        extensions=_extensions(request, form),
        notes=(*notes, *_notes(request, toolbox, reading.left_out_types)),
    )
    context = ResponseContext(
        toolbox=toolbox,
        echoed_fields=echoed_fields(request),
        wants_encrypted="reasoning.encrypted_content" in (request.optional("include", list) or []),
        is_codex=_CODEX_FIELD in request.values,
        is_compaction=is_compaction,
    )
    return conversation, context


def refuse_unsupported(request: Fields) -> None:
    """Raise RequestError if a request needs background mode, or a prompt template of OpenAI. The
    addon has neither, and a client could not see in a usual answer that it is missing.
    """
    if request.optional("background", bool):
        raise request.error("background", NO_BACKGROUND)
    if request.child("prompt"):
        raise request.error("prompt", NO_TEMPLATES)


def input_items(request: Fields) -> list[object]:
    """Return the items of the request's own `input`, without any history. A string becomes one
    message of the user.
    """
    items = request.values.get("input")
    if isinstance(items, str):
        return [{"type": "message", "role": "user", "content": items}]
    if items is None and not _has_history(request):
        raise RequestError("input", "Missing required parameter: 'input'.")
    return request.optional("input", list) or []


def _has_history(request: Fields) -> bool:
    """Return True if the request refers to an earlier response or to a conversation."""
    return any(request.values.get(name) for name in ("previous_response_id", "conversation"))


def _choice(
    request: Fields, toolbox: Toolbox, notes: list[str]
) -> tuple[ToolChoice | None, list[Tool]]:
    """Return the tool choice, and the tools that it allows. The choice of a tool that is not
    offered becomes `auto`, and `notes` gets a line about it for the user.
    """
    value = request.value("tool_choice")
    if value is None:
        return None, toolbox.tools
    if isinstance(value, str):
        return ToolChoice(request.row("tool_choice", CHOICES)), toolbox.tools
    fields = Fields(value, "tool_choice")
    if fields.required("type", str) == "allowed_tools":
        allowed = {_function_name(tool, toolbox) for tool in fields.children("tools")}
        mode = CHOICES[fields.one_of("mode", ("auto", "required"))]
        return ToolChoice(mode), [tool for tool in toolbox.tools if tool.name in allowed]
    name = _function_name(fields, toolbox)
    if any(tool.name == name for tool in toolbox.tools):
        return ToolChoice("named", name), toolbox.tools
    notes.append(f"tool_choice {name!r} left out: no such tool is offered, the model chooses")
    return ToolChoice("auto"), toolbox.tools


def _function_name(tool: Fields, toolbox: Toolbox) -> str:
    """Return the name of the function for a tool to which `tool_choice` refers. `tool`: the object
    in `tool_choice` with the tool's type or name.
    """
    name = tool.optional("name", str) or tool.optional("type", str) or ""
    return toolbox.function_name(name, tool.optional("namespace", str) or "")


def _effort(request: Fields) -> str:
    """Return the request's `reasoning.effort`; empty if it has none."""
    return request.within("reasoning").optional("effort", str) or ""


def _extensions(request: Fields, form: Fields) -> dict[str, object]:
    """Return the conversation's `extensions`, the fields that `request_writer` adds to those that
    it writes itself: fields of local servers, stop strings, and the format `json_object`. `form`:
    the request's `text.format`.
    """
    fields = {name: value for name, value in request.values.items() if name in SERVER_FIELDS}
    stop = {"stop": request.value("stop")} if request.value("stop") else {}
    if form.values.get("type") == "json_object":
        return {**fields, **stop, "response_format": {"type": "json_object"}}
    return fields | stop


def _notes(request: Fields, toolbox: Toolbox, item_types: set[str]) -> Iterable[str]:
    """Yield the notes to the user about fields, tools and items that were left out. `item_types`:
    the types of items, and of their parts, that were left out.
    """
    truncation = request.value("truncation")
    read_fields = request.requested | _MEMORY_FIELDS | UNNOTED_FIELDS | SERVER_FIELDS
    set_fields = {
        name for name, value in request.values.items() if value not in (None, False, [], {})
    }
    rows = (
        ("fields left out, which a chat server does not know", set_fields - read_fields),
        ("tools left out, which a chat server does not know", set(toolbox.left_out_types)),
        ("items left out, which only OpenAI's servers can use", item_types),
    )
    for note, names in rows:
        if names:
            yield f"{note}: {', '.join(sorted(names))}"
    if truncation == "auto":
        yield "truncation left out: a history too long is answered with an error"
    effort = _effort(request)
    if effort and effort not in _SWITCHES:
        yield f"reasoning.effort left out: {effort!r} is not known"
