"""Asking a model to think: an instruction in the system turn of a chat completion, for models that
do not think by themselves.
"""

from collections.abc import Mapping

TAG = "<thinking>"
_ASKS = (
    "Before you answer, think step by step inside <thinking> and </thinking> tags{limit}. "
    "Close the tag, then write the answer outside of the tags."
)
_SWITCHES = ("enable_thinking", "thinking", "think", "reasoning")
_LIMIT = ", in at most about {budget} tokens"


def add(body: Mapping[str, object], budget: int | None) -> dict[str, object] | None:
    """Return the request with the instruction at the end of its system turn; None when a system
    turn speaks of the tags already.
    """
    messages = body.get("messages")
    if not isinstance(messages, list) or any(_speaks_of_it(message) for message in messages):
        return None
    words = _ASKS.format(limit=_LIMIT.format(budget=budget) if budget else "")
    first = messages[0] if messages else None
    if (
        isinstance(first, dict)
        and first.get("role") == "system"
        and isinstance(first.get("content"), str)
    ):
        turns = [{**first, "content": f"{first['content']}\n\n{words}"}, *messages[1:]]
    else:
        turns = [{"role": "system", "content": words}, *messages]
    return {**body, "messages": turns}


def _speaks_of_it(message: object) -> bool:
    return (
        isinstance(message, dict)
        and message.get("role") == "system"
        and TAG in str(message.get("content"))
    )


def asks_for_thinking(body: Mapping[str, object]) -> bool:
    """Tell whether a request asks the model to think, by any of the switches that servers know."""
    inner = body.get("chat_template_kwargs")
    fields = {**body, **(inner if isinstance(inner, dict) else {})}
    thinking, reasoning = fields.get("thinking"), fields.get("reasoning")
    return (
        any(fields.get(name) is True for name in _SWITCHES)
        or fields.get("reasoning_effort") not in (None, "none")
        or fields.get("thinking_mode") == "enabled"
        or (isinstance(thinking, dict) and thinking.get("type") in ("enabled", "adaptive"))
        or (isinstance(reasoning, dict) and reasoning.get("effort") != "none")
    )
