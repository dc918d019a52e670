"""The head of a message: `message_start`."""

from converter.dialects.anthropic.decoder import NAME
from converter.dialects.dialect import ReplyContext
from converter.model.events import Start, own_fields


def reply_name(event: Start, context: ReplyContext) -> str:
    """Return the reply's own name, without what dialects put before it; else the exchange's, under
    which a thread keeps its replies, because servers repeat theirs.
    """
    return ("" if context.own else event.bare_id) or context.id


def message_start(event: Start, context: ReplyContext) -> dict[str, object]:
    """Return the event that begins a message."""
    counts = _counted((own_fields(event.own, NAME) or {}).get("usage"))
    message: dict[str, object] = {
        "id": f"msg_{reply_name(event, context)}",
        "type": "message",
        "role": "assistant",
        # Claude Code 2.1.197 drops thoughts of a model it did not ask for
        "model": context.model or event.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0, **counts},
    }
    return {"type": "message_start", "message": message}


def _counted(usage: object) -> dict[str, object]:
    """Return what a server's own message counts at its start."""
    counts = usage.items() if isinstance(usage, dict) else []
    return {
        name: count
        for name, count in counts
        if name.endswith("input_tokens") and type(count) is int
    }
