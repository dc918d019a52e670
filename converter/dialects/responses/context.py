"""The facts that a response takes from its request, and the response as it begins."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from converter.dialects.responses.tools import Toolbox
from converter.wire.checked import Fields

type Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class ResponseContext:
    """Facts that a response takes from its request. `id`: of the response and of its items;
    `created_at`: in seconds since 1970. `shown`: the client wants to see thinking; `encrypted`: as
    opaque content, too. `toolbox` maps the request's tools back, `echo` holds the fields that the
    response repeats. `keep` gets the whole response, before its last event. `repeats`: the client
    is Codex, which asks 6 times when a response is incomplete because of a content filter, but not
    when it failed for good. `compacts`: the answer is one item, the summary of the conversation;
    `repeated`: behind the user's messages, which have no ids yet.
    """

    model: str = ""
    id: str = "0"
    created_at: int = 0
    shown: bool = True
    toolbox: Toolbox = field(default_factory=Toolbox)
    echo: Mapping[str, object] = field(default_factory=dict)
    encrypted: bool = False
    repeats: bool = False
    compacts: bool = False
    repeated: tuple[Json, ...] | None = None
    keep: Callable[[Json], None] = lambda _: None


def begun(context: ResponseContext, model: str) -> Json:
    """Return the response of the first events. The request's long fields wait for the last event:
    Codex's tools alone are 39 kB.
    """
    return {
        "id": f"resp_{context.id}",
        "object": "response",
        "created_at": context.created_at,
        "status": "in_progress",
        "background": False,
        "error": None,
        "incomplete_details": None,
        "model": context.model or model,
        "output": [],
        "parallel_tool_calls": context.echo.get("parallel_tool_calls", True),
        "tool_choice": context.echo.get("tool_choice", "auto"),
        "tools": [],
        "usage": None,
    }


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
"""Fields that a response repeats from its request, with the values they have otherwise."""


def echo(request: Fields) -> dict[str, object]:
    """Return the fields of a response that its request decides."""
    values = request.values
    fields = {name: values.get(name, default) for name, default in ECHOED.items()}
    fields = {name: ECHOED[name] if value is None else value for name, value in fields.items()}
    reasoning = request.child("reasoning") or Fields({})
    text = request.child("text") or Fields({})
    return {
        **fields,
        "reasoning": {"effort": None, "summary": None, **reasoning.values},
        "store": values.get("store") is not False,
        "text": {"format": {"type": "text"}, **text.values},
    }
