"""The end of a response: its status, and what it cost."""

from collections.abc import Mapping

from converter.dialects.responses.errors import FINAL_CODE
from converter.model.events import Finish, Usage

FILTERED = "the server's content filter stopped the reply"
INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}
"""Finish reason -> why a response is incomplete; any other reason completes it."""


def outcome(finish: Finish, repeats: bool = False) -> dict[str, object]:
    """Return the status, and the reason when the response is not complete. `repeats`: of the
    request's client, as in `ResponseContext`.
    """
    reason = INCOMPLETE.get(finish.reason)
    if reason == "content_filter" and repeats:
        return {"status": "failed", "error": {"code": FINAL_CODE, "message": FILTERED}}
    if reason:
        return {"status": "incomplete", "incomplete_details": {"reason": reason}}
    return {"status": "completed"}


def counts(usage: Usage | None, thought: int, said: int) -> Mapping[str, object] | None:
    """Return the tokens; None when the server did not count. `thought` and `said`: characters that
    went out as thinking, and as anything else.

    Codex 0.169 fails the turn when `total_tokens` is missing, and compacts by it.
    """
    if usage is None:
        return None
    return {
        "input_tokens": usage.input,
        "input_tokens_details": {
            "cached_tokens": usage.cached or 0,
            "cache_write_tokens": usage.created or 0,
        },
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": _thinking(usage, thought, said)},
        "total_tokens": usage.input + usage.output,
    }


def _thinking(usage: Usage, thought: int, said: int) -> int:
    """Return the server's count, else the share of the characters: a server that does not take the
    thinking out itself does not count it.
    """
    if usage.thinking or not thought:
        return min(usage.thinking or 0, usage.output)
    return round(usage.output * thought / (thought + said))
