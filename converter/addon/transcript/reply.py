"""`ReplyReader` reads the bytes of a reply as a transcript for people. The reply may be of any
dialect, streamed or whole, rewritten or as the server sent it. The machines are those of `core`;
`Accumulator` makes the parts of the transcript from their events.

chunk -> FrameReader -> events -> Stages -> events -> Accumulator -> new parts of the transcript.
The first bytes show the dialect, and whether the reply is a stream; if they do not, the content
type does. Bytes that cannot be read become a part of the transcript too.
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
from converter.core.wire.sse import Frame

_DEFAULTS = settings.read()
"""The settings if the user sets no option."""
AS_WRITTEN = replace(_DEFAULTS, tags=(), attributes=False, start=InitialState.TEXT)
"""The settings with which to read a reply that the addon has already rewritten. A mark of a thought
in its text is read as text, because the client, too, gets the mark as text.
"""
_SHOWN_TYPES = ("text", "thinking")
"""Types of blocks that the decoder reads if their text is a string. If a block of these types has,
for example, a list as its text, the block is shown as it came.
"""


class ReplyReader:
    """Reads one reply, chunk by chunk, as a transcript for people.

    `feed` reads a chunk, and returns what the chunk adds: new parts (a thought, text, a call), or
    further text of the last part, each as a `News`. `transcript` returns all parts so far. No
    method raises. The time for a chunk depends only on the chunk's length.

    `chosen`: the settings in force; None: the defaults. `complete`: True if the whole reply is fed
    before the transcript is read. Then a closer without an opener shows that the reply began in a
    thought. `expected`: what is known of the reply, such as the state in which it begins and the
    model's name; None: nothing.

    Attributes:
        content_type: the content type of the response.
        recogniser: recognises the form (stream or whole) and the dialect from the first bytes.
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
        """Read a chunk; return new parts and new text. `at`: the seconds from the request to the
        chunk, None if unknown.
        """
        if at is not None:
            self._timed, self._at = True, at
        self.summary.arrived(self._at)
        if self._reader:
            return self._read_frames(self._reader.cutter.feed(chunk))
        if self.recogniser.feed(chunk, self.content_type):
            return self._begin_reading()
        return []

    def close(self) -> list[News]:
        """End the reply; return the parts that `feed` has not returned, such as calls."""
        news: list[News] = []
        if self._reader is None:
            self.recogniser.feed(b"", self.content_type, last=True)
            news = self._begin_reading()
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
        # the recogniser holds all bytes until it has recognised the dialect: until then people see
        # them as they came
        waiting = self.recogniser.held
        rest = (*self._rest, *([_as_text(waiting)] if waiting.strip() else ()))
        summary = self.summary.values()
        facts = {name: value for name, value in summary.items() if self._timed or name not in TIMES}
        if reasons := [each.finish for each in self._choices.values() if each.finish]:
            facts["finish"] = ", ".join(reasons)
        if stops := [each.stop_sequence for each in self._choices.values() if each.stop_sequence]:
            facts["stop_sequence"] = ", ".join(stops)
        return Transcript(tuple(turns), facts=facts, rest=rest, beside=self._beside.parts())

    def _begin_reading(self) -> list[News]:
        """Create the machines that read the recognised dialect, and feed them the bytes that the
        recogniser has held; return what these add to the transcript. If no dialect was recognised,
        the frames become raw text.
        """
        form = self.recogniser.form or Form.WHOLE
        whole = self._complete or form is Form.WHOLE
        dialect = self.recogniser.dialect or COMMON
        reading = reading_of(self._settings, self._expected, whole)
        self._reader = FrameReader(dialect, form, self._settings.map)
        self._stages = Stages(STAGES, reading)
        return self._read_frames(self._reader.cutter.feed(self.recogniser.release()))

    def _read_frames(self, frames: Iterable[Frame]) -> list[News]:
        """Read frames; return what they add to the transcript."""
        events = (event for frame in frames for event in self._decode(frame))
        # successive events of one kind are joined, because the stages need as long for an event of
        # a few letters as for one of many
        runs = joined(events, fields=True)
        return [news for event in runs for news in self._run_stages(event)]

    def _decode(self, frame: Frame) -> list[Event]:
        """Return a frame's events; for a frame that cannot be read one event, which has the frame's
        bytes.
        """
        assert self._reader
        if self.recogniser.dialect is None:
            return [_opaque_frame(frame)]
        try:
            _, events = self._reader.read(frame)
        except Exception:  # even if the decoder fails, people see the frame as it came
            return [_opaque_frame(frame)]
        return events

    def _run_stages(self, event: Event) -> list[News]:
        """Pass an event through the stages; return what it adds to the transcript. If a stage
        raises an exception, the event is shown as raw text.
        """
        try:
            return [news for each in self._stages.feed_all([event]) for news in self._collect(each)]
        except Exception:
            return self._keep_raw(str(event).encode(errors="backslashreplace"))

    def _collect(self, event: Event) -> list[News]:
        """Add an event that the stages returned; return what it adds to the transcript."""
        self.summary.feed(event, self._at)
        match event:
            case OpaqueFrame():
                raw = event.own.raw
                return [] if event.comment or not raw.strip() else self._keep_raw(raw)
            case Start():
                return self._keep_fields(event)
            case _:
                return self._accumulator_of(event).feed(event)

    def _accumulator_of(self, event: Event) -> Accumulator:
        """Return the accumulator of an event's choice, which is created for the first event."""
        index = getattr(event, "choice", 0)
        if index not in self._choices:
            self._choices[index] = Accumulator(index)
        return self._choices[index]

    def _keep_fields(self, event: Start) -> list[News]:
        """Keep the fields of a reply's first event that no other event has, such as a server's
        timings. The returned list is empty, because they are shown at the reply's end.
        """
        label = (self.recogniser.dialect or COMMON).label
        fields = {**event.own.fields} if event.own else {}
        odd = fields.pop(label.blocks, None)
        # of a message's content, only items that the decoder could not read are kept
        if isinstance(odd, list):
            odd = [block for block in odd if not isinstance(block, dict) or _is_odd_block(block)]
        if has_value(odd):
            self._accumulator_of(event).feed(Opaque("", {}, {"content": odd}))
        for name, value in fields.items():
            if name not in label.head and has_value(value):
                self._beside.add(name, value)
        return []

    def _keep_raw(self, raw: bytes) -> list[News]:
        """Add bytes that cannot be read to the transcript as raw text, and return this part."""
        self._rest.append(_as_text(raw))
        return [News(Raw(self._rest[-1]))]


def read(
    body: bytes,
    chosen: Settings | None = None,
    content_type: str = "",
    *,
    expected: Expected | None = None,
) -> Transcript:
    """Return the transcript of a complete reply. `chosen`: the settings in force; None: the
    defaults. `expected`: what is known of the reply, such as the state in which it begins; None:
    nothing.
    """
    reader = ReplyReader(chosen, content_type, expected=expected, complete=True)
    reader.feed(body)
    reader.close()
    return reader.transcript()


def _opaque_frame(frame: Frame) -> OpaqueFrame:
    """Return the event that shows a frame's bytes as they came."""
    return OpaqueFrame(Own("", raw=frame.raw), frame.comment)


def _as_text(raw: bytes) -> str:
    """Return bytes as text, with an escape for each byte that is not UTF-8."""
    return raw.decode(errors="backslashreplace")


def _is_odd_block(block: dict[str, object]) -> bool:
    """Return True if a block of text or thinking has a list, say, in place of a string."""
    kind = block.get("type")
    value = block.get(str(kind))
    return kind in _SHOWN_TYPES and has_value(value) and not isinstance(value, str)
