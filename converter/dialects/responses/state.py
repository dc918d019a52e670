"""Responses kept for clients that leave their history with the server: `previous_response_id`,
`conversation`, `item_reference`, and the endpoints that show and delete kept ones.

An id that is not known, or no longer, is refused in the API's words: a lone tool result or a chat
without its beginning would be answered with nonsense.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from converter.dialects.error_words import dict_of, list_of, string_of
from converter.dialects.responses.output_items import Json, with_id
from converter.dialects.responses.request_reader import input_items, refuse
from converter.model.conversation import RequestError
from converter.model.memory import Memory
from converter.wire import json_text
from converter.wire.checked import Fields

BOTH = "Mutually exclusive parameters: 'previous_response_id' and 'conversation'."
KEPT = ("completed", "incomplete")
REFERS = (
    '"(?:previous_response_id|conversation|item_reference)"'
    r'|\{(?:\s*+"id"\s*+:\s*+"(?:[^"\\]|\\.)*+"\s*+,?)++\s*+\}'
)
"""Matches what `complete` looks up: an item with more than an id stands for itself."""
REMOVED = "removed"
"""Names the item that an entry takes out of its conversation."""
_RESPONSE = "resp_"
_MADE = re.compile(r"[a-z]+_(.+)_(?:in)?\d+")
"""The ids that responses give to their items, and to those of their requests."""
_REASONING = "rs_"
"""Begins the ids of reasoning items, which a conversation can do without."""
LINE, ITEM = "conversation ", "item "
"""Begin names in the memory: a client chooses the ids of its own items."""


class UnknownError(RequestError):
    """Something that the request names is not kept here."""

    def __init__(self, place: str, problem: str, status: int = 404, code: str = "") -> None:
        super().__init__(place, problem, status, code=code)
        self.message = problem


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
        if conversation := _conversation(request.values):
            raise no_conversation(conversation)
        problem = f"Previous response with id '{previous}' not found."
        raise UnknownError("previous_response_id", problem, 400, "previous_response_not_found")
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
        with_id(item, f"{key.removeprefix(_RESPONSE)}_in{at}")
        for at, item in enumerate(history.own)
    ]
    names = names_of((*list_of(response["output"]), *own), key)
    value = json_text.write({"response": response, "input": own})
    name = _conversation(body)
    line = LINE + name if name else ""
    memory.keep(key, value, history.previous, names, line)


def names_of(items: Iterable[object], key: str = "") -> list[str]:
    """Return the names under which items are found; `key`: that of their response, under which
    those are found that have their ids from it.
    """
    ids = (str(item.get("id")) for item in items if isinstance(item, dict))
    return [ITEM + name for name in ids if not key or _response_of(name) != key]


def _response_of(name: str) -> str:
    """Return the key of the response from which an item has its id, if it has it from one."""
    made = _MADE.fullmatch(name)
    return f"{_RESPONSE}{made[1]}" if made else ""


def _previous(memory: Memory, request: Fields) -> str:
    previous = request.optional("previous_response_id", str)
    conversation = _conversation(request.values)
    if previous and conversation:
        raise RequestError("previous_response_id", BOTH)
    if not conversation:
        return previous or ""
    if line := memory.find(LINE + conversation):
        return line
    raise no_conversation(conversation)


def _conversation(body: Mapping[str, object]) -> str:
    """Return the conversation's id, which is a string, or in an object; empty for none."""
    given = body.get("conversation")
    return string_of(given.get("id") if isinstance(given, dict) else given)


def _resolved(memory: Memory, item: object) -> object | None:
    """Return the item, or the one that it refers to; None for a thought that is not known."""
    name = item.get("id") if isinstance(item, dict) and _is_reference(item) else None
    if not isinstance(name, str):
        return item
    for find in (_response_of, lambda name: memory.find(ITEM + name)):
        for known in _items(read(memory.get(find(name)))):
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
        kept = read(value)
        if removed := kept.get(REMOVED):
            items = [item for item in items if dict_of(item).get("id") != removed]
        items += _items(kept)
    return items


def _items(kept: Json) -> Iterator[object]:
    yield from list_of(kept.get("input"))
    yield from list_of(dict_of(kept.get("response")).get("output"))


def read(value: bytes | None) -> Json:
    """Return what is kept; nothing of what is not."""
    return dict_of(json_text.read(value) if value else None)


def no_conversation(key: str) -> UnknownError:
    """Return the refusal of a conversation that is not kept here, or not from its beginning."""
    return UnknownError("conversation", f"Conversation with id '{key}' not found.")
