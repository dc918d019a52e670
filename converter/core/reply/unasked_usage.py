"""The counts of a stream, for a client that has not asked for them: it gets no frame of them, while
the summary has them.
"""

from collections.abc import Sequence

from converter.core.model.events import Event, Finish, Start, Usage

type Said = tuple[list[Event], bytes | None]
"""The events of a frame that the client gets, and the frame where it goes on as it came."""


class UnaskedUsage:
    """Frames of a stream in, those of the client out. One that has nothing but counts stays away.

    Its head may say more of the reply: llama.cpp's `timings` stand in the last frame, which is the
    finish's where nobody has asked for counts. So a finish waits for the next frame. `waits`: it
    does now.
    """

    def __init__(self) -> None:
        self._finish: Said | None = None

    @property
    def waits(self) -> bool:
        """Tell whether a frame is held."""
        return self._finish is not None

    def feed(self, read: Sequence[Event], shown: list[Event], raw: bytes | None) -> list[Said]:
        """Return the frames that go out now. `read`: the events of the server's frame; `shown`,
        `raw`: what the client would get of it.
        """
        kinds = {type(event) for event in read}
        if kinds and kinds <= {Start, Usage} and Usage in kinds:
            heads: list[Event] = [event for event in shown if isinstance(event, Start)]
            return [(heads + events, None if heads else own) for events, own in self.close()]
        out = self.close()
        if Finish in kinds and Usage not in kinds:
            self._finish = (shown, raw)
            return out
        return [*out, (shown, raw)]

    def close(self) -> list[Said]:
        """Return the held frame."""
        held, self._finish = self._finish, None
        return [held] if held else []
