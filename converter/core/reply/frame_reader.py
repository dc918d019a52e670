"""`FrameReader`: has the cutter that cuts a server's bytes into frames, and decodes each frame to
events (chunk -> FrameDecoder -> frame -> Decoder -> event). It mends a frame that the decoder
cannot read.
"""

from collections.abc import Mapping, Sequence

from converter.core.dialects.wire_form import NO_FIELDS, Form, Mapped, Speaker
from converter.core.model.events import Event, OpaqueFrame
from converter.core.wire import json_text
from converter.core.wire.sse import Frame, FrameDecoder, WholeBody


class FrameReader:
    """Reads the frames of one reply. Its `cutter` cuts the server's bytes into frames, and its
    method `read` decodes one frame, so that the caller knows from which frame an event comes.

    Arguments:
        server: the dialect of the server.
        form: the form (stream or whole body) in which the server sends.
        fields: the user's field map (`think_map`): a server's own field -> a block.
        cutter: None for a new cutter. If this is a second reply that continues the first one in
            the same response, the first reply's cutter, which may hold bytes of a frame.
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
        """Return `frame` and its events. If the decoder cannot read the frame, but can read it when
        it is mended, return the mended frame and its events. The mended frame may be without bytes
        and events, if the frame means nothing to the client (`null`).
        """
        events = self.decoder.feed(frame)
        if not _is_lost(events) or (mended := self._mended(frame)) is None:
            return frame, events
        rescued = self.decoder.feed(mended) if mended.raw else []
        return (frame, events) if _is_lost(rescued) else (mended, rescued)

    def _mended(self, frame: Frame) -> Frame | None:
        """Return a frame in place of `frame`, which the decoder cannot read: a frame with its
        mended JSON; a comment, if a gateway has sent one as data; or one without bytes, if the
        client need not get it. Return None if the frame cannot be mended.
        """
        if (frame.data or b"").lstrip().startswith(b":"):
            # OpenRouter sends a comment (`: OPENROUTER PROCESSING`), which a gateway passes on as
            # data. In server-sent events it becomes a comment again, without a blank line: at a
            # blank line, some clients would read an event without data (`SilentFrames`). Lines of
            # JSON cannot have comments, so nothing is sent.
            comment = b"" if self._framing.bare else (frame.data or b"").strip() + b"\n"
            return Frame(comment, None, comment=True)
        try:
            rescued = json_text.rescue(frame.data or frame.raw)
        except json_text.UnreadableError:
            return None
        if not rescued and not frame.is_body:  # an empty value (`null`, `{}`) tells clients nothing
            return Frame(b"", None)
        data = json_text.write(self._mend(rescued))
        raw = data if frame.is_body else self._framing.write(data, frame.event)
        return Frame(raw, data, event=frame.event)


def _is_lost(events: Sequence[Event]) -> bool:
    """Return True if the decoder could not read the frame of these `events`: one of them is an
    `OpaqueFrame` with `lost`.
    """
    return any(isinstance(event, OpaqueFrame) and event.lost for event in events)
