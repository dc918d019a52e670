"""A server's reply as neutral events: the only place where frames, decoder and stages are joined.

chunk -> FrameDecoder -> frame -> Decoder -> event -> stages -> event

The stages are handed in as a table (`converter.core.reply.chain`). So who moves the bytes of a
reply knows no stage, and no stage knows who moves them.
"""

from collections.abc import Mapping, Sequence

from converter.core.dialects.wire_form import NO_FIELDS, Form, Mapped, Speaker
from converter.core.model.events import Event, OpaqueFrame, Text, joined
from converter.core.reading.findings import Findings
from converter.core.reading.reading import Reading
from converter.core.reply.chain import Stages, Table
from converter.core.wire import json_text
from converter.core.wire.sse import Frame, FrameDecoder, WholeBody

LONGEST = 1 << 16
"""Characters of a piece of text: some milliseconds. The stages look at each by regular expressions,
so that one of megabytes would let no other thread have its turn.
"""


class Pipeline:
    """One reply: `cutter`, decoder and `stages`, each with its own calls. `fields`: the user's map
    of the server's own. `findings` and `cutter`: those of a reply that it goes on.

    The cutter cuts bytes into frames, `decode` reads a frame, `feed` puts events through the
    stages. They are three calls, because who passes bytes on wants to know which events are of
    which frame, and who only looks may join events before the stages.
    """

    def __init__(
        self,
        table: Table,
        reading: Reading,
        server: Speaker,
        form: Form,
        *,
        fields: Mapping[str, Mapped] = NO_FIELDS,
        findings: Findings | None = None,
        cutter: FrameDecoder | None = None,
    ) -> None:
        made = server.wire.framing.cutter if form is Form.STREAM else WholeBody
        self.cutter: FrameDecoder = cutter or made()
        self.decoder = server.wire.decoder(fields)
        self._mend, self._framing = server.wire.mend, server.wire.framing
        self.stages = Stages(table, reading, findings)

    def decode(self, frame: Frame) -> tuple[Frame, list[Event]]:
        """Return what the frame says, and the frame that says just that: a mended one, where words
        would be lost otherwise.
        """
        events = self.decoder.feed(frame)
        if not _is_lost(events) or (mended := self._mended(frame)) is None:
            return frame, events
        rescued = self.decoder.feed(mended) if mended.raw else []
        return (frame, events) if _is_lost(rescued) else (mended, rescued)

    def _mended(self, frame: Frame) -> Frame | None:
        """Return the frame with clear faults put right; None where nothing has."""
        if (frame.data or b"").lstrip().startswith(b":"):  # OpenRouter's comment behind a gateway
            # of a form whose frames are bare nothing is one, and clients would read it as JSON; a
            # line of the next event, as our own sign of life is in chat completions
            comment = b"" if self._framing.bare else (frame.data or b"").strip() + b"\n"
            return Frame(comment, None, comment=True)
        try:
            rescued = json_text.rescue(frame.data or frame.raw)
        except json_text.UnreadableError:
            return None
        if not rescued and not frame.is_body:  # null, an empty list: nothing is lost without it
            return Frame(b"", None)
        data = json_text.write(self._mend(rescued))
        raw = data if frame.is_body else self._framing.write(data, frame.event)
        return Frame(raw, data, event=frame.event)

    def feed(self, events: Sequence[Event]) -> list[Event]:
        """Return the events that these become."""
        pieces, feed = in_pieces(events), self.stages.feed
        made = [made for event in pieces for made in feed(event)]
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
