"""The list of models, in the words of the Anthropic API."""

import datetime

from converter.dialects.error_words import string_of
from converter.servers import model_facts
from converter.wire import json_text

_UNKNOWN = 0  # the API wants a date; of a model that names none: the epoch


def write(body: bytes) -> dict[str, object] | None:
    """Return the list (or the one model) that a chat-completions server told of; None for a body of
    another shape.
    """
    body_read = json_text.read_or_none(body)
    if (
        not isinstance(body_read, dict)
        or "has_more" in body_read
        or body_read.get("type") == "model"
    ):
        return None  # no list, or in these words already
    if isinstance(listed := body_read.get("data"), list):
        models = [_model(entry) for entry in listed if isinstance(entry, dict) and _name(entry)]
        ids = [model["id"] for model in models] or [None]
        return {"data": models, "has_more": False, "first_id": ids[0], "last_id": ids[-1]}
    return _model(body_read) if _name(body_read) else None


def _name(entry: dict[str, object]) -> str:
    return string_of(entry.get("id"))


def _date(created: object) -> str:
    try:
        seconds = created if isinstance(created, int) else _UNKNOWN
        moment = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    except (ValueError, OverflowError, OSError):
        moment = datetime.datetime.fromtimestamp(_UNKNOWN, datetime.UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _model(entry: dict[str, object]) -> dict[str, object]:
    facts = model_facts.of_entry(entry)
    limits = {"max_input_tokens": facts.window, "max_tokens": facts.output}
    return {
        "type": "model",
        "id": entry["id"],
        "display_name": entry["id"],
        "created_at": _date(entry.get("created")),
        "lifecycle": "active",
        **{name: limit for name, limit in limits.items() if limit},
    }
