"""Writes a stream without the frame of token counts, for a client that did not request counts, if
the addon requested them from the server (`UncountedEncoder`). Counts in a frame with text or a
finish are sent, because a server sends these even if nobody requests them.

The frame of counts may have other fields that the client should get, such as llama.cpp's `timings`.
So the frame of the finish waits for the next frame. If that is the frame of counts, the waiting
frame gets its fields beside `choices` and `usage`: without a request for counts, llama.cpp itself
sends `timings` with the finish.

The fast path cannot overtake the waiting frame: after a frame for which nothing was written, it
leaves the next frame to decoder and encoder.
"""

from collections.abc import Sequence

from converter.core.dialects.openai_chat.encoder import OpenAIEncoder
from converter.core.dialects.wire_form import ReplyContext
from converter.core.model.events import Event, Finish, Start, Usage


class UncountedEncoder(OpenAIEncoder):
    """Takes events and returns the frames of a stream, without the frame of token counts."""

    def __init__(self, context: ReplyContext) -> None:
        super().__init__(context)
        self._finish: tuple[Sequence[Event], bytes | None] | None = None

    def feed(self, events: Sequence[Event], raw: bytes | None = None) -> list[bytes]:
        """Return the frames that can be sent now. A frame with a finish and no counts waits. A
        frame of counts alone is dropped, and the waiting frame is sent with its other fields.
        """
        kinds = {type(event) for event in events}
        if kinds and kinds <= {Start, Usage} and Usage in kinds:
            return self._release_finish([event for event in events if isinstance(event, Start)])
        out = self._release_finish()
        if Finish in kinds and Usage not in kinds:
            self._finish = (events, raw)
            return out
        return out + super().feed(events, raw)

    def _release_finish(self, heads: Sequence[Event] = ()) -> list[bytes]:
        """Return the waiting frame of the finish; nothing if none waits. `heads`: the `Start`
        events of the frame of counts, whose fields the waiting frame gets; empty if another frame
        or the end has come.
        """
        if self._finish is None:
            return []
        (events, raw), self._finish = self._finish, None
        return super().feed([*heads, *events], None if heads else raw)

    def close(self) -> list[bytes]:
        """Return the waiting frame of the finish, if there is one. An end that the server left out
        (`[DONE]`) is not added.
        """
        return [*self._release_finish(), *super().close()]
