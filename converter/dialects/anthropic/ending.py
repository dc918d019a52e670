"""The end of a message: why it stopped, and what it cost."""

from dataclasses import dataclass, field

from converter.model.events import Finish, Usage

STOP_REASONS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "content_filter": "refusal",
    "pause_turn": "pause_turn",  # a server's own, from its own Messages endpoint
}
_CALLS = ("tool_calls", "function_call")


@dataclass(slots=True)
class Ending:
    """The end of a message, as far as it is known."""

    finish: Finish | None = None
    usage: Usage = field(default_factory=lambda: Usage(0, 0))

    @property
    def cuts_calls(self) -> bool:
        """Tell whether a call without its end was cut off, by a limit or a stop string, and not
        written wrongly by the model: then it must not be made whole.
        """
        return self.finish is not None and self.finish.reason in ("length", "stop")

    def delta(self, called: bool, thought: int, said: int) -> dict[str, object]:
        """Return the `message_delta`. `thought`, `said`: characters that went out so."""
        reason, stop_sequence = stop(self.finish or Finish("stop"), called)
        delta = {"stop_reason": reason, "stop_sequence": stop_sequence}
        return {
            "type": "message_delta",
            "delta": delta,
            "usage": counts(self.usage, thought, said),
        }


def stop(finish: Finish, called: bool) -> tuple[str, str | None]:
    """Return stop_reason and stop_sequence. Length wins, then a call, then a matched stop string,
    as on vLLM's own endpoint.
    """
    if finish.reason == "length":
        return "max_tokens", None
    if called or finish.reason in _CALLS:
        # a client that is told of a call waits for one
        return "tool_use" if called else "end_turn", None
    if finish.stop_sequence is not None:
        return "stop_sequence", finish.stop_sequence or None
    return STOP_REASONS.get(finish.reason, "end_turn"), None


def counts(usage: Usage, thinking: int, said: int) -> dict[str, object]:
    """Return the tokens. `thinking` and `said`: characters that went out as thinking, and as
    anything else.

    The API counts cached and created tokens apart from the input, chat completions within it.
    """
    apart = {"cache_read_input_tokens": usage.cached, "cache_creation_input_tokens": usage.created}
    told = {name: count for name, count in apart.items() if count is not None}
    tokens: dict[str, object] = {
        "input_tokens": max(0, usage.input - sum(told.values())),
        **told,
        "output_tokens": usage.output,
    }
    if thinking:
        tokens["output_tokens_details"] = {
            "thinking_tokens": _thinking(usage, thinking / (thinking + said))
        }
    return tokens


def _thinking(usage: Usage, share: float) -> int:
    """The server's count, else the share of the characters: no server counts thinking that it does
    not take out itself.
    """
    return min(usage.thinking, usage.output) if usage.thinking else round(usage.output * share)
