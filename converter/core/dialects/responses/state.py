"""Keeps responses and conversations for clients that leave their history with the server
(`previous_response_id`, `conversation`, `item_reference`), and answers the requests that show or
change what is kept. `core/model/memory.py` has the memory.

These requests need no model: they show and delete responses and conversations, add items to a
conversation or remove one. The sessions of the Agents SDK use them.

Each response is an entry of the memory, with its request's own items; the entries before it are its
history. A request with an id that is not kept is refused with the API's error, because a model that
lacks the beginning of a conversation would answer with nonsense.

A WebSocket is refused with status 426: Codex 0.169 then sends a POST at once, whereas 404, 405 and
5xx cost it 6.5 seconds, and 400 ends its turn.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl

from converter.core.dialects.dialect import OwnRequest
from converter.core.dialects.error_words import list_of, string_of
from converter.core.dialects.responses.output_items import shown_item
from converter.core.dialects.responses.request_reader import input_items, refuse_unsupported
from converter.core.model.conversation import RequestError
from converter.core.model.memory import Memory
from converter.core.wire import json_text, long_json
from converter.core.wire.checked import Fields
from converter.core.wire.json_text import as_object, objects

TWO_REFERENCES = "Mutually exclusive parameters: 'previous_response_id' and 'conversation'."
"""The error's message for a request that refers to a response and to a conversation."""
KEPT_STATUSES = ("completed", "incomplete")
"""Statuses of the responses that are kept: a failed response is not."""
REFERS = (
    '"(?:previous_response_id|conversation|item_reference)"',
    r'\{(?:\s*+"id"\s*+:\s*+"(?:[^"\\]|\\.)*+"\s*+,?)++\s*+\}',
)
"""Patterns that find references to kept data in the bytes of a request: the names of two fields,
the type `item_reference`, and an object with no other field than `id`. A request without a match
needs nothing from the memory.
"""
REMOVED_FIELD = "removed"
"""The field of an entry with the id of an item that a client has removed from the conversation."""
_RESPONSE_PREFIX = "resp_"
"""Prefix of the ids of responses."""
_ITEM_ID = re.compile(r"[a-z]+_(.+)_(?:in)?\d+")
"""Pattern of an item's id that contains the id of the item's response: the response `resp_7` gives
the id `msg_7_0` to an item of its output, and `msg_7_in0` to an item of its request.
"""
_REASONING_PREFIX = "rs_"
"""Prefix of the ids of reasoning items. A conversation can go on without such an item."""
CONVERSATION_PREFIX, ITEM_PREFIX = "conversation ", "item "
"""Prefixes of the names by which the memory finds the last entry of a conversation, and the entry
with an item. Clients choose the ids of items: without a prefix, an id could be another entry's.
"""
UNREADABLE = " What is kept of it cannot be read."
"""Sentence that is added to the error of an unknown id if the memory has an entry, but the entry is
damaged or was written by another version.
"""
NO_SOCKET = "This server answers over HTTP: POST the request instead of opening a WebSocket."
"""The error's message for a client that tries to open a WebSocket."""
NO_STREAM = "This response cannot be streamed because it was not created with background=true."
"""The error's message for a client that wants a kept response as a stream."""
NO_CANCEL = "Cannot cancel a synchronous response."
"""The error's message for a client that wants to cancel a kept response, which has ended."""
NO_SUCH = "Invalid URL ({} {})"
"""The error's message for a request that no row of `_ROWS` fits; the two `{}`: its method and path.
"""
PAGE = 20
"""How many items an answer lists at once if the client sets no `limit`."""
_DIGITS = 6
"""How many digits of a client's `limit` are read. No conversation has as many items as a longer
number says, and Python refuses to parse a number of thousands of digits.
"""


class UnknownError(RequestError):
    """Raised if a request names a response, a conversation or an item that is not kept here. Its
    `message` is `problem` alone, without the path of the field.
    """

    def __init__(self, field: str, problem: str, status: int = 404, code: str = "") -> None:
        super().__init__(field, problem, status, code=code)
        self.message = problem


@dataclass(frozen=True, slots=True)
class WholeInput:
    """The whole input of a request."""

    items: list[object]
    """All items of the conversation: the items of the history, then the items of the request."""
    own_items: list[object]
    """The items of the request itself, with kept items in place of references."""
    previous_key: str = ""
    """The key, in the memory, of the entry that this request continues; empty if it continues none.
    """
    lost_thought_count: int = 0
    """How many references were left out, because the thoughts to which they refer are no longer
    kept.
    """
    uses_no_memory: bool = False
    """True if all items came in the request itself, and none from the memory."""


def whole_input(memory: Memory, body: object) -> WholeInput:
    """Return the whole input of a request: its history, and its own items with kept items in place
    of references. Raises RequestError if the memory lacks a part of the history, or an item without
    which the conversation cannot go on. It is also raised for a request that is refused whatever is
    kept, such as one that refers to a response and to a conversation (`TWO_REFERENCES`).
    """
    request = Fields(body)
    refuse_unsupported(request)
    previous = request.optional("previous_response_id", str) or ""
    if conversation := _conversation_id(request.values):
        if previous:
            raise RequestError("previous_response_id", TWO_REFERENCES)
        previous = memory.find(CONVERSATION_PREFIX + conversation)
        if not previous:
            raise unknown_conversation(conversation)
    before = memory.history(previous) if previous else []
    if before is None or not all(map(_is_readable, before)):
        why = "" if before is None else UNREADABLE
        if conversation:
            raise unknown_conversation(conversation, why)
        problem = f"Previous response with id '{previous}' not found.{why}"
        raise UnknownError("previous_response_id", problem, 400, "previous_response_not_found")
    items = items_of(before)
    own: list[object] = []
    left_out, sent = 0, input_items(request)
    for item in sent:
        resolved = _resolve_reference(memory, item)
        left_out += resolved is None
        own += [] if resolved is None else [resolved]
    uses_no_memory = [*map(id, sent)] == [*map(id, (*items, *own))]
    return WholeInput([*items, *own], own, previous, left_out, uses_no_memory)


def keep_response(
    memory: Memory, body: Mapping[str, object], history: WholeInput, response: dict[str, object]
) -> None:
    """Keep a response together with its request's own items, unless the request has `store: false`
    or the response failed. `history`: the result of `whole_input`.
    """
    if body.get("store") is False or response.get("status") not in KEPT_STATUSES:
        return
    key = str(response["id"])
    own = [
        shown_item(item, f"{key.removeprefix(_RESPONSE_PREFIX)}_in{at}")
        for at, item in enumerate(history.own_items)
    ]
    names = memory_names((*list_of(response["output"]), *own), key)
    value = long_json.write({"response": response, "input": own})
    name = _conversation_id(body)
    moving_name = CONVERSATION_PREFIX + name if name else ""
    memory.keep(key, value, history.previous_key, names, moving_name)


def memory_names(items: Iterable[object], key: str = "") -> list[str]:
    """Return the names by which the memory shall find an entry with these items: one name for each
    item, `item ` and the item's id.

    `key`: the id of the response, for the entry of a response; empty for any other entry. An item
    that got its id from this response needs no name: its id shows the response's id, by which the
    entry is found (`msg_7_0` -> `resp_7`).
    """
    ids = (str(item.get("id")) for item in items if isinstance(item, dict))
    return [ITEM_PREFIX + name for name in ids if not key or _response_of_item(name) != key]


def _response_of_item(name: str) -> str:
    """Return the id of the response that gave an item its id: `msg_7_0` -> `resp_7`. Empty if the
    item's id has another shape.
    """
    match = _ITEM_ID.fullmatch(name)
    return f"{_RESPONSE_PREFIX}{match[1]}" if match else ""


def _conversation_id(body: Mapping[str, object]) -> str:
    """Return the id in the request's field `conversation`, which holds the id itself or an object
    with it; empty if there is none.
    """
    conversation = body.get("conversation")
    return string_of(conversation.get("id") if isinstance(conversation, dict) else conversation)


def _resolve_reference(memory: Memory, item: object) -> object | None:
    """Return the kept item to which `item` refers, or `item` itself if it is no reference. None if
    it refers to a thought that is not kept: a conversation can go on without it. Raises
    RequestError if it refers to another item that is not kept.
    """
    fields = as_object(item)
    name = fields.get("id")
    # The AI SDK sends references with a type. To the API an object with no field but an id is a
    # reference, too.
    is_reference = fields.get("type") == "item_reference" or fields.keys() == {"id"}
    if not (is_reference and isinstance(name, str)):
        return item
    for find in (_response_of_item, lambda name: memory.find(ITEM_PREFIX + name)):
        for kept in _items_of_entry(read_entry(memory.get(find(name)))):
            if isinstance(kept, dict) and kept.get("id") == name:
                return kept
    if name.startswith(_REASONING_PREFIX):
        return None
    raise UnknownError("input", f"Item with id '{name}' not found.")


def items_of(history: Iterable[bytes]) -> list[object]:
    """Return the items in the entries of a history, which begins with the oldest entry. An item
    that a later entry removes is left out.
    """
    items: list[object] = []
    for value in history:
        kept = read_entry(value)
        if removed := kept.get(REMOVED_FIELD):
            items = [item for item in items if as_object(item).get("id") != removed]
        items += _items_of_entry(kept)
    return items


def _items_of_entry(kept: dict[str, object]) -> Iterator[object]:
    """Yield the items of an entry: the items of the request, then the items of the response's
    output.
    """
    yield from list_of(kept.get("input"))
    yield from list_of(as_object(kept.get("response")).get("output"))


def read_entry(value: bytes | None) -> dict[str, object]:
    """Return the JSON object in `value`, the bytes of an entry; an empty object for None, which
    stands for a missing entry.
    """
    return json_text.object_in(value or b"")


def _is_readable(value: bytes) -> bool:
    """Return True if `value` is an entry in the form in which this version of the addon writes
    entries; False for an entry of another version, or a damaged one.
    """
    kept = read_entry(value)
    shapes = (("input", list), ("response", dict), ("conversation", dict), (REMOVED_FIELD, str))
    return any(name in kept for name, _ in shapes) and all(
        isinstance(kept[name], shape) for name, shape in shapes if name in kept
    )


def unknown_conversation(key: str, why: str = "") -> UnknownError:
    """Return the error for a conversation that the memory lacks in whole or in part. `key`: the id
    of the conversation. `why`: a sentence that is added to the message.
    """
    return UnknownError("conversation", f"Conversation with id '{key}' not found.{why}")


type _Row = Callable[[Memory, OwnRequest, str], dict[str, object]]
"""Answers a request that needs no model: takes the memory, the request, and the id in its path;
returns the body. `_ROWS` has one such function for each method and path.
"""


def answer_own(request: OwnRequest, memory: Memory) -> tuple[int, Mapping[str, object]]:
    """Return the status and body of the answer to a request that needs no model. Raises
    RequestError if the request is wrong or names an unknown id, and UnreadableError if its body is
    no JSON.
    """
    path = request.path.partition("?")[0].rstrip("/")
    for method, pattern, row in _ROWS:
        if method == request.method and (match := pattern.search(path)):
            return 200, row(memory, request, match["key"])
    if path.endswith("/responses"):
        raise RequestError("", NO_SOCKET, 426)
    raise RequestError("", NO_SUCH.format(request.method, path), 404)


def _kept_entry(memory: Memory, key: str, kind: str) -> dict[str, object]:
    """Return the entry with this key as JSON. `kind`: `response` or `conversation`. Raises
    UnknownError if there is no entry of this kind.
    """
    kept = read_entry(memory.get(key))
    if isinstance(kept.get(kind), dict):
        return kept
    raise UnknownError("", f"{kind.capitalize()} with id '{key}' not found.")


def _kept_object(memory: Memory, key: str, kind: str) -> dict[str, object]:
    """Return the object of a kept response or conversation, which is the API's answer to a GET.
    `kind`: `response` or `conversation`.
    """
    return as_object(_kept_entry(memory, key, kind)[kind])


def _retrieve(memory: Memory, request: OwnRequest, key: str) -> dict[str, object]:
    """Return the kept response with this id. Raises RequestError if there is none, or if the client
    wants a stream.
    """
    response = _kept_object(memory, key, "response")
    if _query(request).get("stream") == "true":
        raise RequestError("", NO_STREAM)
    return response


def _cancel(memory: Memory, _: OwnRequest, key: str) -> dict[str, object]:
    """Raise RequestError, because each kept response has ended, so that it cannot be cancelled."""
    _kept_object(memory, key, "response")
    raise RequestError("", NO_CANCEL)


def _remover_of(kind: str, name: str) -> _Row:
    """Return a function that removes the entry of a response; for a conversation it removes the
    first entry, without which the whole conversation counts as unknown.

    `kind`: `response` or `conversation`. `name`: the value of `object` in the answer.
    """

    def drop(memory: Memory, _: OwnRequest, key: str) -> dict[str, object]:
        """Remove the entry with this id, and return the API's answer."""
        _kept_object(memory, key, kind)
        memory.forget(key)
        return {"id": key, "object": name, "deleted": True}

    return drop


def _input_items(memory: Memory, key: str) -> list[dict[str, object]]:
    """Return the items of the request that got the response with this id."""
    return objects(_kept_entry(memory, key, "response").get("input"))


def _create_conversation(memory: Memory, request: OwnRequest, _: str) -> dict[str, object]:
    """Create a conversation with the request's items, and return it."""
    body, key = json_text.read(request.body or b"{}"), f"conv_{request.id}"
    own = _new_items(body, key)
    conversation = {
        "id": key,
        "object": "conversation",
        "created_at": request.created_at,
        "metadata": Fields(body).optional("metadata", dict) or {},
    }
    value = json_text.write({"conversation": conversation, "input": own})
    memory.keep(key, value, names=[CONVERSATION_PREFIX + key, *memory_names(own)])
    return conversation


def _all_items(memory: Memory, key: str) -> list[dict[str, object]]:
    """Return all items of a conversation, the oldest one first."""
    history = memory.history(memory.find(CONVERSATION_PREFIX + key))
    if not history:
        raise unknown_conversation(key)
    return objects(items_of(history))


def _item_at_path(memory: Memory, item_path: str) -> dict[str, object]:
    """Return an item of a kept conversation. `item_path`: the ids of conversation and item, as in
    `conv_7/items/msg_conv_7_in0`. Raises UnknownError if either is not kept.
    """
    key, name = item_path.split("/items/")
    for item in _all_items(memory, key):
        if item.get("id") == name:
            return item
    raise UnknownError("", f"Item with id '{name}' not found.")


def _add_items(memory: Memory, request: OwnRequest, key: str) -> dict[str, object]:
    """Add the request's items to a conversation, and return them as the API's object `list`."""
    entry = f"{key}_{request.id}"
    own = _new_items(json_text.read(request.body), entry)
    _kept_object(memory, key, "conversation")
    value = json_text.write({"input": own})
    memory.keep(entry, value, key, memory_names(own), CONVERSATION_PREFIX + key)
    return _list_object(own, more=False)


def _remove_item(memory: Memory, request: OwnRequest, item_path: str) -> dict[str, object]:
    """Remove an item from its conversation, and return the conversation's object. `item_path`: the
    ids of conversation and item, as in `conv_7/items/msg_conv_7_in0`.
    """
    key, name = item_path.split("/items/")
    _item_at_path(memory, item_path)
    value = json_text.write({REMOVED_FIELD: name})
    memory.keep(f"{key}_{request.id}", value, key, (), CONVERSATION_PREFIX + key)
    return _kept_object(memory, key, "conversation")


def _new_items(body: object, name: str) -> list[dict[str, object]]:
    """Return the items in the JSON of a request, as the API shows them later. An item without an id
    gets one from `name`, the id of the entry that will hold the items: `conv_7` ->
    `msg_conv_7_in0`.
    """
    items = Fields(body).optional("items", list) or []
    return objects([shown_item(item, f"{name}_in{at}") for at, item in enumerate(items)])


def _list(items_of_key: Callable[[Memory, str], list[dict[str, object]]]) -> _Row:
    """Return a function that answers with a page of items, as the API's object `list`. The query's
    `order`, `after` (the id of the item before the page) and `limit` choose the page; without
    `order=asc` the newest item comes first.

    `items_of_key`: takes the memory and the id in the request's path; returns all items, the oldest
    one first.
    """

    def page(memory: Memory, request: OwnRequest, key: str) -> dict[str, object]:
        """Return the page that the request's query chooses."""
        items, query = items_of_key(memory, key), _query(request)
        if query.get("order") != "asc":
            items = items[::-1]
        ids = [item.get("id") for item in items]
        begin = ids.index(query["after"]) + 1 if query.get("after") in ids else 0
        limit = int(written) if (written := query.get("limit", "")[:_DIGITS]).isdecimal() else PAGE
        return _list_object(items[begin : begin + limit], begin + limit < len(items))

    return page


def _list_object(items: list[dict[str, object]], more: bool) -> dict[str, object]:
    """Return the API's object `list` with these items. `more`: True if more items follow them."""
    names = [item.get("id") for item in items] or [None]
    return {
        "object": "list",
        "data": items,
        "first_id": names[0],
        "last_id": names[-1],
        "has_more": more,
    }


def _query(request: OwnRequest) -> Mapping[str, str]:
    """Return the query of the request's path: `?order=asc` -> `{"order": "asc"}`."""
    return dict(parse_qsl(request.path.partition("?")[2]))


_RESPONSES, _CONVERSATIONS = r"/responses/(?P<key>[^/]+)", r"/conversations/(?P<key>[^/]+)"
"""Patterns of the paths of a response and of a conversation. `key`: the id."""
_ITEM_PATH = r"/conversations/(?P<key>[^/]+/items/[^/]+)"
"""Pattern of the path of an item. `key`: the ids of conversation and item, with `/items/` between
them.
"""
_ROWS: tuple[tuple[str, re.Pattern[str], _Row], ...] = tuple(
    (method, re.compile(pattern + r"\Z"), row)
    for method, pattern, row in (
        ("POST", _RESPONSES + "/cancel", _cancel),
        ("GET", _RESPONSES, _retrieve),
        ("DELETE", _RESPONSES, _remover_of("response", "response")),
        ("GET", _RESPONSES + "/input_items", _list(_input_items)),
        ("POST", r"/(?P<key>conversations)", _create_conversation),
        ("GET", _CONVERSATIONS, lambda memory, _, key: _kept_object(memory, key, "conversation")),
        ("DELETE", _CONVERSATIONS, _remover_of("conversation", "conversation.deleted")),
        ("GET", _CONVERSATIONS + "/items", _list(_all_items)),
        ("POST", _CONVERSATIONS + "/items", _add_items),
        ("GET", _ITEM_PATH, lambda memory, _, item_path: _item_at_path(memory, item_path)),
        ("DELETE", _ITEM_PATH, _remove_item),
    )
)
"""HTTP method, pattern of the path, and the function that answers. The pattern's group `key` is the
third argument of the function.
"""
