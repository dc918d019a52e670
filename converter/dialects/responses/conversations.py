"""Conversations that clients leave with the server: shown, added to, and an item taken out again,
as the sessions of the Agents SDK ask for.
"""

from collections.abc import Iterable

from converter.dialects.responses.item_parts import with_id
from converter.dialects.responses.output_items import Json
from converter.dialects.responses.state import (
    LINE,
    REMOVED,
    UnknownError,
    items_of,
    names_of,
    no_conversation,
    read,
)
from converter.model.memory import Memory
from converter.wire import json_text
from converter.wire.checked import Fields


def create(memory: Memory, body: object, key: str, created_at: int) -> Json:
    """Begin a conversation of this id, with the items that the request brings."""
    own = _own(body, key)
    metadata = Fields(body).optional("metadata", dict) or {}
    conversation = {
        "id": key,
        "object": "conversation",
        "created_at": created_at,
        "metadata": metadata,
    }
    value = json_text.write({"conversation": conversation, "input": own})
    memory.keep(key, value, names=[LINE + key, *names_of(own)])
    return conversation


def retrieve(memory: Memory, key: str) -> Json:
    """Return a conversation that was created here. Raises UnknownError."""
    value = memory.get(key)
    conversation = read(value).get("conversation") if value else None
    if not isinstance(conversation, dict):
        raise no_conversation(key)
    return conversation


def delete(memory: Memory, key: str) -> Json:
    """Drop a conversation's beginning, so that it cannot go on. Raises UnknownError."""
    retrieve(memory, key)
    memory.forget(key)
    return {"id": key, "object": "conversation.deleted", "deleted": True}


def items(memory: Memory, key: str) -> list[Json]:
    """Return all that was said, the oldest first. Raises UnknownError."""
    history = memory.history(memory.find(LINE + key))
    if not history:
        raise no_conversation(key)
    return [item for item in items_of(history) if isinstance(item, dict)]


def item(memory: Memory, key: str, name: str) -> Json:
    """Return one item. Raises UnknownError."""
    for kept in items(memory, key):
        if kept.get("id") == name:
            return kept
    raise UnknownError("", f"Item with id '{name}' not found.")


def add(memory: Memory, key: str, body: object, name: str) -> list[Json]:
    """Let the conversation go on with the items that the request brings; return them. `name`: an
    id that no other request has. Raises UnknownError.
    """
    retrieve(memory, key)
    own = _own(body, f"{key}_{name}")
    _append(memory, key, f"{key}_{name}", {"input": own}, names_of(own))
    return own


def remove(memory: Memory, key: str, name: str, entry: str) -> Json:
    """Take an item out, and return the conversation. `entry`: an id that no other request has.
    Raises UnknownError.
    """
    item(memory, key, name)
    _append(memory, key, f"{key}_{entry}", {REMOVED: name})
    return retrieve(memory, key)


def _append(memory: Memory, key: str, entry: str, value: Json, names: Iterable[str] = ()) -> None:
    memory.keep(entry, json_text.write(value), key, names, LINE + key)


def _own(body: object, name: str) -> list[Json]:
    given = Fields(body).optional("items", list) or []
    own = [with_id(item, f"{name}_in{at}") for at, item in enumerate(given)]
    return [item for item in own if isinstance(item, dict)]
