"""A server's reply as neutral events: the only place where frames, decoder and stages are joined.

chunk -> FrameDecoder -> frame -> Decoder -> event -> stages -> event
"""

from collections.abc import Callable, Sequence

from converter.dialects.dialect import Dialect, Form
from converter.events import (
    Event,
    Failure,
    Text,
    Thinking,
)
from converter.observe.thought_events import ThoughtEvent
from converter.parsing.findings import Findings
from converter.parsing.reading import Expected, Reading
from converter.settings import Settings
from converter.stages import Stages
from converter.wire.sse import Frame, FrameDecoder, WholeBody

BAD_GATEWAY = 502
"""The HTTP status of a reply that broke off, had it been known in time."""


def reading_of(settings: Settings, expected: Expected, whole: bool) -> Reading:
    """Return how to read a reply under these options. `whole`: no client waits for parts of it."""
    return Reading(
        settings.tags,
        settings.attributes,
        settings.markers,
        settings.start,
        whole,
        expected,
        settings.blanks == "trim",
    )


class Pipeline:
    """One reply. `frames` cuts it, `decode` reads a frame, `feed` puts events through the stages.

    They are three calls, because who passes bytes on wants to know which events are of which frame,
    and who only looks may join events before the stages.
    """

    def __init__(
        self,
        settings: Settings,
        server: Dialect,
        form: Form,
        expected: Expected,
        *,
        whole: bool,
    ) -> None:
        self._frames = FrameDecoder() if form is Form.STREAM else WholeBody()
        self._decoder = server.decoder(settings.map)
        self._stages = Stages(reading_of(settings, expected, whole))
        self.frames = self._frames.feed
        self.cut, self.read, self.overflow = (
            self._frames.cut,
            self._frames.read,
            self._frames.overflow,
        )
        self.plain = self._stages.plain
        self.rest = self._frames.close
        self.decode: Callable[[Frame], list[Event]] = self._decoder.feed

    @property
    def findings(self) -> Findings:
        """The notes on the reply, for the log and the next reply."""
        return self._stages.findings

    def feed(self, events: Sequence[Event]) -> list[Event]:
        """Return what the events become."""
        return [made for event in events for made in self._stages.feed(event)]

    def close(self) -> list[Event]:
        """Return what is held: the reply is over."""
        return self._stages.close()

    def abort(self, reason: str) -> list[Event]:
        """Return what is held, and the failure: the reply broke off, `reason` says why.

        A frame that is not whole yet is lost: nobody could read it.
        """
        return [*self._stages.close(), Failure(reason, status=BAD_GATEWAY)]

    def repeat(self, event: Text | Thinking) -> bool:
        """Tell the decoder of words in frames like the last one; return whether it would have read
        them as this event.
        """
        return self._decoder.repeat(event)

    def take_thoughts(self) -> list[ThoughtEvent]:
        """Return the thoughts that ended since the last time."""
        return self._stages.take_thoughts()
