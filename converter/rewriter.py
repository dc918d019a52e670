"""One reply as it passes: the server's bytes in, the client's bytes out. Streamed and whole replies
take the same way.

chunk -> FrameDecoder -> frame -> Decoder -> event -> ThinkParser -> event -> Encoder -> chunk
"""

from collections.abc import Sequence

from converter.dialects.table import OPENAI_CHAT, Dialect, Form, ReplyContext
from converter.events import Event, OpaqueFrame, ThinkingEnd
from converter.observe.summary import Summary
from converter.parsing.think_stage import Expected, Reading, ThinkStage
from converter.settings import Settings, Start
from converter.wire.sse import Frame, FrameDecoder, write_frame

_CORRECTIONS = {
    Start.THINKING: "opener missing: the reply began inside a thought, and its closer stayed in the text",
    Start.TEXT: "closer missing: the reply was read as beginning inside a thought, and no closer came",
}
_FRAME_ENDS = (b"\n\n", b"\n\r\n", b"\r\r")
_SAMPLE = 200
"""Bytes of an unread frame that a note quotes."""


class _WholeFrame:
    """A whole body is one frame."""

    def __init__(self) -> None:
        self._body = bytearray()

    def feed(self, chunk: bytes) -> list[Frame]:
        self._body += chunk
        return []

    def close(self) -> list[Frame]:
        body = bytes(self._body)
        return [Frame(body, body)] if body else []


class _Spoiled:
    """Counts the frames that cannot be read as they should."""

    def __init__(self) -> None:
        self._unread = 0
        self._first = b""
        self._mended = 0

    def count(self, frame: Frame, read: Sequence[Event]) -> None:
        self._mended += not _is_utf8(frame.data or b"")
        for event in read:
            if isinstance(event, OpaqueFrame) and not event.comment and event.own.raw.strip():
                self._first = self._first or event.own.raw[:_SAMPLE]
                self._unread += 1

    def notes(self, done: str) -> list[str]:
        """Return what a person should know. `done`: what became of what cannot be read."""
        unread = (
            [f"{self._unread} frames cannot be read: {done}; the first: {self._first!r}"]
            if self._unread
            else []
        )
        return [
            *unread,
            *([f"{self._mended} frames hold bytes that are no UTF-8"] if self._mended else []),
        ]


class Rewriter:
    """The server's bytes in, the client's bytes out, cut anywhere. Never raises: a frame that
    breaks a machine goes on as it came.

    `server_form`: how the server sends. `client_form`: how a client of another dialect wants it; in
    the server's own dialect the form stays. `model` and `reply_id`: for a server that names none.
    `shown`: whether the client wants to see thinking. `said`: a list that who wants to watch may
    put there; it gets all that the client is told, as events. `changed`: whether any frame did not
    go on as it came.
    """

    def __init__(
        self,
        settings: Settings,
        client: Dialect,
        server_form: Form,
        client_form: Form | None = None,
        *,
        server: Dialect = OPENAI_CHAT,
        model: str = "",
        shown: bool = True,
        reply_id: str = "0",
        expected: Expected | None = None,
    ) -> None:
        self._client = client
        self._same_dialect = client is server and client.keeps_raw
        client_form = server_form if self._same_dialect or client_form is None else client_form
        self._frames = FrameDecoder() if server_form is Form.STREAM else _WholeFrame()
        self._decoder = server.decoder(settings.map)
        whole = Form.WHOLE in (server_form, client_form)
        self._stage = ThinkStage(Reading(settings, whole, expected or Expected()))
        self._encoder = client.encoders[client_form](
            ReplyContext(model, reply_id, shown, settings.fields, settings.signature)
        )
        self._came = False
        self._spoiled = _Spoiled()
        self._faults: list[str] = []
        self._whole = server_form is Form.WHOLE
        self._client_form = client_form
        self._broken = False
        self._at = 0.0
        self.summary = Summary()
        self.said: list[Event] | None = None
        self.changed = False
        self.closed = False

    @property
    def failure(self) -> str:
        """Why the client got an error instead of a message, or empty."""
        return self._encoder.failure or (self._faults[0] if self._broken else "")

    @property
    def stage(self) -> ThinkStage:
        """What was found out about the reply's thinking."""
        return self._stage

    @property
    def notes(self) -> list[str]:
        """What a person should know of this reply, a line each; whole after `close`."""
        spoiled = self._spoiled.notes("passed as they came" if self._same_dialect else "left out")
        empty = (
            ["the server's reply was empty"]
            if self.closed and not self._came and not self.failure
            else []
        )
        return [*self._faults, *self._stage_notes(), *spoiled, *empty, *self._encoder.notes]

    def feed(self, chunk: bytes, at: float = 0.0) -> list[bytes]:
        """Return what the client can have now; never an empty piece. `at`: when it came, in
        seconds, for the summary.
        """
        self._came = self._came or bool(chunk)
        self._at = at
        self.summary.arrived(at)
        return [piece for frame in self._frames.feed(chunk) for piece in self._rewrite(frame)]

    def close(self) -> list[bytes]:
        """Return the rest: a stream is over, or a whole body complete."""
        self.closed = True
        frames = self._frames.close()
        out = [piece for frame in frames for piece in self._rewrite(frame)]
        if self._broken:
            return out
        try:
            events = self._noted(self._stage.close())
            self.summary.close(self._at)
            rest = [*self._encoder.feed(events), *self._encoder.close()]
        except Exception as error:
            return [
                *out,
                *self._fault(error, frames[-1].raw if self._whole and frames and not out else b""),
            ]
        if out and rest and not out[-1].endswith(_FRAME_ENDS):
            out.append(b"\n\n")  # the server was cut short in the middle of a frame
        return [*out, *rest]

    def _rewrite(self, frame: Frame) -> list[bytes]:
        if self._broken:
            return []
        try:
            read = self._decoder.feed(frame)
            events = self._noted([event for part in read for event in self._stage.feed(part)])
            self._spoiled.count(frame, read)
            said = [
                event for event in events if not isinstance(event, ThinkingEnd)
            ]  # an end alone is on no wire here
            out = self._encoder.feed(
                events, frame.raw if self._same_dialect and said == read else None
            )
        except Exception as error:
            return self._fault(error, frame.raw)
        self.changed = self.changed or out != [frame.raw]
        return out

    def _noted(self, events: Sequence[Event]) -> Sequence[Event]:
        for event in events:
            self.summary.feed(event, self._at)
        if self.said is not None:
            self.said += events
        return events

    def _fault(self, error: Exception, raw: bytes) -> list[bytes]:
        """A machine of ours broke: pass the frame as it came, or in another dialect say so, as the
        last word.
        """
        words = " ".join(
            f"fault of the addon, please report it: {type(error).__name__}: {error}".split()
        )
        self._faults.append(words)
        if self._same_dialect:
            return [raw] if raw else []
        self._broken = True
        said = self._client.error(words, "api_error", 500)
        return [said if self._client_form is Form.WHOLE else write_frame(said, "error")]

    def _stage_notes(self) -> list[str]:
        notes = [_CORRECTIONS[self._stage.correction]] if self._stage.correction else []
        notes += (
            ["a thought that a phrase began ended with the reply"] if self._stage.unclosed else []
        )
        withheld = self._stage.withheld
        return [
            *notes,
            *(
                [f"{withheld} characters of thinking beyond the budget were withheld"]
                if withheld
                else []
            ),
        ]


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
