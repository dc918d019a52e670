"""A server's reply as neutral events: the only place where frames, decoder and stages are joined.

chunk -> FrameDecoder -> frame -> Decoder -> event -> stages -> event
"""

from collections.abc import Sequence

from converter.dialects.dialect import Dialect, Form
from converter.exchange.settings import Settings
from converter.model.events import Event, OpaqueFrame, Text, joined
from converter.parsing.findings import Findings
from converter.parsing.reading import Expected, Reading
from converter.reply.stages import Stages
from converter.wire import json_text
from converter.wire.sse import Frame, FrameDecoder, WholeBody

LONGEST = 1 << 16
"""Characters of a piece of text: some milliseconds. The stages look at each by regular expressions,
so that one of megabytes would let no other thread have its turn.
"""


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
    and who only looks may join events before the stages. All other calls are those of the cutter
    (`frames`: its `feed`, `rest`: its `close`), the decoder and the stages themselves.
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
        self._frames: FrameDecoder = frames._frames if frames else cutter()
        self._decoder = server.wire.decoder(settings.map)
        self._mend, self._write = server.wire.mend, server.wire.framing.write
        self._stages = Stages(reading_of(settings, expected, whole), findings)
        self.frames, self.cut, self.read = self._frames.feed, self._frames.cut, self._frames.read
        self.overflow, self.rest = self._frames.overflow, self._frames.close
        self.held = self._frames.held
        self.repeat = self._decoder.repeat
        self.plain, self.close = self._stages.plain, self._stages.close
        self.findings, self.take_thoughts = self._stages.findings, self._stages.take_thoughts

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


def _is_lost(events: Sequence[Event]) -> bool:
    return any(isinstance(event, OpaqueFrame) and event.lost for event in events)


def in_pieces(events: Sequence[Event]) -> Sequence[Event]:
    """Return the events, with long texts cut into pieces; the same object where none is long."""
    if not any(isinstance(event, Text) and len(event.text) > LONGEST for event in events):
        return events
    return [piece for event in events for piece in _pieces(event)]


def _pieces(event: Event) -> Sequence[Event]:
    if not isinstance(event, Text) or event.own or event.refusal or len(event.text) <= LONGEST:
        return [event]
    places = range(0, len(event.text), LONGEST)
    return [Text(event.text[at : at + LONGEST], event.choice) for at in places]
