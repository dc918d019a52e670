"""`ThinkingHider`, a stage, drops all thinking, for clients that do not want it. It stands behind
the stages that need the thinking.
"""

from converter.core.model.events import Event, TextKind, Thinking, ThinkingEnd


class ThinkingHider:
    """The stage, for one choice: it drops thinking, and the events for the end of a thought."""

    def feed(self, event: Event) -> list[Event]:
        """Return the event; nothing for thinking or the end of a thought."""
        return [] if isinstance(event, (Thinking, ThinkingEnd)) else [event]

    def plain(self, kind: TextKind) -> tuple[TextKind, str] | None:
        """Return `None` for thinking, which must be dropped. Return `kind` for text of any other
        kind: it may skip this stage on the fast path, whatever characters it has (`Stage.plain`).
        """
        return None if kind is Thinking else (kind, "")

    def close(self) -> list[Event]:
        """Return an empty list, because nothing is held."""
        return []
