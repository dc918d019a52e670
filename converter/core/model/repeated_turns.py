"""`RepeatedTurns` caches what was made of a conversation's messages, so that each one is read and
translated only once. `converter.addon.memory.known_turns` keeps the caches, and bounds them.

An agent's request repeats all messages of the agent's previous request and adds some at the end.
`converter.core.wire.known_json` returns the same Python object for a repeated message, and this
object is the key of the cache. If a client moves a cache mark (`cache_control`), only the messages
that have or had the mark are read again. If only the request's metadata changes, none is.
"""

from collections.abc import Callable, Mapping, Sequence


class RepeatedTurns[Turn, Request]:
    """The cache of one request: what was made from its messages, such as turns, messages for the
    server, and their bytes. The next request takes these for the messages that it repeats.

    Entries are found by the `id()` of a message object. Each entry also holds the object itself, so
    that Python cannot use the same `id()` for another object.

    Attributes:
        before: the cache for the conversation's previous request; `None` if there was none. It
            becomes `None` once this request is read and its own cache is kept for the next request.
        request: the parsed request of this cache, with which the conversation's next request is
            compared; `None` if nothing of this request can be used again.
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
        """Return the hash of a conversation from its first message to `message`. It comes from the
        cache if the previous request had this message behind the same messages, else from `make()`.

        `history_hash`: the hash of all messages before `message`.
        """
        cached = self.before._hashes.get(id(message)) if self.before else None
        if cached is None or cached[1] != history_hash:
            cached = message, history_hash, make()
        self._hashes[id(message)] = cached
        return cached[2]

    def mended(self, message: object, mend: Callable[[object], object]) -> object:
        """Return the result of `mend(message)`: from the cache, if the previous request had this
        message.
        """
        cached = self.before._mended.get(id(message)) if self.before else None
        self._mended[id(message)] = cached = cached or (message, mend(message))
        return cached[1]

    def read(
        self, message: object, reader: Callable[[], tuple[Turn, bool]], basis: object = None
    ) -> Turn:
        """Return the turn for a message, from the cache or from `reader()`.

        Args:
            message: the parsed JSON of the message.
            reader: returns the turn, and True if the turn may not be cached, because the reading
                also makes a note for the log.
            basis: the facts about other messages on which the reading depends. A cached turn counts
                only if it was read with an equal `basis`.
        """
        cached = self.before._turns.get(id(message)) if self.before else None
        if cached is None or cached[1] != basis:
            turn, again = reader()
            if again:
                return turn
            cached = message, basis, turn
        self._turns[id(message)] = cached
        return cached[2]

    def translated(
        self, turns: Sequence[Turn], basis: object, write: Callable[[], list[dict[str, object]]]
    ) -> list[dict[str, object]]:
        """Return the messages for the server into which `turns`, some successive turns, are
        translated: from the cache, or from `write()`.

        Cached messages count only if the previous request translated the same successive turns with
        an equal `basis`. `basis`: the facts on which the translation depends.
        """
        key, before, self._basis = tuple(map(id, turns)), self.before, basis
        cached = before._runs.get(key) if before and before._basis == basis else None
        self._runs[key] = cached = cached or (turns, write())
        return cached[1]

    def body(self, body: Mapping[str, object], write: Callable[[object], bytes]) -> bytes:
        """Return the JSON of the request `body`. The bytes of repeated messages come from the
        cache; all other bytes come from `write`, which returns the JSON of a value.
        """
        pieces = list[bytes]()
        for name, value in body.items():
            pieces += [b"," if pieces else b"{", write(name), b":"]
            if name == "messages" and isinstance(value, list):
                cached = self.before._written if self.before else {}
                self._written = {id(one): cached.get(id(one)) or (one, write(one)) for one in value}
                texts = [text for one in value for text in (b",", self._written[id(one)][1])]
                pieces += [b"[", *texts[1:], b"]"]
            else:
                pieces.append(write(value))
        return b"".join([*pieces, b"}"])
