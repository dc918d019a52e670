"""Answers that need no model: what is kept of responses and conversations, and refusals of what a
proxy has not.

A WebSocket is refused with status 426: Codex 0.169 then goes on with POST at once, while 404, 405
and 5xx cost it 6.5 seconds and 400 its turn.
"""

import re
from collections.abc import Callable, Mapping
from urllib.parse import parse_qsl

from converter.dialects.dialect import Body, OwnRequest
from converter.dialects.responses import conversations, state
from converter.dialects.responses.errors import error_body
from converter.dialects.responses.output_items import Json
from converter.dialects.responses.state import UnknownError
from converter.model.conversation import RequestError
from converter.model.memory import Memory
from converter.wire import json_text

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
    """Return the status and body."""
    path = asking.path.partition("?")[0].rstrip("/")
    for method, pattern, row in _ROWS:
        if method == asking.method and (match := pattern.search(path)):
            return _answered(row, memory, asking, match["key"])
    if path.endswith("/responses"):
        return _refused(NO_SOCKET, 426)
    return _refused(NO_SUCH.format(asking.method, path), 404)


def _answered(row: _Row, memory: Memory, asking: OwnRequest, key: str) -> tuple[int, Body]:
    try:
        return 200, row(memory, asking, key)
    except UnknownError as error:
        return _refused(error.message, error.status)
    except (RequestError, json_text.UnreadableError) as error:
        return _refused(str(error), 400)


def _refused(message: str, status: int) -> tuple[int, Body]:
    return status, error_body(message, status)


def _create(memory: Memory, asking: OwnRequest, _: str) -> Json:
    body = json_text.read(asking.body or b"{}")
    return conversations.create(memory, body, f"conv_{asking.id}", asking.created_at)


def _retrieve(memory: Memory, asking: OwnRequest, key: str) -> Json:
    response = state.retrieve(memory, key)
    if _query(asking).get("stream") == "true":
        raise RequestError("", NO_STREAM)
    return response


def _cancel(memory: Memory, _: OwnRequest, key: str) -> Json:
    state.retrieve(memory, key)
    raise RequestError("", NO_CANCEL)


def _add(memory: Memory, asking: OwnRequest, key: str) -> Json:
    added = conversations.add(memory, key, json_text.read(asking.body), asking.id)
    return _listed(added, more=False)


def _item(memory: Memory, _: OwnRequest, key: str) -> Json:
    conversation, name = key.split("/items/")
    return conversations.item(memory, conversation, name)


def _remove(memory: Memory, asking: OwnRequest, key: str) -> Json:
    conversation, name = key.split("/items/")
    return conversations.remove(memory, conversation, name, asking.id)


def _list(items_of: Callable[[Memory, str], list[Json]]) -> _Row:
    return lambda memory, asking, key: _page(items_of(memory, key), _query(asking))


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


def _kept(show: Callable[[Memory, str], Json]) -> _Row:
    return lambda memory, _, key: show(memory, key)


_RESPONSE, _CONVERSATION = r"/responses/(?P<key>[^/]+)", r"/conversations/(?P<key>[^/]+)"
_ITEM = r"/conversations/(?P<key>[^/]+/items/[^/]+)"
_ROWS: tuple[tuple[str, re.Pattern[str], _Row], ...] = tuple(
    (method, re.compile(pattern + r"\Z"), row)
    for method, pattern, row in (
        ("POST", _RESPONSE + "/cancel", _cancel),
        ("GET", _RESPONSE, _retrieve),
        ("DELETE", _RESPONSE, _kept(state.delete)),
        ("GET", _RESPONSE + "/input_items", _list(state.input_of)),
        ("POST", r"/(?P<key>conversations)", _create),
        ("GET", _CONVERSATION, _kept(conversations.retrieve)),
        ("DELETE", _CONVERSATION, _kept(conversations.delete)),
        ("GET", _CONVERSATION + "/items", _list(conversations.items)),
        ("POST", _CONVERSATION + "/items", _add),
        ("GET", _ITEM, _item),
        ("DELETE", _ITEM, _remove),
    )
)
