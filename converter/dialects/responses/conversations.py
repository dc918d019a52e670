"""Conversations that clients leave with the server: what the endpoints show of them."""

import json

from converter.dialects.responses.item_parts import with_id
from converter.dialects.responses.output_items import Json
from converter.dialects.responses.state import no_conversation
from converter.memory import Memory
from converter.wire import json_text
from converter.wire.checked import Fields


def create(memory: Memory, body: object, key: str, created_at: int) -> Json:
    """Begin a conversation of this id, with the items that the request brings."""
    request = Fields(body)
    own = [
        with_id(item, f"{key}_in{at}")
        for at, item in enumerate(request.optional("items", list) or [])
    ]
    metadata = request.optional("metadata", dict) or {}
    conversation = {
        "id": key,
        "object": "conversation",
        "created_at": created_at,
        "metadata": metadata,
    }
    memory.keep(key, json_text.write({"conversation": conversation, "input": own}), names=[key])
    return conversation


def retrieve(memory: Memory, key: str) -> Json:
    """Return a conversation that was created here. Raises UnknownError."""
    value = memory.get(key)
    conversation = json.loads(value).get("conversation") if value else None
    if not isinstance(conversation, dict):
        raise no_conversation(key)
    return conversation


def delete(memory: Memory, key: str) -> Json:
    """Drop a conversation's beginning, so that it cannot go on. Raises UnknownError."""
    if not memory.forget(key):
        raise no_conversation(key)
    return {"id": key, "object": "conversation.deleted", "deleted": True}
