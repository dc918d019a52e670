"""The fast path: frames that differ only in their text are rewritten without being parsed.

Successive frames of a server often differ only in their text. From a frame that was parsed the fast
path learns its *shape*, the bytes before and behind the text; from the frame that was written for
it, the *route*: how text of this kind is written. `FastPath.rewrite` rewrites the following frames
as long as they have this shape.
"""

# Why a frame that the fast path rewrites equals the frame that the full way would write.
#
# The full way is encoder(stages(decoder(frame))). Say g is the frame from which the route was
# learned, and f is a later frame. Then each of the three does the same to f as to g:
#
# Decoder. f and g have the same bytes before and behind the text, and g had its text once
#    (`_shape_of`). The text is plain: the inside of one JSON string, without quotation marks,
#    control characters and escapes that JSON writers spell differently. So f is the same JSON as g
#    except for this one string (or this one piece of a call's arguments). A decoder whose state
#    depends on the text, because it merges the text of two fields, has to agree
#    (`Decoder.repeat`).
# Stages. Each stage says what plain text becomes, and at which characters it acts (`Stage.plain`);
#    it returns None while it holds text. Text without these characters leaves the stage at once.
#    However a text is cut, the stages emit the same message. So they may get the text later and
#    joined, as long as they get it before the next text (`settle`).
# Encoder. The frame that was written for g is split at its text (`Seam`). A plain text has only one
#    spelling as a JSON string, so that any plain text fits between the pieces. Three cases differ:
#    - The encoder may have written frames before g's that began a block (`Encoder.in_blocks`), and
#      blanks before g's text that it had held. Only the frame with the text is split.
#    - g's text may also stand elsewhere in its frame by chance (`text`, `:`). Such a route is
#      `_unsure` until another text was written as the pieces predict.
#    - A frame may have a number, which is counted on, and an encoder may count or collect text: it
#      gets the text (`Encoder.spliced`).
#
# While a stage holds the text of a call, the stages get the text as above, and nothing is written
# (`_HELD`).
#
# A frame of another shape goes the full way, after `settle`. `tests/core/reply/test_fast_path.py`
# compares both ways over all recordings and over drawn replies.

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate

from converter.core.dialects.wire_form import Decoder, Encoder
from converter.core.model.events import (
    Event,
    Opaque,
    Own,
    Text,
    TextEvent,
    TextKind,
    Thinking,
    ToolCall,
    model_text,
)
from converter.core.reply.chain import LONGEST, Stages
from converter.core.wire import json_text

_DIGITS = b"0123456789"


@dataclass(frozen=True, slots=True)
class Seam:
    """A written frame without its text, which belongs between each two `pieces`. If `counter` is
    not empty, the frame's number stands behind it in the first piece.
    """

    pieces: tuple[bytes, ...]
    counter: bytes = b""

    @property
    def gaps(self) -> int:
        """The number of gaps for the text."""
        return len(self.pieces) - 1

    def is_sure(self, frame: bytes, text: str) -> bool:
        """Return True if the only gap is certain to be that of the text.

        It is not if `text` is also a field's name in the frame, or the end of another string or
        line: then the match may be chance, because the encoder may have written the text with
        blanks that it had held, or without blanks.
        """
        written = json_text.write(text)[1:]
        ends = frame.count(written) + frame.count(written[:-1] + b"\n")
        return self.gaps == ends == 1 and not self.pieces[1].startswith(b":")

    def gives(self, frame: bytes, text: str) -> bool:
        """Return True if `frame` is what this seam writes for `text`."""
        return _without_number(frame, self.counter) == json_text.write(text).join(self.pieces)

    def write(self, texts: Sequence[bytes], first: int) -> bytes:
        """Return a frame for each text. `texts`: JSON strings without their quotation marks.
        `first`: the number of the first frame.
        """
        if self.counter:
            begin, counter, behind = self.pieces[0].partition(self.counter)
            begin += counter
            ends = Seam((behind, *self.pieces[1:]))
            frames = (ends.write([text], 0) for text in texts)
            return b"".join([b"%b%d%b" % (begin, at, end) for at, end in enumerate(frames, first)])
        if self.gaps == 1:
            head, tail = self.pieces[0] + b'"', b'"' + self.pieces[1]
            return head + (tail + head).join(texts) + tail
        return b"".join([(b'"' + text + b'"').join(self.pieces) for text in texts])


def splice_of(frame: bytes, text: str, counter: bytes = b"") -> Seam:
    """Return the seam of a written frame, by the text in it."""
    return Seam(tuple(_without_number(frame, counter).split(json_text.write(text))), counter)


def _without_number(frame: bytes, counter: bytes) -> bytes:
    if not counter:
        return frame
    begin, name, rest = frame.partition(counter)
    return begin + name + rest.lstrip(_DIGITS)


MOST_WAITING = 2048
"""How many characters the stages may still have to get. The texts of one read are given to them as
one text.
"""
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\\\": "\\"}
"""Escapes that all JSON writers write alike, in the spelling of a regular expression -> their
meanings.
"""
_ESCAPE_IN_JSON = r'\\\\(?:[bfnrt/]|\\["\\])'
"""An escape in a call's arguments, which are JSON within a JSON string."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """The bytes before and behind the text in a server's frames of one kind.

    Attributes:
        sample: the event of such a frame, with empty text.
    """

    before: bytes
    behind: bytes
    sample: TextEvent

    def fits(self, raw: bytes) -> bool:
        fitting = len(self.before) + len(self.behind) <= len(raw) <= LONGEST
        return fitting and raw.startswith(self.before) and raw.endswith(self.behind)

    def plain_texts(
        self, raws: Sequence[bytes], begin: int, plain: Callable[[bytes], object]
    ) -> list[bytes]:
        """Return the texts of the frames from `begin` on, up to the first frame of another shape or
        with a text that is not plain.
        """
        pieces: list[bytes] = []
        before, behind, fits = len(self.before), len(self.behind), self.fits
        for index in range(begin, len(raws)):
            raw = raws[index]
            if not fits(raw) or not plain(text := raw[before:-behind]):
                break
            pieces.append(text)
        return pieces


@dataclass(frozen=True, slots=True)
class _Route:
    """The form in which text of one kind is written for the client.

    Attributes:
        sample: the event that the text becomes, with empty text.
        seam: the frame to write; None if frames are sent as they came.
    """

    sample: TextEvent
    seam: Seam | None


_HELD = _Route(ToolCall(0, "", "", ""), None)
"""The route of text that a stage holds, because it belongs to a call: nothing is written."""

type _Ready = tuple[_Shape, TextKind, Callable[[bytes], object], _Route, bool]
"""A shape, the kind of event that its text becomes, the test for plain text, the route, and True if
the event stays as it was read.
"""


class FastPath:
    """The shape and the routes of one stream.

    Arguments:
        tell: is called with the events of each `rewrite`.
        counter: the field with the number of a client's frame; empty if frames have no numbers.

    Attributes:
        changes: True if the last frames were not sent as they came.
        text: the text of the last frames.
        waiting: how many characters the stages have not got yet.
    """

    def __init__(
        self,
        decoder: Decoder,
        stages: Stages,
        encoder: Encoder,
        tell: Callable[[list[Event]], object],
        counter: str = "",
    ) -> None:
        self.changes, self.text, self.waiting = False, "", 0
        self._decoder, self._stages, self.encoder, self._tell = decoder, stages, encoder, tell
        self._counter = json_text.write(counter) + b":" if counter else b""
        self._shape: _Shape | None = None
        self._routes: dict[TextKind, _Route] = {}
        self._unsure: dict[TextKind, str] = {}
        """Kinds of text whose route is not certain (`Seam.is_sure`) -> the text from which the
        route was learned. The entry is removed when another text was written by the route.
        """
        self._ready: _Ready | None = None
        self._waiting: list[TextEvent] = []

    def rewrite(self, raws: Sequence[bytes], begin: int) -> tuple[int, bytes]:
        """Rewrite frames from `begin` on. Return the number of rewritten frames, and the client's
        bytes for them.
        """
        ready = self._look()
        if ready is None:
            return 0, b""
        shape, kind, plain, route, stays = ready
        texts = shape.plain_texts(raws, begin, plain)
        if route is _HELD:  # `Engine.plain` promises to hold no more than this
            sizes = accumulate(map(len, texts), initial=self.waiting)
            texts = texts[: sum(size <= 2 * MOST_WAITING for size in sizes) - 1]
        text = decoded(texts) if texts else None
        if text is None or not self._decoder.repeat(read := _with(shape.sample, text)):
            return 0, b""
        self._waiting.append(read)
        self.text, self.waiting = text, self.waiting + len(text)
        self.changes = route is _HELD or route.seam is not None
        if route is _HELD:
            return len(texts), b""
        self._tell([read if stays else _with(route.sample, text)])
        first = self.encoder.spliced(kind, text, len(texts))
        taken = raws[begin : begin + len(texts)]
        return len(texts), route.seam.write(texts, first) if route.seam else b"".join(taken)

    def settle(self) -> None:
        """Give the stages the text that was sent without them. Afterwards other text may be
        plain.
        """
        self._ready = None
        if self._waiting:
            waiting, self._waiting, self.waiting = self._waiting, [], 0
            text = "".join(map(model_text, waiting))
            assert self._shape
            joined = waiting[0] if len(waiting) == 1 else _with(self._shape.sample, text)
            self._stages.feed_all([joined])

    def _look(self) -> _Ready | None:
        """Return what `rewrite` needs; None if no text is plain now, or if no route was learned."""
        if self.waiting > MOST_WAITING:
            return None  # the next frame is parsed, and before it the stages get all text
        if self._ready is None and self._shape:
            plain = self._stages.plain(type(self._shape.sample))
            if plain and plain[0] in self._routes and plain[0] not in self._unsure:
                shape, kind, route = self._shape, plain[0], self._routes[plain[0]]
                test, stays = _plain(plain[1], kind is ToolCall), route.sample == shape.sample
                self._ready = shape, kind, test, route, stays
        return self._ready

    def learn(
        self, raw: bytes, read: Sequence[Event], staged: Sequence[Event], out: Sequence[bytes]
    ) -> None:
        """Learn from a frame that was parsed, or forget what no longer holds.

        Arguments:
            raw: the frame; empty if it had to be mended, or if the routes of earlier frames no
                longer hold.
            read: the events of the frame.
            staged: the events behind the stages.
            out: the bytes that were written.
        """
        event, became = _only_text(read), _only_text(staged)
        if event and not (_bare(staged) or out or isinstance(event, ToolCall)):  # text is held
            fits = self._shape and self._shape.fits(raw)
            self._shape = self._shape if fits else _shape_of(raw, event)
            self._routes = {**(self._routes if fits else {}), ToolCall: _HELD}
            return
        if self._shape and self._shape.fits(raw) and self._goes_on(read, staged, out):
            return
        written = out[-1] if len(out) == 1 or (out and self.encoder.in_blocks) else b""
        if not (event and became and model_text(event) == model_text(became)) or not written:
            self._routes.clear()  # the frame began or ended a block
            if self._shape and not self._shape.fits(raw):
                self._shape = None
            return
        shape, text = _shape_of(raw, event), model_text(event)
        seam = None if written == raw else splice_of(written, text, self._counter)
        route, kind = _Route(_sample(became), seam), type(became)
        if shape is None or shape != self._shape or self._routes.get(kind) != route:
            self._shape = shape
            self._routes.clear()
        if shape and (seam is None or seam.gaps):
            self._routes[kind] = route
            self._unsure.pop(kind, None)
            if seam and not seam.is_sure(written, text):
                self._unsure[kind] = text

    def _goes_on(
        self, read: Sequence[Event], staged: Sequence[Event], out: Sequence[bytes]
    ) -> bool:
        """Return True if a frame of the learned shape was written by the learned route. A stage may
        have held its text, or have emitted held text with it.
        """
        bare, became = _bare(read), _bare(staged)
        if not became:
            return not bare or _only_text(bare) is not None
        event = _only_text(became)
        route = self._routes.get(type(event)) if event else None
        if event is None or route is None or route.sample != _sample(event) or len(out) != 1:
            return False
        text, seam = model_text(event), route.seam
        gives = seam.gives(out[0], text) if seam else json_text.write(text) in out[0]
        if gives and self._unsure.get(type(event), text) != text:
            del self._unsure[type(event)]  # the route is right for a second text
        return gives


def decoded(texts: Sequence[bytes]) -> str | None:
    """Return the texts joined; None if one of them is not valid UTF-8 by itself."""
    joined = b"".join(texts)
    try:
        text = joined.decode() if joined.isascii() else "".join([each.decode() for each in texts])
    except UnicodeDecodeError:
        return None
    return json.loads(f'"{text}"') if "\\" in text else text


def _only_text(events: Sequence[Event]) -> TextEvent | None:
    """Return the text event of the first choice; None if there are other events, except `Opaque`
    ones.
    """
    match _bare(events):
        case [Text(choice=0, refusal=False, own=None) | Thinking(choice=0) as event]:
            return event
        case [ToolCall(choice=0, id="", name="", ends=False, misshapen=False) as piece]:
            return None if piece.free_text else piece
        case _:
            return None


def _with(sample: TextEvent, text: str) -> TextEvent:
    """Return an event like `sample`, with this text."""
    if isinstance(sample, ToolCall):
        return replace(sample, arguments=text)
    if isinstance(sample, Thinking) and sample.own:
        return Thinking(text, own=Own(sample.own.dialect, dict.fromkeys(sample.own.fields, text)))
    return type(sample)(text)


def _sample(event: TextEvent) -> TextEvent:
    """Return the event with empty text."""
    if isinstance(event, ToolCall):
        return replace(event, arguments="", own=None, read_from="")
    return _with(event, "")


def _bare(events: Sequence[Event]) -> list[Event]:
    """Return the events without `Opaque` events of the first choice."""
    return [event for event in events if not (isinstance(event, Opaque) and event.choice == 0)]


def _shape_of(raw: bytes, event: TextEvent) -> _Shape | None:
    """Return the frame's shape; None if the frame does not have the text exactly once."""
    text = model_text(event)
    if not text or len(raw) > LONGEST:
        return None
    if isinstance(event, Thinking) and event.own and [*event.own.fields.values()] != [text]:
        return None
    written = json_text.write(text)
    before, _, behind = raw.partition(written)
    if not behind or written in behind:
        return None
    return _Shape(before + b'"', b'"' + behind, _sample(event))


@lru_cache(maxsize=256)
def _plain(not_plain: str, in_json: bool) -> Callable[[bytes], object]:
    """Return a function that returns a match if a JSON string's inside is plain text, else None.
    `in_json`: the text is JSON itself, in which a backslash belongs to the character behind it.
    """
    single = "".join(re.escape(one) for one in sorted(set(not_plain)) if one.isascii())
    wide = "".join(f"(?!{re.escape(one)})" for one in sorted(set(not_plain)) if not one.isascii())
    escapes = "".join(name for name, sign in _ESCAPES.items() if sign not in not_plain)
    single_escape = f"\\\\[{escapes}]" if escapes else "(?!)"
    escape = _ESCAPE_IN_JSON if in_json and "\\" not in not_plain else single_escape
    letter = f'{wide}[^"\\\\\\x00-\\x1f{single}]'
    return re.compile(f"(?:{letter}|{escape})++".encode()).fullmatch
