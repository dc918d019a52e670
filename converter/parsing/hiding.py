"""Thinking that the client did not ask for: a stage that leaves it out."""

from converter.model.events import Event, Text, Thinking, ThinkingEnd, WordKind


class ThinkingHider:
    """Events of one choice in, events out: no thinking among them."""

    def feed(self, event: Event) -> list[Event]:
        """Return the event, unless it is of a thought."""
        return [] if isinstance(event, (Thinking, ThinkingEnd)) else [event]

    def plain(self, kind: WordKind) -> tuple[type[Text], str] | None:
        """Return text alone: words of a thought do not come out."""
        return (Text, "") if kind is Text else None

    def close(self) -> list[Event]:
        """Return nothing: nothing is held."""
        return []
