"""The fields of its request that a response repeats."""

from collections.abc import Mapping

from converter.wire.checked import Fields

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
    said = {name: values.get(name, default) for name, default in ECHOED.items()}
    said = {name: ECHOED[name] if value is None else value for name, value in said.items()}
    reasoning = request.child("reasoning") or Fields({})
    text = request.child("text") or Fields({})
    return {
        **said,
        "reasoning": {"effort": None, "summary": None, **reasoning.values},
        "store": values.get("store") is not False,
        "text": {"format": {"type": "text"}, **text.values},
    }
