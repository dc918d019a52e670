"""Frames that differ in their text only are rewritten without being parsed.

Servers repeat themselves: two frames in a row often differ in their text alone. A frame that was
read in full teaches its shape (all before and behind the text), and the frames written for it teach
how text of its kind is written. `FastPath.rewrite` takes the next frames as long as they have this
shape.
"""

# Why a spliced frame equals the parsed one. The full way writes E(S(D(frame))): decoder, stages,
# encoder. Each of the three does to a spliced frame what it did to the frame g that taught the
# route:
#
# D  A frame f = before + text + behind has the same `before` and `behind` as g, where the text
#    stood once (`_shape_of`). The text is plain: the inside of one JSON string, with no quotation
#    mark, no control character and no escape but those on which all writers agree. So f is the same
#    JSON as g but for this string; a piece of a call's arguments is the same piece but for it. A
#    decoder whose state depends on the text, because it merges the text of two fields, is asked
#    whether it would read the text so (`Decoder.repeat`).
# S  Each stage answers what plain text becomes, and for which characters it waits (`Stage.plain`);
#    it answers None while it holds text. Text without these characters comes out of it at once. The
#    text cut anywhere makes the same message: so the stages may get the text later and in one
#    piece, if it is before all that comes behind it (`settle`).
# E  The frame that was written for g is cut at its text into pieces; text is written as the same
#    JSON string, because plain text has one spelling. Before that frame an encoder of blocks
#    (`Encoder.in_blocks`) may have begun the block, and before g's text may stand blanks that it
#    had held. A frame in which g's text stood elsewhere by chance (`text`, `:`) is `_unsure` until
#    another text came out as the pieces predict. A number of the frame goes on by one, and an
#    encoder that counts or keeps text gets it (`Encoder.spliced`).
#
# Of a call in the text that is held, S keeps plain text, and E writes nothing (`_HELD`), as for the
# frame of this shape before it.
#
# A frame that fits no more goes the full way, after `settle`. `tests/core/reply/test_fast_path.py`
# holds the two ways against each other, over all recordings and drawn ones.

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

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
    """A written frame without its text. The text goes between each two `pieces`. The frame's number
    follows `counter`, if that is not empty, in the first piece.
    """

    pieces: tuple[bytes, ...]
    counter: bytes = b""

    @property
    def gaps(self) -> int:
        """The number of gaps between the pieces, which hold the text."""
        return len(self.pieces) - 1

    def is_sure(self, frame: bytes, text: str) -> bool:
        """Return True if the only gap is sure to hold the text of the frame that taught this seam:
        the text is no field's name, and ends no other string or line of the frame. Else the match
        may be by chance, where an encoder wrote blanks before the text that it had held, or omitted
        them.
        """
        written = json_text.write(text)[1:]
        ends = frame.count(written) + frame.count(written[:-1] + b"\n")
        return self.gaps == ends == 1 and not self.pieces[1].startswith(b":")

    def gives(self, frame: bytes, text: str) -> bool:
        """Return True if the frame is this text, written into the seam."""
        return _without_number(frame, self.counter) == json_text.write(text).join(self.pieces)

    def write(self, texts: Sequence[bytes], first: int) -> bytes:
        """Return a frame for each text, which is JSON without its quotation marks. `first`: the
        number of the first frame.
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
    """Return the seam of a frame, by the text that the frame holds."""
    return Seam(tuple(_without_number(frame, counter).split(json_text.write(text))), counter)


def _without_number(frame: bytes, counter: bytes) -> bytes:
    if not counter:
        return frame
    begin, name, rest = frame.partition(counter)
    return begin + name + rest.lstrip(_DIGITS)


MOST_WAITING = 2048
"""Characters that may wait for the stages; the texts of one read are given to them as one."""
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\\\": "\\"}
"""Escapes that JSON writers agree on, as a regular expression has them, with their meaning."""
_ESCAPE_IN_JSON = r'\\\\(?:[bfnrt/]|\\["\\])'
"""An escape of arguments, which are JSON within JSON."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """The bytes before and behind the text in a server's frames of one kind, by which later ones
    are recognised. `sample`: the event of such a frame, its text empty.
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
        """Return the texts of the frames from `begin` on, as far as they are plain."""
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
    """The route of one kind of text to the client.

    Attributes:
        sample: the event that the text becomes, without its text.
        seam: the frame that is written; None for the frame as it came.
    """

    sample: TextEvent
    seam: Seam | None


_HELD = _Route(ToolCall(0, "", "", ""), None)
"""The route of a call's part that is held: nothing is written."""

type _Ready = tuple[_Shape, TextKind, Callable[[bytes], object], _Route, bool]
"""A shape, the kind of event that its text becomes now, the test for plain text, the route, and
True if the event stays as it was read.
"""


class FastPath:
    """The shapes and routes of one stream.

    Arguments:
        tell: gets the events of each `rewrite`.
        counter: the field that numbers the client's frames, if they are numbered.

    Attributes:
        changes: the last frames did not go on as they came.
        text: theirs.
        waiting: the number of characters that the stages have not got yet.
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
        """The text that taught the route of a kind, while it may stand in its frame by chance, as
        `:` and `text` do: until another text is written as the route says.
        """
        self._ready: _Ready | None = None
        self._waiting: list[TextEvent] = []

    def rewrite(self, raws: Sequence[bytes], begin: int) -> tuple[int, bytes]:
        """Rewrite frames from `begin` on; return how many, and the client's bytes for them."""
        ready = self._look()
        if ready is None:
            return 0, b""
        shape, kind, plain, route, stays = ready
        texts = shape.plain_texts(raws, begin, plain)
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
        """Give the stages the text that went past them. Other text may be plain behind it."""
        self._ready = None
        if self._waiting:
            waiting, self._waiting, self.waiting = self._waiting, [], 0
            text = "".join(map(model_text, waiting))
            assert self._shape
            joined = waiting[0] if len(waiting) == 1 else _with(self._shape.sample, text)
            self._stages.feed_all([joined])

    def _look(self) -> _Ready | None:
        """Return the shape and the test for plain text; None where none is plain, or where no route
        is learned.
        """
        if self.waiting > MOST_WAITING:
            return None  # the next frame is parsed, and the stages get these words before it
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
        """Learn from a frame that went the full way: the events `read` from it, the events
        `staged`, and the bytes `out` that were written. `raw`: empty for a frame that had to be
        mended; the routes of earlier frames may not hold behind it.
        """
        event, became = _only_text(read), _only_text(staged)
        if event and not (_bare(staged) or out or isinstance(event, ToolCall)):  # it is held
            fits = self._shape and self._shape.fits(raw)
            self._shape = self._shape if fits else _shape_of(raw, event)
            self._routes = {**(self._routes if fits else {}), ToolCall: _HELD}
            return
        if self._shape and self._shape.fits(raw) and self._goes_on(read, staged, out):
            return
        written = out[-1] if len(out) == 1 or (out and self.encoder.in_blocks) else b""
        if not (event and became and model_text(event) == model_text(became)) or not written:
            self._routes.clear()  # a block began or ended
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
        """Return True if a frame of the learned shape is still written by the learned route. Its
        text may wait in a stage, or come out with text that had waited.
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
            del self._unsure[type(event)]  # another text was written by this route
        return gives


def decoded(texts: Sequence[bytes]) -> str | None:
    """Return the texts as one; None when one of them is no UTF-8 by itself."""
    joined = b"".join(texts)
    try:
        text = joined.decode() if joined.isascii() else "".join([each.decode() for each in texts])
    except UnicodeDecodeError:
        return None
    return json.loads(f'"{text}"') if "\\" in text else text


def _only_text(events: Sequence[Event]) -> TextEvent | None:
    """Return the text event of the first choice; None unless it is alone but for the server's own
    fields.
    """
    match _bare(events):
        case [Text(choice=0, refusal=False, own=None) | Thinking(choice=0) as event]:
            return event
        case [ToolCall(choice=0, id="", name="", ends=False, misshapen=False) as piece]:
            return None if piece.free_text else piece
        case _:
            return None


def _with(sample: TextEvent, text: str) -> TextEvent:
    """Return an event like the sample, with this text."""
    if isinstance(sample, ToolCall):
        return replace(sample, arguments=text)
    if isinstance(sample, Thinking) and sample.own:
        return Thinking(text, own=Own(sample.own.dialect, dict.fromkeys(sample.own.fields, text)))
    return type(sample)(text)


def _sample(event: TextEvent) -> TextEvent:
    """Return the event without its text."""
    if isinstance(event, ToolCall):
        return replace(event, arguments="", own=None, read_from="")
    return _with(event, "")


def _bare(events: Sequence[Event]) -> list[Event]:
    """Return the events without those that only hold the first choice's own fields."""
    return [event for event in events if not (isinstance(event, Opaque) and event.choice == 0)]


def _shape_of(raw: bytes, event: TextEvent) -> _Shape | None:
    """Return the frame's shape; None where the text stands in the frame more than once, or not at
    all.
    """
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
def _plain(wakes: str, in_json: bool) -> Callable[[bytes], object]:
    """Return the test for plain text in JSON, which matches all of a text or nothing. `in_json`:
    the text is JSON itself, in which a backslash comes with the character that it escapes.
    """
    single = "".join(re.escape(mark) for mark in sorted(set(wakes)) if mark.isascii())
    wide = "".join(f"(?!{re.escape(mark)})" for mark in sorted(set(wakes)) if not mark.isascii())
    escapes = "".join(name for name, mark in _ESCAPES.items() if mark not in wakes)
    single_escape = f"\\\\[{escapes}]" if escapes else "(?!)"
    escape = _ESCAPE_IN_JSON if in_json and "\\" not in wakes else single_escape
    letter = f'{wide}[^"\\\\\\x00-\\x1f{single}]'
    return re.compile(f"(?:{letter}|{escape})++".encode()).fullmatch
