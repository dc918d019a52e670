"""What a message says at its end: why it stopped, what it cost, and, for the log, what had no place in it."""

from converter.events import Finish, Opaque, Usage

STOP_REASONS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "content_filter": "refusal",
    "pause_turn": "pause_turn",  # a server's own, from its own Messages endpoint
}
_CALLS = ("tool_calls", "function_call")
_SILENT = {"role", "logprobs", "stop_reason", "matched_stop", "token_ids", "annotations"}
"""Fields of chat completions that a message says otherwise, or that nobody reads."""


def stop(finish: Finish, called: bool) -> tuple[str, str | None]:
    """Return stop_reason and stop_sequence. Length wins, then a call, then a matched stop string, as on vLLM's own endpoint."""
    if finish.reason == "length":
        return "max_tokens", None
    if called or finish.reason in _CALLS:
        return ("tool_use" if called else "end_turn"), None  # a client that is told of a call waits for one
    if finish.stop_sequence is not None:
        return "stop_sequence", finish.stop_sequence
    return STOP_REASONS.get(finish.reason, "end_turn"), None


def counts(usage: Usage, thinking: int, said: int) -> dict[str, object]:
    """Return the tokens. `thinking` and `said`: characters that went out as thinking, and as anything else.

    The API counts cached and created tokens apart from the input, chat completions within it.
    """
    apart = {"cache_read_input_tokens": usage.cached, "cache_creation_input_tokens": usage.created}
    told = {name: count for name, count in apart.items() if count is not None}
    tokens: dict[str, object] = {"input_tokens": max(0, usage.input - sum(told.values())), **told, "output_tokens": usage.output}
    if thinking:
        tokens["output_tokens_details"] = {"thinking_tokens": _thinking(usage, thinking / (thinking + said))}
    return tokens


def _thinking(usage: Usage, share: float) -> int:
    """The server's count, else the share of the characters: no server counts thinking that it does not take out itself."""
    return min(usage.thinking, usage.output) if usage.thinking else round(usage.output * share)


def left_out(event: Opaque) -> set[str]:
    """Return the names of fields that say something and have no place in a message."""
    fields = {name: value for name, value in {**event.outer, **event.inner}.items() if name not in _SILENT and value}
    if isinstance(parts := fields.get("content"), list) and all(part.get("type") in ("text", "thinking") for part in parts):
        del fields["content"]
    return set(fields)
