"""Responses kept for clients that leave their history with the server: `previous_response_id`,
`conversation`, `item_reference`, and the endpoints that show and delete kept ones.

An id that is not known, or no longer, is refused in the API's words: a lone tool result or a chat
without its beginning would be answered with nonsense.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from converter.dialects.responses.item_parts import with_id
from converter.dialects.responses.output_items import Json
from converter.dialects.responses.request_reader import input_items, refuse
from converter.model.conversation import RequestError
from converter.model.memory import Memory
from converter.wire import json_text
from converter.wire.checked import Fields

BOTH = "Mutually exclusive parameters: 'previous_response_id' and 'conversation'."
KEPT = ("completed", "incomplete")
REMOVED = "removed"
"""Names the item that an entry takes out of its conversation."""
_REASONING = "rs_"
"""Begins the ids of reasoning items, which a conversation can do without."""
LINE, ITEM = "conversation ", "item "
"""Begin names in the memory: a client chooses the ids of its own items."""


class UnknownError(RequestError):
    """Something that the request names is not kept here."""

    def __init__(self, place: str, problem: str, status: int = 404, code: str = "") -> None:
        super().__init__(place, problem)
        self.message = problem
        self.status, self.code = status, code


@dataclass(frozen=True, slots=True)
class WholeInput:
    """A request's whole input. `own`: the items that it brings itself; `previous`: the key of the
    exchange before it; `left_out`: references to thoughts that are no longer known.
    """

    items: list[object]
    own: list[object]
    previous: str = ""
    left_out: int = 0


def complete(memory: Memory, body: object) -> WholeInput:
    """Return the request's input with all that it refers to. Raises RequestError."""
    request = Fields(body)
    refuse(request)
    previous = _previous(memory, request)
    before = memory.history(previous) if previous else []
    if before is None:
        conversation = next(_conversation(request.values), "")
        raise no_conversation(conversation) if conversation else _no_response(previous)
    items = items_of(before)
    own: list[object] = []
    left_out = 0
    for item in input_items(request):
        resolved = _resolved(memory, item)
        left_out += resolved is None
        own += [] if resolved is None else [resolved]
    return WholeInput([*items, *own], own, previous, left_out)


def keep(memory: Memory, body: Mapping[str, object], history: WholeInput, response: Json) -> None:
    """Keep a response with its own input, unless its client does not want that."""
    if body.get("store") is False or response.get("status") not in KEPT:
        return
    key = str(response["id"])
    own = [
        with_id(item, f"{key.removeprefix('resp_')}_in{at}") for at, item in enumerate(history.own)
    ]
    output = response["output"] if isinstance(response["output"], list) else []
    names = names_of((*output, *own))
    value = json_text.write({"response": response, "input": own})
    line = "".join(LINE + name for name in _conversation(body))
    memory.keep(key, value, history.previous, names, line)


def names_of(items: Iterable[object]) -> list[str]:
    """Return the names under which items are found."""
    return [f"{ITEM}{item.get('id')}" for item in items if isinstance(item, dict)]


def retrieve(memory: Memory, key: str) -> Json:
    """Return a kept response. Raises UnknownError."""
    response = _kept(memory, key).get("response")
    if not isinstance(response, dict):
        raise _not_found(key)
    return response


def delete(memory: Memory, key: str) -> Json:
    """Drop a kept response, and say so. Raises UnknownError."""
    retrieve(memory, key)
    memory.forget(key)
    return {"id": key, "object": "response", "deleted": True}


def input_of(memory: Memory, key: str) -> list[Json]:
    """Return a kept response's own input. Raises UnknownError."""
    items = _kept(memory, key).get("input")
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _previous(memory: Memory, request: Fields) -> str:
    previous = request.optional("previous_response_id", str)
    names = list(_conversation(request.values))
    if previous and names:
        raise RequestError("previous_response_id", BOTH)
    if not names:
        return previous or ""
    if line := memory.find(LINE + names[0]):
        return line
    raise no_conversation(names[0])


def _conversation(body: Mapping[str, object]) -> Iterator[str]:
    """Yield the conversation's id, if there is one: a string, or in an object."""
    given = body.get("conversation")
    name = given.get("id") if isinstance(given, dict) else given
    if isinstance(name, str) and name:
        yield name


def _resolved(memory: Memory, item: object) -> object | None:
    """Return the item, or the one that it refers to; None for a thought that is not known."""
    name = item.get("id") if isinstance(item, dict) and _is_reference(item) else None
    if not isinstance(name, str):
        return item
    kept = memory.get(memory.find(ITEM + name))
    for known in _items(kept) if kept else ():
        if isinstance(known, dict) and known.get("id") == name:
            return known
    if name.startswith(_REASONING):
        return None
    raise UnknownError("input", f"Item with id '{name}' not found.")


def _is_reference(item: Mapping[str, object]) -> bool:
    """The AI SDK names the type; without one, an id alone is a reference too."""
    return item.get("type") == "item_reference" or item.keys() == {"id"}


def items_of(history: Iterable[bytes]) -> list[object]:
    """Return the turns of these entries, without those that were removed later."""
    items: list[object] = []
    for value in history:
        if removed := read(value).get(REMOVED):
            items = [item for item in items if _id_of(item) != removed]
        items += _items(value)
    return items


def _items(value: bytes) -> Iterator[object]:
    kept = read(value)
    yield from list_in(kept, "input")
    response = kept.get("response")
    yield from list_in(response, "output") if isinstance(response, dict) else ()


def read(value: bytes) -> Json:
    """Return the kept items."""
    kept = json_text.read(value)
    return kept if isinstance(kept, dict) else {}


def list_in(kept: Json, name: str) -> list[object]:
    """Return the list under this name, empty where there is none."""
    listed = kept.get(name)
    return listed if isinstance(listed, list) else []


def _id_of(item: object) -> object:
    return item.get("id") if isinstance(item, dict) else None


def _kept(memory: Memory, key: str) -> Json:
    value = memory.get(key)
    if value is None:
        raise _not_found(key)
    return read(value)


def _not_found(key: str) -> UnknownError:
    return UnknownError("", f"Response with id '{key}' not found.")


def no_conversation(key: str) -> UnknownError:
    """Return the refusal of a conversation that is not kept here, or not from its beginning."""
    return UnknownError("conversation", f"Conversation with id '{key}' not found.")


def _no_response(key: str) -> UnknownError:
    problem = f"Previous response with id '{key}' not found."
    return UnknownError("previous_response_id", problem, 400, "previous_response_not_found")
