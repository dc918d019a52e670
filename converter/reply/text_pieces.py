"""Long texts in pieces: the stages look at each by regular expressions, and one that takes a text
of megabytes lets no other thread have its turn. Cut anywhere, the message is the same.
"""

from collections.abc import Sequence
from itertools import groupby

from converter.model.events import Event, Text, Thinking, WordKind

LONGEST = 1 << 16
"""Characters of a piece: some milliseconds."""


def in_pieces(events: Sequence[Event]) -> Sequence[Event]:
    """Return the events, with long texts cut into pieces; the same object where none is long."""
    if not any(isinstance(event, Text) and len(event.text) > LONGEST for event in events):
        return events
    return [piece for event in events for piece in _pieces(event)]


def _pieces(event: Event) -> Sequence[Event]:
    if not isinstance(event, Text) or event.own or event.refusal or len(event.text) <= LONGEST:
        return [event]
    places = range(0, len(event.text), LONGEST)
    return [Text(event.text[at : at + LONGEST], event.choice) for at in places]


def joined(events: Sequence[Event]) -> list[Event]:
    """Return the events with neighbouring words of one kind joined."""
    made: list[Event] = []
    for kind, group in groupby(events, _kind):
        alike = list(group)
        if kind is None or len(alike) == 1:
            made += alike
        else:
            words, choice = kind
            text = "".join([event.text for event in alike])  # type: ignore[union-attr]
            made.append(words(text, choice))
    return made


def _kind(event: Event) -> tuple[WordKind, int] | None:
    """Return the traits that words must share to be joined; None for other events."""
    plain = isinstance(event, Text | Thinking) and not event.own
    if not plain or getattr(event, "refusal", False):
        return None
    return type(event), event.choice  # type: ignore[union-attr, return-value]
