"""Answers that need no model: kept responses and conversations, and refusals of what a
proxy has not. Clients show conversations, add to them, and take an item out again, as the sessions
of the Agents SDK do.

A WebSocket is refused with status 426: Codex 0.169 then goes on with POST at once, while 404, 405
and 5xx cost it 6.5 seconds and 400 its turn.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from urllib.parse import parse_qsl

from converter.dialects.dialect import Body, OwnRequest
from converter.dialects.error_words import list_of
from converter.dialects.responses.output_items import Json, with_id
from converter.dialects.responses.state import (
    LINE,
    REMOVED,
    UnknownError,
    items_of,
    names_of,
    no_conversation,
    read,
)
from converter.model.conversation import RequestError
from converter.model.memory import Memory
from converter.wire import json_text
from converter.wire.checked import Fields

NO_SOCKET = "This server answers over HTTP: POST the request instead of opening a WebSocket."
NO_STREAM = "This response cannot be streamed because it was not created with background=true."
NO_CANCEL = "Cannot cancel a synchronous response."
NO_SUCH = "Invalid URL ({} {})"
PAGE = 20
"""Items of a list, where a client does not say how many it wants."""
_DIGITS = 6
"""Of the number that it wants: no more are kept, and of thousands Python reads none."""


type _Row = Callable[[Memory, OwnRequest, str], Json]


def answer(asking: OwnRequest, memory: Memory) -> tuple[int, Body]:
    """Return the status and body. Raises RequestError and UnreadableError."""
    path = asking.path.partition("?")[0].rstrip("/")
    for method, pattern, row in _ROWS:
        if method == asking.method and (match := pattern.search(path)):
            return 200, row(memory, asking, match["key"])
    if path.endswith("/responses"):
        raise RequestError("", NO_SOCKET, 426)
    raise RequestError("", NO_SUCH.format(asking.method, path), 404)


def _shown(memory: Memory, key: str, kind: str) -> Json:
    """Return a kept response, or a conversation that was created here."""
    shown = read(memory.get(key)).get(kind)
    if isinstance(shown, dict):
        return shown
    raise UnknownError("", f"{kind.capitalize()} with id '{key}' not found.")


def _retrieve(memory: Memory, asking: OwnRequest, key: str) -> Json:
    response = _shown(memory, key, "response")
    if _query(asking).get("stream") == "true":
        raise RequestError("", NO_STREAM)
    return response


def _cancel(memory: Memory, _: OwnRequest, key: str) -> Json:
    _shown(memory, key, "response")
    raise RequestError("", NO_CANCEL)


def _drop(kind: str, name: str) -> _Row:
    """Return the row that drops a response, or a conversation's beginning, so that it cannot go
    on, and says so by this name.
    """

    def drop(memory: Memory, _: OwnRequest, key: str) -> Json:
        _shown(memory, key, kind)
        memory.forget(key)
        return {"id": key, "object": name, "deleted": True}

    return drop


def _input(memory: Memory, key: str) -> list[Json]:
    """Return a response's own input."""
    _shown(memory, key, "response")
    return [item for item in list_of(read(memory.get(key)).get("input")) if isinstance(item, dict)]


def _create(memory: Memory, asking: OwnRequest, _: str) -> Json:
    """Begin a conversation with the items that the request brings."""
    body, key = json_text.read(asking.body or b"{}"), f"conv_{asking.id}"
    own = _own(body, key)
    conversation = {
        "id": key,
        "object": "conversation",
        "created_at": asking.created_at,
        "metadata": Fields(body).optional("metadata", dict) or {},
    }
    value = json_text.write({"conversation": conversation, "input": own})
    memory.keep(key, value, names=[LINE + key, *names_of(own)])
    return conversation


def _items(memory: Memory, key: str) -> list[Json]:
    """Return all that was said, the oldest first."""
    history = memory.history(memory.find(LINE + key))
    if not history:
        raise no_conversation(key)
    return [item for item in items_of(history) if isinstance(item, dict)]


def _item(memory: Memory, place: str) -> Json:
    key, name = place.split("/items/")
    for item in _items(memory, key):
        if item.get("id") == name:
            return item
    raise UnknownError("", f"Item with id '{name}' not found.")


def _add(memory: Memory, asking: OwnRequest, key: str) -> Json:
    """Let the conversation go on with the items that the request brings."""
    entry = f"{key}_{asking.id}"
    own = _own(json_text.read(asking.body), entry)
    _shown(memory, key, "conversation")
    _append(memory, key, entry, {"input": own}, names_of(own))
    return _listed(own, more=False)


def _remove(memory: Memory, asking: OwnRequest, place: str) -> Json:
    """Take an item out, and return the conversation."""
    key, name = place.split("/items/")
    _item(memory, place)
    _append(memory, key, f"{key}_{asking.id}", {REMOVED: name})
    return _shown(memory, key, "conversation")


def _append(memory: Memory, key: str, entry: str, value: Json, names: Iterable[str] = ()) -> None:
    memory.keep(entry, json_text.write(value), key, names, LINE + key)


def _own(body: object, name: str) -> list[Json]:
    given = Fields(body).optional("items", list) or []
    own = [with_id(item, f"{name}_in{at}") for at, item in enumerate(given)]
    return [item for item in own if isinstance(item, dict)]


def _list(entries: Callable[[Memory, str], list[Json]]) -> _Row:
    return lambda memory, asking, key: _page(entries(memory, key), _query(asking))


def _page(items: list[Json], query: Mapping[str, str]) -> Json:
    """Return a page of items; the last one comes first, unless asked otherwise."""
    if query.get("order") != "asc":
        items = items[::-1]
    ids = [item.get("id") for item in items]
    begin = ids.index(query["after"]) + 1 if query.get("after") in ids else 0
    limit = int(written) if (written := query.get("limit", "")[:_DIGITS]).isdecimal() else PAGE
    return _listed(items[begin : begin + limit], begin + limit < len(items))


def _listed(items: list[Json], more: bool) -> Json:
    names = [item.get("id") for item in items] or [None]
    return {
        "object": "list",
        "data": items,
        "first_id": names[0],
        "last_id": names[-1],
        "has_more": more,
    }


def _query(asking: OwnRequest) -> Mapping[str, str]:
    return dict(parse_qsl(asking.path.partition("?")[2]))


_RESPONSE, _CONVERSATIONS = r"/responses/(?P<key>[^/]+)", r"/conversations/(?P<key>[^/]+)"
_ITEM = r"/conversations/(?P<key>[^/]+/items/[^/]+)"
_ROWS: tuple[tuple[str, re.Pattern[str], _Row], ...] = tuple(
    (method, re.compile(pattern + r"\Z"), row)
    for method, pattern, row in (
        ("POST", _RESPONSE + "/cancel", _cancel),
        ("GET", _RESPONSE, _retrieve),
        ("DELETE", _RESPONSE, _drop("response", "response")),
        ("GET", _RESPONSE + "/input_items", _list(_input)),
        ("POST", r"/(?P<key>conversations)", _create),
        ("GET", _CONVERSATIONS, lambda memory, _, key: _shown(memory, key, "conversation")),
        ("DELETE", _CONVERSATIONS, _drop("conversation", "conversation.deleted")),
        ("GET", _CONVERSATIONS + "/items", _list(_items)),
        ("POST", _CONVERSATIONS + "/items", _add),
        ("GET", _ITEM, lambda memory, _, place: _item(memory, place)),
        ("DELETE", _ITEM, _remove),
    )
)
