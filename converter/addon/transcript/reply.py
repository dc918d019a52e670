"""A reply as a transcript, which grows while the reply comes. The reply may be of any dialect,
streamed or whole, rewritten or as the server sent it.

chunk -> FrameReader -> event -> Stages -> event -> Accumulator. The dialect, and whether the reply
is a stream, follow from the first bytes, else from the content type. Unreadable bytes become a part
of the transcript.
"""

from collections.abc import Iterable
from dataclasses import replace

from converter.addon.exchange import settings
from converter.addon.exchange.rewriting import reading_of
from converter.addon.exchange.settings import Settings
from converter.addon.transcript.accumulator import Accumulator, FieldAccumulator, News
from converter.addon.transcript.turns import Raw, ShownTurn, Transcript
from converter.core.dialects.reasoning_fields import has_value
from converter.core.dialects.recogniser import Recogniser
from converter.core.dialects.table import COMMON, Form
from converter.core.model.events import Event, Opaque, OpaqueFrame, Own, Start, joined
from converter.core.model.initial_state import InitialState
from converter.core.reading.reading import Expected
from converter.core.reply.chain import Stages
from converter.core.reply.frame_reader import FrameReader
from converter.core.reply.stages import STAGES
from converter.core.reply.summary import TIMES, Summary
from converter.core.wire import json_text
from converter.core.wire.sse import Frame

_DEFAULTS = settings.read()
AS_WRITTEN = replace(_DEFAULTS, tags=(), attributes=False, start=InitialState.TEXT)
"""The settings to read the addon's own output. A tag in its text stays text, because the client,
too, gets the tag as text.
"""
_QUIET = ("type", "index", "id", "name", "input", "signature", "cache_control")
"""Fields of a block or delta that hold no content for a person."""
_SHOWN_TYPES = ("text", "thinking")


class ReplyReader:
    """A reader of a reply: `feed` takes a chunk and returns the new parts, `transcript` returns all
    parts so far. No method raises. The time for a chunk depends on the chunk's length alone.

    `complete`: True if the whole reply is fed and closed before the transcript is read. A closer
    without an opener then shows that the reply began in a thought. `expected`: other facts about
    where the reply begins.

    Attributes:
        content_type: the content type of the response.
        recogniser: recognises the form and the dialect.
        summary: the reply's counts and times.
    """

    def __init__(
        self,
        chosen: Settings | None = None,
        content_type: str = "",
        *,
        expected: Expected | None = None,
        complete: bool = False,
    ) -> None:
        self._settings = chosen or _DEFAULTS
        self.content_type = content_type
        self._expected = expected or Expected()
        self._complete = complete
        self.recogniser = Recogniser()
        self._reader: FrameReader | None = None
        self._stages: Stages
        self._choices: dict[int, Accumulator] = {}
        self._beside = FieldAccumulator()
        self._rest: list[str] = []
        self._timed = False
        self._at = 0.0
        self.summary = Summary()

    def feed(self, chunk: bytes, at: float | None = None) -> list[News]:
        """Read a chunk; return the new parts. `at`: the chunk's seconds after the request, if
        known.
        """
        if at is not None:
            self._timed, self._at = True, at
        self.summary.arrived(self._at)
        if self._reader:
            return self._read_frames(self._reader.cutter.feed(chunk))
        if self.recogniser.feed(chunk, self.content_type):
            return self._begin()
        return []

    def close(self) -> list[News]:
        """End the reply; return its last parts."""
        news: list[News] = []
        if self._reader is None:
            self.recogniser.feed(b"", self.content_type, last=True)
            news = self._begin()
        assert self._reader
        news += self._read_frames(self._reader.cutter.close())
        news += [new for event in self._stages.close() for new in self._collect(event)]
        self.summary.close(self._at)
        return news + [new for choice in self._choices.values() for new in choice.close()]

    def transcript(self) -> Transcript:
        """Return the transcript of the reply so far."""
        turns = [
            ShownTurn("assistant", parts, choice)
            for choice, accumulator in self._choices.items()
            if (parts := accumulator.parts())
        ]
        # The first bytes, if they do not show the dialect yet.
        waiting = self.recogniser.held
        rest = (*self._rest, *([_as_text(waiting)] if waiting.strip() else ()))
        return Transcript(tuple(turns), facts=self._facts(), rest=rest, beside=self._beside.parts())

    def _facts(self) -> dict[str, object]:
        summary = self.summary.values()
        facts = {name: value for name, value in summary.items() if self._timed or name not in TIMES}
        reasons = [each.finish for each in self._choices.values() if each.finish]
        stops = [each.stop_sequence for each in self._choices.values() if each.stop_sequence]
        facts |= {"finish": ", ".join(reasons)} if reasons else {}
        return facts | ({"stop_sequence": ", ".join(stops)} if stops else {})

    def _begin(self) -> list[News]:
        """Create the machines for the recognised dialect, and read the first bytes. A reply of no
        known dialect is kept as raw text.
        """
        form = self.recogniser.form or Form.WHOLE
        whole = self._complete or form is Form.WHOLE
        dialect = self.recogniser.dialect or COMMON
        reading = reading_of(self._settings, self._expected, whole)
        self._reader = FrameReader(dialect, form, self._settings.map)
        self._stages = Stages(STAGES, reading)
        return self._read_frames(self._reader.cutter.feed(self.recogniser.take()))

    def _read_frames(self, frames: Iterable[Frame]) -> list[News]:
        events = (event for frame in frames for event in self._decoded(frame))
        # Successive events of one kind are joined: a frame has only some letters, and the machines'
        # time depends on the number of events.
        runs = joined(events, fields=True)
        return [news for event in runs for news in self._run_stages(event)]

    def _decoded(self, frame: Frame) -> list[Event]:
        assert self._reader
        if self.recogniser.dialect is None:
            return [_opaque(frame)]
        try:
            _, events = self._reader.read(frame)
        except Exception:  # A person sees the frame in spite of a fault of the addon.
            return [_opaque(frame)]
        odd = not events and frame.data is not None and _has_unknown_content(frame.data)
        return [_opaque(frame)] if odd else events

    def _run_stages(self, event: Event) -> list[News]:
        try:
            return [news for each in self._stages.feed_all([event]) for news in self._collect(each)]
        except Exception:
            return self._keep_raw(str(event).encode(errors="backslashreplace"))

    def _collect(self, event: Event) -> list[News]:
        self.summary.feed(event, self._at)
        match event:
            case OpaqueFrame():
                raw = event.own.raw
                return [] if event.comment or not raw.strip() else self._keep_raw(raw)
            case Start():
                return self._keep_fields(event)
            case _:
                return self._accumulator(event).feed(event)

    def _accumulator(self, event: Event) -> Accumulator:
        index = getattr(event, "choice", 0)
        if index not in self._choices:
            self._choices[index] = Accumulator(index)
        return self._choices[index]

    def _keep_fields(self, event: Start) -> list[News]:
        dialect = self.recogniser.dialect or COMMON
        for name, value in (event.own.fields if event.own else {}).items():
            if name == dialect.label.blocks:
                self._odd_content(event, value)
            elif name not in dialect.label.head and has_value(value):
                self._beside.add(name, value)
        return []

    def _odd_content(self, event: Start, content: object) -> None:
        """Add the parts of a message's content that a decoder cannot read: a content that is no
        list, or the list's items that are no blocks.
        """
        odd = (
            [block for block in content if not isinstance(block, dict) or _is_odd(block)]
            if isinstance(content, list)
            else content
        )
        if has_value(odd):
            self._accumulator(event).feed(Opaque("", {}, {"content": odd}))

    def _keep_raw(self, raw: bytes) -> list[News]:
        self._rest.append(_as_text(raw))
        return [News(Raw(self._rest[-1]))]


def read(
    body: bytes,
    chosen: Settings | None = None,
    content_type: str = "",
    *,
    expected: Expected | None = None,
) -> Transcript:
    """Return the transcript of a complete reply."""
    reader = ReplyReader(chosen, content_type, expected=expected, complete=True)
    reader.feed(body)
    reader.close()
    return reader.transcript()


def _opaque(frame: Frame) -> OpaqueFrame:
    return OpaqueFrame(Own("", raw=frame.raw), frame.comment)


def _as_text(raw: bytes) -> str:
    return raw.decode(errors="backslashreplace")


def _is_odd(block: dict[str, object]) -> bool:
    kind = block.get("type")
    value = block.get(str(kind))
    return kind in _SHOWN_TYPES and has_value(value) and not isinstance(value, str)


def _has_unknown_content(data: bytes) -> bool:
    """Return True if a frame has content in a form that its decoder does not know, and so gave no
    event.
    """
    frame = json_text.read_or_none(data)
    inner = [
        value
        for name in ("delta", "content_block")
        if isinstance(frame, dict) and isinstance(value := frame.get(name), dict)
    ]
    return any(
        has_value(value) for fields in inner for name, value in fields.items() if name not in _QUIET
    )
