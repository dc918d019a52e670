"""A stream without the frame of counts that the addon has asked for: its client has not, while all
who hear the events have them. Counts beside words or a finish go on, because no question of the
addon's has brought them.

The frame of counts may say more: llama.cpp's `timings` stand in the last frame, which is the
finish's where nobody has asked for counts. So a finish waits for the next frame. The fast path
knows of none that waits: behind a frame of which nothing was written it has all to learn anew.
"""

from collections.abc import Sequence

from converter.core.dialects.wire_form import Encoder
from converter.core.model.events import Event, Finish, Start, Usage, WordKind


class UncountedEncoder(Encoder):
    """An encoder of streams around another one."""

    def __init__(self, inner: Encoder) -> None:
        self._inner = inner
        self._finish: tuple[Sequence[Event], bytes | None] | None = None

    @property
    def failure(self) -> str:
        """The reason of an error that the client got instead of a message, or empty."""
        return self._inner.failure

    @property
    def notes(self) -> list[str]:
        """The inner encoder's notes."""
        return self._inner.notes

    def feed(self, events: Sequence[Event], raw: bytes | None = None) -> list[bytes]:
        """Return the frames that go out now."""
        kinds = {type(event) for event in events}
        if kinds and kinds <= {Start, Usage} and Usage in kinds:
            return self._finished([event for event in events if isinstance(event, Start)])
        out = self._finished()
        if Finish in kinds and Usage not in kinds:
            self._finish = (events, raw)
            return out
        return out + self._inner.feed(events, raw)

    def _finished(self, heads: Sequence[Event] = ()) -> list[bytes]:
        """Return the frame that waits, with what the next one's head says of the reply."""
        if self._finish is None:
            return []
        (events, raw), self._finish = self._finish, None
        return self._inner.feed([*heads, *events], None if heads else raw)

    def spliced(self, kind: WordKind, text: str, frames: int) -> int:
        """Take note of words before a call."""
        return self._inner.spliced(kind, text, frames)

    def ping(self) -> list[bytes]:
        """Return a frame that says nothing."""
        return self._inner.ping()

    def close(self) -> list[bytes]:
        """Return the rest."""
        return self._finished() + self._inner.close()
