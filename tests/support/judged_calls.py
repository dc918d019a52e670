"""Events as the stage that judges calls hands them to an encoder."""

from collections.abc import Iterable

from converter.core.calls.assembler import Assembler, Offer
from converter.core.calls.ids import CallIds
from converter.core.model.events import Event


class _TextTools(Offer):
    """Tools of any name, each of which takes a text."""

    def takes_text(self, name: str) -> bool:  # noqa: ARG002
        return True


def judged(events: Iterable[Event]) -> list[Event]:
    stage = Assembler(_TextTools(), CallIds(frozenset(), "reply"), [])
    return [emitted for event in events for emitted in stage.feed(event)]
