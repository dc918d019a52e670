"""A stream without the frame of counts that the addon has asked for: its client has not, while all
who hear the events have them. Counts beside words or a finish go on, because no question of the
addon's has brought them.

The frame of counts may say more: llama.cpp's `timings` stand in the last frame, which is the
finish's where nobody has asked for counts. So a finish waits for the next frame. The fast path
knows of none that waits: behind a frame of which nothing was written it has all to learn anew.
"""

from collections.abc import Sequence

from converter.core.dialects.openai_chat.encoder import OpenAIEncoder
from converter.core.dialects.wire_form import ReplyContext
from converter.core.model.events import Event, Finish, Start, Usage


class UncountedEncoder(OpenAIEncoder):
    """Events in, frames of a stream out, but for the frame of counts."""

    def __init__(self, context: ReplyContext) -> None:
        super().__init__(context)
        self._finish: tuple[Sequence[Event], bytes | None] | None = None

    def feed(self, events: Sequence[Event], raw: bytes | None = None) -> list[bytes]:
        """Return the frames that go out now."""
        kinds = {type(event) for event in events}
        if kinds and kinds <= {Start, Usage} and Usage in kinds:
            return self._released([event for event in events if isinstance(event, Start)])
        out = self._released()
        if Finish in kinds and Usage not in kinds:
            self._finish = (events, raw)
            return out
        return out + super().feed(events, raw)

    def _released(self, heads: Sequence[Event] = ()) -> list[bytes]:
        """Return the frame that waits, with what the next one's head says of the reply."""
        if self._finish is None:
            return []
        (events, raw), self._finish = self._finish, None
        return super().feed([*heads, *events], None if heads else raw)

    def close(self) -> list[bytes]:
        """Return the frame that waits; a stream's end is not made up."""
        return [*self._released(), *super().close()]
