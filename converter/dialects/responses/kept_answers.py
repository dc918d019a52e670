"""Answers that need no model: what is kept of responses and conversations, and refusals of what a
proxy has not.

A WebSocket is refused with status 426: Codex 0.169 then goes on with POST at once, while 404, 405
and 5xx cost it 6.5 seconds and 400 its turn.
"""

import re
from collections.abc import Callable

from converter.conversation import RequestError
from converter.dialects.dialect import Body, KeptRequest
from converter.dialects.responses import state
from converter.dialects.responses.errors import error_body
from converter.dialects.responses.growing_items import Json
from converter.dialects.responses.state import UnknownError
from converter.memory import Memory
from converter.wire import json_text

NO_SOCKET = "This server answers over HTTP: POST the request instead of opening a WebSocket."
NO_CANCEL = "Cannot cancel a synchronous response."
NO_COMPACTION = (
    "This server does not compact: ask its model for a summary, or send a shorter input."
)
NO_SUCH = "Invalid URL ({} {})"


type _Row = Callable[[Memory, KeptRequest, str], Json]


def answer(asking: KeptRequest, memory: Memory) -> tuple[int, Body]:
    """Return the status and body."""
    path = asking.path.partition("?")[0].rstrip("/")
    for method, pattern, row in _ROWS:
        if method == asking.method and (found := pattern.search(path)):
            return _answered(row, memory, asking, found["key"])
    if path.endswith("/responses"):
        return _refused(NO_SOCKET, 426)
    return _refused(NO_SUCH.format(asking.method, path), 404)


def _answered(row: _Row, memory: Memory, asking: KeptRequest, key: str) -> tuple[int, Body]:
    try:
        return 200, row(memory, asking, key)
    except UnknownError as error:
        return _refused(error.message, error.status)
    except (RequestError, json_text.UnreadableError) as error:
        return _refused(str(error), 400)


def _refused(message: str, status: int) -> tuple[int, Body]:
    return status, error_body(message, status)


def _refusing(message: str) -> _Row:
    def refuse(_: Memory, __: KeptRequest, ___: str) -> Json:
        raise RequestError("", message)

    return refuse


def _create(memory: Memory, asking: KeptRequest, _: str) -> Json:
    body = json_text.read(asking.body or b"{}")
    return state.create_conversation(memory, body, f"conv_{asking.id}", asking.created_at)


def _kept(show: Callable[[Memory, str], Json]) -> _Row:
    return lambda memory, _, key: show(memory, key)


_RESPONSE, _CONVERSATION = r"/responses/(?P<key>[^/]+)", r"/conversations/(?P<key>[^/]+)"
_ROWS: tuple[tuple[str, re.Pattern[str], _Row], ...] = tuple(
    (method, re.compile(pattern + r"\Z"), row)
    for method, pattern, row in (
        ("POST", r"/responses/(?P<key>compact)", _refusing(NO_COMPACTION)),
        ("POST", _RESPONSE + "/cancel", _refusing(NO_CANCEL)),
        ("GET", _RESPONSE, _kept(state.retrieve)),
        ("DELETE", _RESPONSE, _kept(state.delete)),
        ("GET", _RESPONSE + "/input_items", _kept(state.list_input)),
        ("POST", r"/(?P<key>conversations)", _create),
        ("GET", _CONVERSATION, _kept(state.retrieve_conversation)),
        ("DELETE", _CONVERSATION, _kept(state.delete_conversation)),
    )
)
