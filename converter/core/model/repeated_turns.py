"""Messages that the request before in a conversation has said already: read once, written once.

An agent's request repeats the request before it and adds to the end, so that most messages need not
be read and written again. A message is known by its index and its whole value: a moved cache mark
costs the message that holds the mark, changed metadata costs nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

type Message = dict[str, object]


class RepeatedTurns[Turn]:
    """The messages of one request: as its client wrote them, as turns, as messages for its server,
    and as bytes. `before`: those of the request before, until this one is kept.
    """

    def __init__(self, before: "RepeatedTurns[Turn] | None" = None) -> None:
        self.messages: list[object] = []
        self.before = before
        self._turns: list[tuple[Turn, object] | None] = []
        self._way: object = None
        self._runs: dict[tuple[int, ...], tuple[Sequence[Turn], list[Message]]] = {}
        self._written: dict[int, tuple[object, bytes]] = {}
        self._hashes: dict[int, tuple[object, bytes, bytes]] = {}

    def share(self, messages: list[object]) -> None:
        """Put the objects of the request before in place of the equal ones at the head of
        `messages`. Comparing them, or finding them by their identity, then takes no time.
        """
        before = self.before.messages if self.before else []
        pairs = list(zip(before, messages, strict=False))
        alike = next((at for at, (one, other) in enumerate(pairs) if one != other), len(pairs))
        if _is_of_same_types(before[:alike], messages[:alike]):
            messages[:alike] = before[:alike]
        self.messages, self._turns = messages, [None] * len(messages)

    def hash(self, said: bytes, message: object, make: Callable[[], bytes]) -> bytes:
        """Return the hash of a conversation with one more message behind the one that `said` is the
        hash of: that of before, else as `make` makes it.
        """
        known = self.before._hashes.get(id(message)) if self.before else None
        if known is None or known[1] != said:
            known = message, said, make()
        self._hashes[id(message)] = known
        return known[2]

    def read(
        self, message: object, reader: Callable[[], tuple[Turn, bool]], told: object = None
    ) -> Turn:
        """Return the turn of the next message: the turn of the same message in the request before,
        else the turn from `reader`. `told`: what other messages tell of it.

        `reader` also tells whether the message must be read in each request, because its reading
        makes a note.
        """
        at, known = len(self.messages), None
        before = self.before.messages if self.before else []
        if self.before and at < len(before) and is_same(before[at], message):
            message, known = before[at], self.before._turns[at]
        again = False
        if known is None or known[1] != told:
            turn, again = reader()
            known = turn, told
        self.messages.append(message)
        self._turns.append(None if again else known)
        return known[0]

    def run(
        self, turns: Sequence[Turn], way: object, write: Callable[[], list[Message]]
    ) -> list[Message]:
        """Return the messages of turns in a row: those of before, if they were written the same
        way, else as `write` writes them.
        """
        key, before, self._way = tuple(map(id, turns)), self.before, way
        known = before._runs.get(key) if before and before._way == way else None
        self._runs[key] = known = known or (turns, write())
        return known[1]

    def body(
        self, body: Mapping[str, object], write: Callable[[Sequence[object]], list[bytes]]
    ) -> bytes:
        """Return the bytes of a request, with those of before for its messages; what is not known
        is written by `write`.
        """
        pieces = list[bytes]()
        for name, value in body.items():
            pieces += [b"," if pieces else b"{", *write([name]), b":"]
            if name == "messages" and isinstance(value, list):
                pieces += [b"[", b",".join(self._bytes(value, write)), b"]"]
            else:
                pieces += write([value])
        return b"".join([*pieces, b"}"])

    def _bytes(
        self, messages: Sequence[object], write: Callable[[Sequence[object]], list[bytes]]
    ) -> list[bytes]:
        known = self.before._written if self.before else {}
        new = [message for message in messages if id(message) not in known]
        made = {id(one): (one, said) for one, said in zip(new, write(new), strict=True)}
        self._written = {id(one): made.get(id(one)) or known[id(one)] for one in messages}
        return [self._written[id(one)][1] for one in messages]


def is_same(one: object, other: object) -> bool:
    """Tell whether two values are the same JSON: for Python 1, 1.0 and true are equal."""
    return one == other and _is_of_same_types(one, other)


def _is_of_same_types(one: Any, other: Any) -> bool:
    """Tell whether two equal values hold the same numbers; a string equals strings only."""
    if type(one) is dict:
        for name, value in one.items():
            if type(value) is not str and not _is_of_same_types(value, other[name]):
                return False
    elif type(one) is list:
        for value, theirs in zip(one, other, strict=True):
            if type(value) is not str and not _is_of_same_types(value, theirs):
                return False
    return type(one) is type(other)
