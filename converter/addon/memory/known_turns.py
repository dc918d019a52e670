"""The newest requests of conversations, whose messages the next ones repeat."""

from dataclasses import dataclass

from converter.addon.bounds import KNOWN_TURNS, KNOWN_TURNS_BYTES
from converter.core.model.conversation import Turn
from converter.core.model.repeated_turns import RepeatedTurns, is_same

SHORT = 16 * 1024
"""Bytes of a request that is as soon read anew as looked for."""


@dataclass(frozen=True, slots=True)
class _Kept:
    owner: str
    turns: RepeatedTurns[Turn]
    size: int


class KnownTurns:
    """Bounded in number and bytes. `owner`: nobody gets a message of another owner's request.

    The list is never changed in place, because requests are read in several threads.
    """

    def __init__(self) -> None:
        self._kept: list[_Kept] = []

    def begin(self, owner: str, messages: object) -> RepeatedTurns[Turn]:
        """Return the turns of this request, with those of the longest request that it goes on with.

        It goes on with an earlier request if it repeats its last message but one at the same index;
        the last message may have lost its cache mark.
        """
        if not isinstance(messages, list):
            return RepeatedTurns()
        found = (each.turns for each in self._kept if each.owner == owner)
        before = (turns for turns in found if _goes_on(turns.messages, messages))
        return RepeatedTurns(max(before, key=lambda turns: len(turns.messages), default=None))

    def keep(self, owner: str, turns: RepeatedTurns[Turn], size: int) -> None:
        """Keep the turns of a request of so many bytes, in place of the request's before it."""
        before, turns.before = turns.before, None
        if not turns.messages or size > KNOWN_TURNS_BYTES:  # it would drive all others out
            return
        kept = [each for each in self._kept if each.turns is not before]
        kept.append(_Kept(owner, turns, size))
        while len(kept) > KNOWN_TURNS or sum(each.size for each in kept) > KNOWN_TURNS_BYTES:
            del kept[0]
        self._kept = kept


def _goes_on(before: list[object], now: list[object]) -> bool:
    last = max(len(before) - 2, 0)
    return last < len(now) and is_same(before[last], now[last])
