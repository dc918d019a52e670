"""`KnownTurns` keeps the newest requests, bounded in number and bytes, each with the cache of its
turns (`converter.core.model.repeated_turns`). The conversation's next request repeats these turns,
which then need not be read and translated again.
"""

from dataclasses import dataclass

from converter.addon.aside import sample_of
from converter.addon.bounds import KNOWN_TURNS, KNOWN_TURNS_BYTES
from converter.core.model.conversation import Turn
from converter.core.model.raw_messages import MESSAGE_FIELDS
from converter.core.model.repeated_turns import RepeatedTurns
from converter.core.wire import json_text, known_json, long_json
from converter.core.wire.json_text import UnreadableError
from converter.core.wire.known_json import KeptObject

SHORT = 16 * 1024
"""The bytes below which a request is short: to read all of it takes no longer than to find out
which turns it repeats.
"""
LONGEST_MODEL = 1024
"""The most characters of a model's name, because each name is searched by patterns and hashed."""
_WEIGHTS = {b"{": 24, b"[": 16, b",": 8}
"""Character of JSON -> how many bytes of memory a parsed request takes for each such character, as
an estimate. A request of many small values takes twenty times as many bytes in memory as in JSON.

The characters are counted in a sample of the request. The size of a kept request is this estimate,
or the request's length if that is more.
"""


@dataclass(frozen=True, slots=True)
class _KeptRequest:
    """A request whose turns are kept for the next request of its conversation."""

    owner: str
    """A hash of the credentials of the client that sent the request."""
    request: KeptObject
    """The parsed request, with which the next requests are compared."""
    turns: RepeatedTurns[Turn, KeptObject]
    """The cache of the request's turns: each as it was read and translated."""
    size: int
    """How many bytes of memory the request takes, as estimated by `_WEIGHTS`."""


class KnownTurns:
    """Keeps the turns of the newest requests, bounded in number and bytes. `owner` is a hash of the
    credentials of a request's client: a request is compared only with requests of the same owner.

    The list of kept requests is never changed in place, because several threads read it.
    """

    def __init__(self) -> None:
        self._kept: list[_KeptRequest] = []

    def read(
        self, owner: str, body: bytes
    ) -> tuple[object, RepeatedTurns[Turn, KeptObject] | None]:
        """Return the JSON value of a request's body, and a cache for its turns; None in place of
        the cache if the body has more than `KNOWN_TURNS_BYTES` bytes or cannot be compared.

        The cache takes repeated turns from one earlier request: the one that shares the most
        messages with this one, counted from the first message.

        Raises UnreadableError for a body that is not JSON, or a model's name of more than
        `LONGEST_MODEL` characters.
        """
        kept = [each for each in reversed(self._kept) if each.owner == owner]
        read = None
        if len(body) <= KNOWN_TURNS_BYTES:
            read = known_json.read(body, [each.request for each in kept], MESSAGE_FIELDS)
        value = long_json.read(body) if read is None else read.value
        if len(str(json_text.as_object(value).get("model"))) > LONGEST_MODEL:
            raise UnreadableError(f"expected a model's name of at most {LONGEST_MODEL} characters")
        if read is None:
            return value, None
        before = None if read.before is None else kept[read.before].turns
        return value, RepeatedTurns(before, read.kept)

    def keep(self, owner: str, turns: RepeatedTurns[Turn, KeptObject], size: int) -> None:
        """Keep the turns of a request of `size` bytes for the next request of its conversation. If
        it continues an earlier request, that one is dropped. A request without a list of messages
        is not kept, and the oldest requests are dropped at the bounds.
        """
        before, request, turns.before = turns.before, turns.request, None
        if request is None or not request.lists:
            return
        kept = [
            each
            for each in self._kept
            if each.turns is not before or not known_json.goes_on(each.request, request)
        ]
        sample = sample_of(request.data)
        weights = sum(weight * sample.count(mark) for mark, weight in _WEIGHTS.items())
        estimate = weights * len(request.data) // max(len(sample), 1)
        kept.append(_KeptRequest(owner, request, turns, max(size, estimate)))
        while len(kept) > KNOWN_TURNS or sum(each.size for each in kept) > KNOWN_TURNS_BYTES:
            del kept[0]
        self._kept = kept
