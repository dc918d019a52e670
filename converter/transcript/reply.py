"""A reply as a person reads it, while it comes: of either dialect, streamed or whole, rewritten or
as the server sent it.

chunk -> FrameDecoder -> frame -> Decoder -> event -> ThinkStage -> event -> Growing parts. What
cannot be read is kept.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from converter import settings
from converter.dialects.anthropic.decoder import AnthropicDecoder
from converter.dialects.openai_chat.decoder import SAME_IN_EVERY_FRAME, OpenAIDecoder
from converter.dialects.reasoning_fields import is_said
from converter.dialects.table import ANTHROPIC, Decoder, Dialect, Form
from converter.events import Event, Opaque, OpaqueFrame, Own, Start, Text, Thinking
from converter.observe.summary import Summary
from converter.parsing.think_stage import Expected, Reading, ThinkStage
from converter.settings import Settings
from converter.transcript.accumulator import Accumulator, FieldAccumulator, Said
from converter.transcript.facts import TIMES
from converter.transcript.recognise import dialect_of, form_of
from converter.transcript.turns import Raw, Transcript, Turn
from converter.wire import json_text
from converter.wire.sse import Frame, FrameDecoder

_DEFAULTS = settings.read()
_OF_MESSAGE = ("id", "type", "role", "model", "stop_reason", "stop_sequence", "usage")
_QUIET = ("type", "index", "id", "name", "input", "signature", "cache_control")
"""Fields of a block or delta that may well say nothing to a person."""
_TOLD_TYPES = ("text", "thinking")
_HEAD = 4096
"""Bytes of a reply's beginning that tell a stream: blanks may come first."""
ASSISTANT = "assistant"


class ReplyReader:
    """Chunks in, what is new out; never raises. `transcript` tells all that has come, at any time.
    A chunk costs by its bytes.

    `complete`: all of the reply is at hand, so that a closer with no opener before it tells that
    the reply began inside a thought; it is then to be closed before it is looked at. `expected`:
    what else is known of where it begins. `dialect`: None for what is no reply.
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
        self._beginning = bytearray()
        self._frames: FrameDecoder | None = None
        self._decoder: Decoder | None = None
        self._stage: ThinkStage | None = None
        self._waiting: list[Frame] = []
        self._choices: dict[int, Accumulator] = {}
        self._beside = FieldAccumulator()
        self._rest: list[str] = []
        self._timed = False
        self._at = 0.0
        self.form: Form | None = None
        self.dialect: Dialect | None = None
        self.summary = Summary()
        self.closed = False

    def feed(self, chunk: bytes, at: float | None = None) -> list[Said]:
        """Return what the chunk makes known; it came `at` so many seconds after the request, if
        that is known.
        """
        if at is not None:
            self._timed, self._at = True, at
        self.summary.arrived(self._at)
        if self._frames:
            return self._told(self._frames.feed(chunk))
        self._beginning += chunk
        return self._begin() if self.form is None else []

    def close(self) -> list[Said]:
        """Return what is left: the reply is over, or broke off."""
        self.closed = True
        said = self._begin(last=True) if self.form is None else []
        frames = self._frames.close() if self._frames else self._whole()
        said += self._told(frames, last=True)
        if self._stage:
            said += [new for event in self._stage.close() for new in self._take(event)]
        self.summary.close(self._at)
        return said + [new for choice in self._choices.values() for new in choice.close()]

    def transcript(self) -> Transcript:
        """Return all that has come so far."""
        turns = [
            Turn(ASSISTANT, parts, choice)
            for choice, growing in self._choices.items()
            if (parts := growing.parts())
        ]
        rest = (*self._rest, *self._not_yet())
        return Transcript(tuple(turns), facts=self._facts(), rest=rest, beside=self._beside.parts())

    def _not_yet(self) -> list[str]:
        """What has come and cannot be read before more comes."""
        waiting = (
            self._beginning
            if self._frames is None and not self.closed
            else b"".join(frame.raw for frame in self._waiting)
        )
        return [_shown(bytes(waiting))] if waiting.strip() else []

    def _facts(self) -> dict[str, object]:
        told = self.summary.told()
        facts = {name: value for name, value in told.items() if self._timed or name not in TIMES}
        reasons = [growing.finish for growing in self._choices.values() if growing.finish]
        stops = [
            growing.stop_sequence for growing in self._choices.values() if growing.stop_sequence
        ]
        facts |= {"finish": ", ".join(reasons)} if reasons else {}
        return facts | ({"stop_sequence": ", ".join(stops)} if stops else {})

    def _begin(self, *, last: bool = False) -> list[Said]:
        """Look at the first bytes; a stream is read from now on."""
        self.form = form_of(bytes(self._beginning[:_HEAD]), self.content_type, last=last)
        if self.form is not Form.STREAM:
            return []
        self._frames = FrameDecoder()
        beginning, self._beginning = bytes(self._beginning), bytearray()
        return self._told(self._frames.feed(beginning))

    def _whole(self) -> list[Frame]:
        body = bytes(self._beginning)
        return [Frame(body, body)] if body.strip() else []

    def _told(self, frames: Iterable[Frame], *, last: bool = False) -> list[Said]:
        if self._decoder is None:
            frames = self._recognised(frames, last)
        events = (event for frame in frames for event in self._decoded(frame))
        return [said for event in _joined(events) for said in self._safely(event)]

    def _recognised(self, frames: Iterable[Frame], last: bool) -> list[Frame]:
        """Return the frames that can be read: none until one of them tells its dialect."""
        new = list(frames)
        self._waiting += new
        self.dialect = next(filter(None, map(dialect_of, new)), None)
        if self.dialect is None and not last:
            return []
        self._decoder = (
            AnthropicDecoder() if self.dialect is ANTHROPIC else OpenAIDecoder(self._settings.map)
        )
        whole = self._complete or self.form is not Form.STREAM
        self._stage = ThinkStage(Reading(self._settings, whole, self._expected))
        ready, self._waiting = self._waiting, []
        return ready

    def _decoded(self, frame: Frame) -> list[Event]:
        assert self._decoder
        try:
            events = self._decoder.feed(frame)
        except Exception:  # a fault of ours: a view has to show the frame all the same
            return [_opaque(frame)]
        odd = not events and frame.data is not None and _says_something(frame.data)
        return [_opaque(frame)] if odd else events

    def _safely(self, event: Event) -> list[Said]:
        assert self._stage
        try:
            return [said for made in self._stage.feed(event) for said in self._take(made)]
        except Exception:
            return self._unread(str(event).encode(errors="backslashreplace"))

    def _take(self, event: Event) -> list[Said]:
        self.summary.feed(event, self._at)
        match event:
            case OpaqueFrame():
                raw = event.own.raw
                return [] if event.comment or not raw.strip() else self._unread(raw)
            case Start():
                return self._head(event)
            case _:
                return self._choice(event).feed(event)

    def _choice(self, event: Event) -> Accumulator:
        index = getattr(event, "choice", 0)
        if index not in self._choices:
            self._choices[index] = Accumulator(index)
        return self._choices[index]

    def _head(self, event: Start) -> list[Said]:
        known = _OF_MESSAGE if self.dialect is ANTHROPIC else SAME_IN_EVERY_FRAME
        for name, value in (event.own.fields if event.own else {}).items():
            if name == "content" and self.dialect is ANTHROPIC:
                self._odd_content(event, value)
            elif name not in known and is_said(value):
                self._beside.add(name, value)
        return []

    def _odd_content(self, event: Start, content: object) -> None:
        """Take what a decoder cannot tell of a message's content: all of it, or the blocks that are
        none.
        """
        odd = (
            [block for block in content if not isinstance(block, dict) or _is_odd(block)]
            if isinstance(content, list)
            else content
        )
        if is_said(odd):
            self._choice(event).feed(Opaque("", {}, {"content": odd}))

    def _unread(self, raw: bytes) -> list[Said]:
        self._rest.append(_shown(raw))
        return [Said(Raw(self._rest[-1]))]


def read(
    body: bytes,
    chosen: Settings | None = None,
    content_type: str = "",
    *,
    expected: Expected | None = None,
) -> Transcript:
    """Return the transcript of a reply that is all there."""
    reader = ReplyReader(chosen, content_type, expected=expected, complete=True)
    reader.feed(body)
    reader.close()
    return reader.transcript()


def _joined(events: Iterable[Event]) -> Iterator[Event]:
    """Yield the events with runs of words as one: a stream's frames have some letters each, and all
    machines cost by the event.
    """
    run: list[Text | Thinking] = []
    for event in events:
        if run and not _goes_on(run[0], event):
            yield _one(run)
            run = []
        if isinstance(event, Text | Thinking):
            run.append(event)
        else:
            yield event
    if run:
        yield _one(run)


def _goes_on(first: Text | Thinking, event: Event) -> bool:
    return type(event) is type(first) and _place(first) == _place(event)


def _place(event: Text | Thinking) -> tuple[object, ...]:
    """Return where the words stood: the choice, and the fields of the server's own."""
    names = tuple(event.own.fields) if event.own else None
    return event.choice, names, isinstance(event, Text) and event.refusal


def _opaque(frame: Frame) -> OpaqueFrame:
    return OpaqueFrame(Own("", raw=frame.raw))


def _one(run: list[Text | Thinking]) -> Text | Thinking:
    return run[0] if len(run) == 1 else replace(run[0], text="".join(event.text for event in run))


def _shown(raw: bytes) -> str:
    return raw.decode(errors="backslashreplace")


def _is_odd(block: dict[str, object]) -> bool:
    kind = block.get("type")
    return (
        kind in _TOLD_TYPES
        and is_said(block.get(str(kind)))
        and not isinstance(block.get(str(kind)), str)
    )


def _says_something(data: bytes) -> bool:
    """Tell whether a frame without any event has something in it all the same, of a shape that the
    decoder does not know.
    """
    try:
        said = json_text.read(data)
    except json_text.UnreadableError:
        return False
    inner = [
        value
        for name in ("delta", "content_block")
        if isinstance(said, dict) and isinstance(value := said.get(name), dict)
    ]
    return any(
        is_said(value) for fields in inner for name, value in fields.items() if name not in _QUIET
    )
