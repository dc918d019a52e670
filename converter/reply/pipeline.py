"""A server's reply as neutral events: the only place where frames, decoder and stages are joined.

chunk -> FrameDecoder -> frame -> Decoder -> event -> stages -> event
"""

from collections.abc import Sequence

from converter.dialects.dialect import Dialect, Form
from converter.exchange.settings import Settings
from converter.model.events import Event, OpaqueFrame, Text, Thinking
from converter.observe.thought_events import ThoughtEvent
from converter.parsing.findings import Findings
from converter.parsing.reading import Expected, Reading
from converter.reply.stages import Stages
from converter.reply.text_pieces import in_pieces, joined
from converter.wire import json_text
from converter.wire.sse import Cutter, Frame, WholeBody


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
    """One reply. `findings` and `frames`: those of a reply that it goes on. `frames` cuts it,
    `decode` reads a frame, `feed` puts events through the stages.

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
        findings: Findings | None = None,
        frames: "Pipeline | None" = None,
    ) -> None:
        cutter = server.wire.framing.cutter if form is Form.STREAM else WholeBody
        self._frames: Cutter = frames._frames if frames else cutter()
        self._decoder = server.wire.decoder(settings.map)
        self._mend, self._write = server.wire.mend, server.wire.framing.write
        self._stages = Stages(reading_of(settings, expected, whole), findings)
        self.cut, self.read, self.overflow = (
            self._frames.cut,
            self._frames.read,
            self._frames.overflow,
        )
        self.plain = self._stages.plain
        self.rest, self.held = self._frames.close, self._frames.held

    def frames(self, chunk: bytes) -> list[Frame]:
        """Return the frames that `chunk` completes."""
        return [*map(self.read, self.cut(chunk)), *self.overflow()]

    @property
    def findings(self) -> Findings:
        """The notes on the reply, for the log and the next reply."""
        return self._stages.findings

    def decode(self, frame: Frame) -> tuple[Frame, list[Event]]:
        """Return what the frame says, and the frame that says just that: a mended one, where words
        would be lost otherwise.
        """
        events = self._decoder.feed(frame)
        if not _is_lost(events) or (mended := self._mended(frame)) is None:
            return frame, events
        rescued = self._decoder.feed(mended) if mended.raw else []
        return (frame, events) if _is_lost(rescued) else (mended, rescued)

    def _mended(self, frame: Frame) -> Frame | None:
        """Return the frame with clear faults put right; None where nothing has."""
        try:
            rescued = json_text.rescue(frame.data or b"")
        except json_text.UnreadableError:
            return None
        if not rescued and not frame.is_body:  # null, an empty list: nothing is lost without it
            return Frame(b"", None)
        data = json_text.write(self._mend(rescued))
        raw = data if frame.is_body else self._write(data, frame.event)
        return Frame(raw, data, event=frame.event)

    def feed(self, events: Sequence[Event]) -> list[Event]:
        """Return the events that these become."""
        pieces = in_pieces(events)
        made = [made for event in pieces for made in self._stages.feed(event)]
        return made if pieces is events else joined(made)

    def close(self) -> list[Event]:
        """Return the held events: the reply is over."""
        return self._stages.close()

    def repeat(self, event: Text | Thinking) -> bool:
        """Tell the decoder of words in frames like the last one; return whether it would have read
        them as this event.
        """
        return self._decoder.repeat(event)

    def take_thoughts(self) -> list[ThoughtEvent]:
        """Return the thoughts that ended since the last time."""
        return self._stages.take_thoughts()


def _is_lost(events: Sequence[Event]) -> bool:
    return any(isinstance(event, OpaqueFrame) and event.lost for event in events)
