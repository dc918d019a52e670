"""Frames of a server's reply, and the events of each.

chunk -> FrameDecoder -> frame -> Decoder -> event
"""

from collections.abc import Mapping, Sequence

from converter.core.dialects.wire_form import NO_FIELDS, Form, Mapped, Speaker
from converter.core.model.events import Event, OpaqueFrame
from converter.core.wire import json_text
from converter.core.wire.sse import Frame, FrameDecoder, WholeBody


class FrameReader:
    """A reply's cutter and its decoder. The cutter cuts bytes into frames and `read` reads one, so
    that a caller knows which events are of which frame.

    Arguments:
        fields: the user's map of the server's own fields.
        cutter: that of the reply that this one goes on.
    """

    def __init__(
        self,
        server: Speaker,
        form: Form,
        fields: Mapping[str, Mapped] = NO_FIELDS,
        cutter: FrameDecoder | None = None,
    ) -> None:
        cutter_type = server.wire.framing.cutter if form is Form.STREAM else WholeBody
        self.cutter: FrameDecoder = cutter or cutter_type()
        self.decoder = server.wire.decoder(fields)
        self._mend, self._framing = server.wire.mend, server.wire.framing

    def read(self, frame: Frame) -> tuple[Frame, list[Event]]:
        """Return the frame and its events; a mended frame, where text would be lost otherwise."""
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


def _is_lost(events: Sequence[Event]) -> bool:
    return any(isinstance(event, OpaqueFrame) and event.lost for event in events)
