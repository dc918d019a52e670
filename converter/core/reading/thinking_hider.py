"""A reply without its thinking, because its client does not want any: a stage behind all others."""

from converter.core.model.events import Event, TextKind, Thinking, ThinkingEnd


class ThinkingHider:
    """Events of one choice in, events out: no thinking among them, because nobody asked for it."""

    def feed(self, event: Event) -> list[Event]:
        """Return the event, unless it is of a thought."""
        return [] if isinstance(event, (Thinking, ThinkingEnd)) else [event]

    def plain(self, kind: TextKind) -> tuple[TextKind, str] | None:
        """Return words of none but a thought, which do not come out."""
        return None if kind is Thinking else (kind, "")

    def close(self) -> list[Event]:
        """Return nothing: nothing is held."""
        return []
