"""Translates a server's list of models, or its entry of one model, into the format of the
Anthropic API. `model_facts` reads the facts of an entry.
"""

from converter.core.dialects import model_facts
from converter.core.dialects.error_words import string_of
from converter.core.wire import json_text
from converter.core.wire.json_text import objects


def anthropic_models(body: bytes) -> dict[str, object] | None:
    """Return `body`, a chat-completions server's list of models or its entry of one model, in the
    format of the Anthropic API. Return None if the body has this format already, or is neither.
    """
    body_read = json_text.object_in(body)
    if "has_more" in body_read or body_read.get("type") == "model":
        return None  # already in this format
    if isinstance(listed := body_read.get("data"), list):
        models = [_model(entry) for entry in objects(listed) if string_of(entry.get("id"))]
        ids = [model["id"] for model in models] or [None]
        return {"data": models, "has_more": False, "first_id": ids[0], "last_id": ids[-1]}
    return _model(body_read) if string_of(body_read.get("id")) else None


def _model(entry: dict[str, object]) -> dict[str, object]:
    """Return an entry of a server's list of models as a model in the Anthropic API's format."""
    facts = model_facts.facts_of(entry)
    limits = {"max_input_tokens": facts.window, "max_tokens": facts.output}
    return {
        "type": "model",
        "id": entry["id"],
        "display_name": entry["id"],
        "created_at": model_facts.created_at(entry),
        "lifecycle": "active",
        **{name: limit for name, limit in limits.items() if limit},
    }
