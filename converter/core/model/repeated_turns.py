"""Messages that repeat those of the request before in a conversation: read once, written once.

An agent's request repeats the request before it and adds to the end, so that most messages need not
be read and written again. A message is known as the object that its bytes were read as
(`converter.core.wire.known_json`): a moved cache mark costs the message that holds the mark,
changed metadata costs nothing.
"""

from collections.abc import Callable, Mapping, Sequence


class RepeatedTurns[Turn, Request]:
    """The messages of one request: as turns, as messages for its server, and as bytes. `before`:
    those of the request before, until this one is kept. `request`: the value by which the next
    request finds it; `None`: the next request repeats nothing.

    Entries are found by the identity of an object, and kept with the object, so that no other
    object can get its identity.
    """

    def __init__(
        self, before: "RepeatedTurns[Turn, Request] | None" = None, request: Request | None = None
    ) -> None:
        self.before = before
        self.request = request
        self._turns: dict[int, tuple[object, object, Turn]] = {}
        self._basis: object = None
        self._runs: dict[tuple[int, ...], tuple[Sequence[Turn], list[dict[str, object]]]] = {}
        self._written: dict[int, tuple[object, bytes]] = {}
        self._mended: dict[int, tuple[object, object]] = {}
        self._hashes: dict[int, tuple[object, bytes, bytes]] = {}

    def hash(self, history_hash: bytes, message: object, make: Callable[[], bytes]) -> bytes:
        """Return the hash of a conversation with one more message: that of the request before, if
        `history_hash`, of the messages before, is the same; else the hash that `make` makes.
        """
        cached = self.before._hashes.get(id(message)) if self.before else None
        if cached is None or cached[1] != history_hash:
            cached = message, history_hash, make()
        self._hashes[id(message)] = cached
        return cached[2]

    def mended(self, message: object, mend: Callable[[object], object]) -> object:
        """Return the mended message: that of the request before, else what `mend` returns."""
        cached = self.before._mended.get(id(message)) if self.before else None
        self._mended[id(message)] = cached = cached or (message, mend(message))
        return cached[1]

    def read(
        self, message: object, reader: Callable[[], tuple[Turn, bool]], basis: object = None
    ) -> Turn:
        """Return the turn of a message: that of the same message in the request before, else the
        turn from `reader`. `basis`: facts of other messages on which the reading depends.

        `reader` also returns True if the message must be read in each request, because its reading
        makes a note.
        """
        cached = self.before._turns.get(id(message)) if self.before else None
        if cached is None or cached[1] != basis:
            turn, again = reader()
            if again:
                return turn
            cached = message, basis, turn
        self._turns[id(message)] = cached
        return cached[2]

    def run(
        self, turns: Sequence[Turn], basis: object, write: Callable[[], list[dict[str, object]]]
    ) -> list[dict[str, object]]:
        """Return the messages of turns in a row: those of before, if they were written the same
        way, else as `write` writes them.
        """
        key, before, self._basis = tuple(map(id, turns)), self.before, basis
        cached = before._runs.get(key) if before and before._basis == basis else None
        self._runs[key] = cached = cached or (turns, write())
        return cached[1]

    def body(self, body: Mapping[str, object], write: Callable[[object], bytes]) -> bytes:
        """Return the bytes of a request, with those of the request before for repeated messages;
        `write` writes all else.
        """
        pieces = list[bytes]()
        for name, value in body.items():
            pieces += [b"," if pieces else b"{", write(name), b":"]
            if name == "messages" and isinstance(value, list):
                pieces += self._bytes(value, write)
            else:
                pieces.append(write(value))
        return b"".join([*pieces, b"}"])

    def _bytes(self, messages: Sequence[object], write: Callable[[object], bytes]) -> list[bytes]:
        """Return the pieces of a list of messages. They are joined once, with all others."""
        cached = self.before._written if self.before else {}
        self._written = {id(one): cached.get(id(one)) or (one, write(one)) for one in messages}
        pieces = [piece for one in messages for piece in (b",", self._written[id(one)][1])]
        return [b"[", *pieces[1:], b"]"]
