"""A cache of a conversation's messages, so that each message is read and written once.

An agent's request repeats all messages of its request before and adds some at the end.
`converter.core.wire.known_json` returns the same Python object for a repeated message, and this
object is the key of the cache. If a client moves a cache mark, only the messages that have or had
the mark are read again; changed metadata of the request costs nothing.
"""

from collections.abc import Callable, Mapping, Sequence


class RepeatedTurns[Turn, Request]:
    """The messages of one request, kept for the next request of the conversation: as turns, as
    messages for the server, and as bytes.

    Entries are found by the `id()` of a message object. Each entry also holds the object itself, so
    that Python cannot use the same `id()` for another object.

    Attributes:
        before: the messages of the request before; `None` once this request is kept in its place.
        request: the parsed request, with which the next request is compared; `None`: nothing of
            this request can be used again.
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
        """Return the hash of a conversation up to and including `message`.

        `history_hash` is the hash of all messages before. The cached hash is returned if the
        request before had this message behind the same history, else the result of `make()`.
        """
        cached = self.before._hashes.get(id(message)) if self.before else None
        if cached is None or cached[1] != history_hash:
            cached = message, history_hash, make()
        self._hashes[id(message)] = cached
        return cached[2]

    def mended(self, message: object, mend: Callable[[object], object]) -> object:
        """Return the mended message, from the cache or from `mend(message)`."""
        cached = self.before._mended.get(id(message)) if self.before else None
        self._mended[id(message)] = cached = cached or (message, mend(message))
        return cached[1]

    def read(
        self, message: object, reader: Callable[[], tuple[Turn, bool]], basis: object = None
    ) -> Turn:
        """Return the turn of a message, from the cache or from `reader()`.

        `basis` holds the facts of other messages on which the reading depends; the cached turn is
        used only if they are equal. `reader` returns the turn, and True if the turn may not be
        cached, because reading the message also makes a note for the log.
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
        """Return the server's messages for neighbouring turns, from the cache or from `write()`.

        The cached messages are used only if the request before had the same turns and `basis`.
        """
        key, before, self._basis = tuple(map(id, turns)), self.before, basis
        cached = before._runs.get(key) if before and before._basis == basis else None
        self._runs[key] = cached = cached or (turns, write())
        return cached[1]

    def body(self, body: Mapping[str, object], write: Callable[[object], bytes]) -> bytes:
        """Return the bytes of a request: repeated messages from the cache, the rest by `write`."""
        pieces = list[bytes]()
        for name, value in body.items():
            pieces += [b"," if pieces else b"{", write(name), b":"]
            if name == "messages" and isinstance(value, list):
                pieces += self._bytes(value, write)
            else:
                pieces.append(write(value))
        return b"".join([*pieces, b"}"])

    def _bytes(self, messages: Sequence[object], write: Callable[[object], bytes]) -> list[bytes]:
        """Return the bytes of a list of messages in pieces, which `body` joins."""
        cached = self.before._written if self.before else {}
        self._written = {id(one): cached.get(id(one)) or (one, write(one)) for one in messages}
        pieces = [piece for one in messages for piece in (b",", self._written[id(one)][1])]
        return [b"[", *pieces[1:], b"]"]
