"""A stream without the frame of counts that only the addon has requested. The events have the
counts; the client does not get them. Counts beside text or a finish go on, because the addon's
request did not bring them.

The frame of counts may hold more: llama.cpp's `timings` stand in the last frame, which is the
finish's where no counts were requested. So a finish waits for the next frame. The fast path knows
of no waiting frame: behind a frame for which nothing was written it learns anew.
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
        """Return the frame that waits, with the head of the frame behind it."""
        if self._finish is None:
            return []
        (events, raw), self._finish = self._finish, None
        return super().feed([*heads, *events], None if heads else raw)

    def close(self) -> list[bytes]:
        """Return the frame that waits; a missing end of the stream is not added."""
        return [*self._released(), *super().close()]
