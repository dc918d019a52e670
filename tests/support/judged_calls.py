"""Events as the stage that judges calls hands them to an encoder."""

from collections.abc import Iterable

from converter.core.model.events import Event
from converter.core.reading.whole_calls import CallIds, WholeCalls


class _All(frozenset[str]):
    def __contains__(self, name: object) -> bool:
        return True


FREE = _All()


def judged(events: Iterable[Event]) -> list[Event]:
    stage = WholeCalls((), CallIds(frozenset(), "reply"), [], FREE)
    return [made for event in events for made in stage.feed(event)]
