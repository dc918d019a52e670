"""`FastPath` rewrites frames that differ only in their text, without parsing them. `Rewriter` has
all other frames parsed; each stage says in its method `plain` which text may skip it.

Successive frames of a server often differ only in their text. From a frame that was parsed, the
fast path learns its *shape*: the bytes before and behind the text. From the frame that the encoder
wrote for it, the fast path learns the *route*: how to write text of this kind for the client.
`FastPath.rewrite` rewrites the following frames as long as they have this shape and plain text.
"""

# Why a frame that the fast path rewrites equals the frame that the full way would write.
#
# The full way is encoder(stages(decoder(frame))). Say g is the frame from which the fast path has
# learned, and f is a later frame that it rewrites. Each of the three treats f like g:
#
# Decoder. f and g have the same bytes before and behind the text, and g had its text only once
#    (`_shape_of`). f's text is plain: it has no quotation marks but escaped ones, no control
#    characters, and no escapes that JSON writers spell differently. So f is the same JSON as g,
#    except for one string. A decoder may compare the texts of two fields. So each decoder is asked
#    whether it would treat f like g (`Decoder.record_unparsed`).
# Stages. Each stage says which kind of event a plain text becomes, and at which characters it does
#    something else (`Stage.plain`). Text without these characters leaves the stage at once. The
#    stages emit the same message wherever a text is cut. So they may get the text of several frames
#    later and as one, but before any text that is not plain (`settle`).
# Encoder. If it sent g as it came, f is sent as it came. Else the frame that it wrote for g is cut
#    at g's text (`FrameTemplate`), and f's text is put in its place: a plain text has only one
#    spelling as a JSON string. Three cases need care:
#    - Before g's frame, the encoder may have written frames that began a block
#      (`Encoder.in_blocks`). Only the frame with the text is cut.
#    - g's text may be such (`text`, `:`) that the written frame has the same string elsewhere. Then
#      the cut frame is not used (`_unsure`) until a second text was written as it predicts.
#    - An encoder may number its frames, or count and collect text. It is given the text of the
#      rewritten frames, and returns the number of the first (`Encoder.record_unparsed_text`).
#
# While a stage holds text that may be a tool call, the full way would write nothing. The fast path
# then writes nothing either, and the stages get the text later, as above (`_HELD`).
#
# A frame of another shape goes the full way, after `settle`. `tests/core/reply/test_fast_path.py`
# compares both ways over all recordings and over randomly drawn replies.

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
"""The digits of which the number of a frame consists (`FrameTemplate.counter`)."""


@dataclass(frozen=True, slots=True)
class FrameTemplate:
    """A frame for the client, cut at its text, so that other text can be put there: `{"text":"Hi"}`
    -> `{"text":` and `}`.
    """

    pieces: tuple[bytes, ...]
    """The bytes of the frame without its text. Between each two pieces, the text stands as a JSON
    string.
    """
    counter: bytes = b""
    """The field name behind which a frame's number stands, with quotes and colon:
    `"sequence_number":`. Empty if frames have no numbers. `pieces` have this name, but no number;
    `write` adds it.
    """

    @property
    def gap_count(self) -> int:
        """The number of times that the text stands in the frame."""
        return len(self.pieces) - 1

    def is_sure(self, frame: bytes, text: str) -> bool:
        """Return True if the frame was certainly cut at its text, and not at another string that is
        equal to the text by chance. `frame`: the frame before it was cut. `text`: its text.

        The result is False if `text` is not exactly one JSON string of the frame, if this is the
        name of a field (`"text":`), or if `text` also ends a longer string or a line, such as
        `event: text`. Such a longer string may be the text that the client gets: the encoder may
        have put held blanks before `text`.
        """
        written = json_text.write(text)[1:]
        ends = frame.count(written) + frame.count(written[:-1] + b"\n")
        return self.gap_count == ends == 1 and not self.pieces[1].startswith(b":")

    def writes(self, frame: bytes, text: str) -> bool:
        """Return True if `frame` equals the frame that `write` returns for `text`, except for the
        frame's number.
        """
        return _unnumbered(frame, self.counter) == json_text.write(text).join(self.pieces)

    def write(self, texts: Sequence[bytes], first: int) -> bytes:
        """Return the bytes of frames, one for each of `texts`, which are JSON strings without their
        quotation marks. `first`: the number of the first frame; each next frame has the next
        number.
        """
        if self.counter:
            begin, counter, behind = self.pieces[0].partition(self.counter)
            begin += counter
            ends = FrameTemplate((behind, *self.pieces[1:]))
            frames = (ends.write([text], 0) for text in texts)
            return b"".join([b"%b%d%b" % (begin, at, end) for at, end in enumerate(frames, first)])
        if self.gap_count == 1:
            head, tail = self.pieces[0] + b'"', b'"' + self.pieces[1]
            return head + (tail + head).join(texts) + tail
        return b"".join([(b'"' + text + b'"').join(self.pieces) for text in texts])


def template_of(frame: bytes, text: str, counter: bytes = b"") -> FrameTemplate:
    """Return the template of `frame`: the bytes of the frame, cut wherever `text` stands, and
    without the frame's number. `counter`: the field name behind which the number stands
    (`"sequence_number":`); empty if frames have no numbers.
    """
    return FrameTemplate(tuple(_unnumbered(frame, counter).split(json_text.write(text))), counter)


def _unnumbered(frame: bytes, counter: bytes) -> bytes:
    """Return `frame` without its number: the digits behind the field name `counter`. Return `frame`
    itself if `counter` is empty.
    """
    if not counter:
        return frame
    begin, name, rest = frame.partition(counter)
    return begin + name + rest.lstrip(_DIGITS)


MOST_WAITING = 2048
"""If more characters of rewritten text wait for the stages, the next frame is not rewritten but
parsed. Before it, the stages get all waiting text as one text (`FastPath.settle`). One call of
`FastPath.rewrite` may add any number of characters, but only so many to a held call that at most
twice this number waits.
"""
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\\\": "\\"}
"""The escapes that all JSON writers write alike: the character behind the backslash, as a regular
expression -> the character for which the escape stands.
"""
_ESCAPE_IN_JSON = r'\\\\(?:[bfnrt/]|\\["\\])'
"""The pattern of an escape of one letter in a call's arguments. They are JSON within a JSON string,
so that each backslash of theirs is written as two.
"""


@dataclass(frozen=True, slots=True)
class _Shape:
    """The shape of a server's frames that differ only in their text."""

    before: bytes
    """The bytes before the text."""
    behind: bytes
    """The bytes behind the text."""
    sample: TextEvent
    """The event that the decoder returns for a frame of this shape, with empty text."""

    def fits(self, raw: bytes) -> bool:
        """Return True if the frame `raw` has the bytes `before` and `behind` around its text, and
        is not too long (`LONGEST`).
        """
        fitting = len(self.before) + len(self.behind) <= len(raw) <= LONGEST
        return fitting and raw.startswith(self.before) and raw.endswith(self.behind)

    def plain_texts(
        self, raws: Sequence[bytes], begin: int, plain: Callable[[bytes], object]
    ) -> list[bytes]:
        """Return the texts of the frames `raws` from the index `begin` on. Stop before the first
        frame that has another shape, or text that is not plain. `plain`: returns a match if a text
        is plain, else `None`. A text is plain if no stage must get it now, and if it has only one
        spelling in JSON.
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
    """The way in which text of one kind (thinking, answer, arguments) is written for the client."""

    sample: TextEvent
    """The event that the stages return for text of this kind, with empty text."""
    template: FrameTemplate | None
    """The client's frame without text; `None` if the server's frames are sent as they came."""


_HELD = _Route(ToolCall(0, "", "", ""), None)
"""The route of text that a stage holds because it may be a tool call: nothing is written for it."""

type _Ready = tuple[_Shape, TextKind, Callable[[bytes], object], _Route, bool]
"""All that `FastPath.rewrite` needs: the shape; the kind of event that the stages return for its
text; a function that returns a match if a text is plain; the route; and True if the stages return
the very event that the decoder returned.
"""


class FastPath:
    """The fast path of one stream. It remembers the shape of the server's frames, and for each kind
    of text (thinking, answer, arguments) the route: how it is written for the client.

    Arguments:
        record: a function that gets, in a list, one event with the text of all frames that a call
            of `rewrite` has rewritten. It is not called while a stage holds the text.
        counter: the name of the field in which the client's frames are numbered; empty if they have
            no numbers.

    Attributes:
        changes: True if the client does not get the last rewritten frames as the server sent them.
        text: the text of the frames that the last call of `rewrite` has rewritten.
        waiting: how many characters of rewritten text the stages have not got yet.
    """

    def __init__(
        self,
        decoder: Decoder,
        stages: Stages,
        encoder: Encoder,
        record: Callable[[list[Event]], object],
        counter: str = "",
    ) -> None:
        self.changes, self.text, self.waiting = False, "", 0
        self._decoder, self._stages, self.encoder, self._record = decoder, stages, encoder, record
        self._counter = json_text.write(counter) + b":" if counter else b""
        self._shape: _Shape | None = None
        self._routes: dict[TextKind, _Route] = {}
        self._unsure: dict[TextKind, str] = {}
        """Kind of text whose route may be wrong (`FrameTemplate.is_sure`) -> the text from which
        the route was learned. The route is used only when the encoder has written another text in
        the same way; the entry is then removed.
        """
        self._ready: _Ready | None = None
        self._waiting: list[TextEvent] = []

    def rewrite(self, raws: Sequence[bytes], begin: int) -> tuple[int, bytes]:
        """Rewrite the frames of `raws` from the index `begin` on, up to the first one with another
        shape than the learned one, or with text that is not plain. Return how many frames were
        rewritten, and the client's bytes for them: none while a stage holds the text, because it
        may be a call. Return 0 and no bytes if the next frame must be parsed.
        """
        ready = self._prepare()
        if ready is None:
            return 0, b""
        shape, kind, plain, route, stays = ready
        texts = shape.plain_texts(raws, begin, plain)
        # The stage that holds a call gets the texts later, as one text, which must not be too long
        # for it (`Engine.plain`). So only so many frames are rewritten that their text fits.
        if route is _HELD:
            sizes = accumulate(map(len, texts), initial=self.waiting)
            texts = texts[: sum(size <= 2 * MOST_WAITING for size in sizes) - 1]
        text = decode_texts(texts) if texts else None
        if text is None or not self._decoder.record_unparsed(read := _fill(shape.sample, text)):
            return 0, b""
        self._waiting.append(read)
        self.text, self.waiting = text, self.waiting + len(text)
        self.changes = route is _HELD or route.template is not None
        if route is _HELD:
            return len(texts), b""
        self._record([read if stays else _fill(route.sample, text)])
        first = self.encoder.record_unparsed_text(kind, text, len(texts))
        taken = raws[begin : begin + len(texts)]
        return len(texts), route.template.write(texts, first) if route.template else b"".join(taken)

    def settle(self) -> None:
        """Feed the stages with the text of the frames that were rewritten without them. Their
        results are dropped, because the client has got this text already, or a stage holds it. This
        may change which texts are plain, so the next `rewrite` asks the stages again.
        """
        self._ready = None
        if self._waiting:
            waiting, self._waiting, self.waiting = self._waiting, [], 0
            text = "".join(map(model_text, waiting))
            assert self._shape
            joined = waiting[0] if len(waiting) == 1 else _fill(self._shape.sample, text)
            self._stages.feed_all([joined])

    def _prepare(self) -> _Ready | None:
        """Return all that `rewrite` needs (`_Ready`). Return None if the next frame must be parsed:
        the stages may change any text now, no shape or no sure route was learned, or too much text
        waits for the stages.
        """
        if self.waiting > MOST_WAITING:
            return None
        if self._ready is None and self._shape:
            plain = self._stages.plain(type(self._shape.sample))
            if plain and plain[0] in self._routes and plain[0] not in self._unsure:
                shape, kind, route = self._shape, plain[0], self._routes[plain[0]]
                test, stays = _matcher(plain[1], kind is ToolCall), route.sample == shape.sample
                self._ready = shape, kind, test, route, stays
        return self._ready

    def learn(
        self, raw: bytes, read: Sequence[Event], staged: Sequence[Event], out: Sequence[bytes]
    ) -> None:
        """Learn shape and route from a frame that was parsed. If they differ from those of earlier
        frames, forget the earlier ones.

        Arguments:
            raw: the server's frame; empty if nothing can be learned from it, because it was mended,
                or because `PendingFinish` holds or drops it.
            read: the events that the decoder returned.
            staged: the events that the stages returned.
            out: the frames that the encoder wrote.
        """
        event, became = _only_text_event(read), _only_text_event(staged)
        # The stages hold the frame's text, which may be a call. So nothing is written for it now,
        # and nothing for the next frames of this shape.
        if event and not (_without_opaque(staged) or out or isinstance(event, ToolCall)):
            fits = self._shape and self._shape.fits(raw)
            self._shape = self._shape if fits else _shape_of(raw, event)
            self._routes = {**(self._routes if fits else {}), ToolCall: _HELD}
            return
        if self._shape and self._shape.fits(raw) and self._fits_route(read, staged, out):
            return
        written = out[-1] if len(out) == 1 or (out and self.encoder.in_blocks) else b""
        if not (event and became and model_text(event) == model_text(became)) or not written:
            # The frame does not show how the next text is written: it has other events than text, a
            # stage has changed its text, or it is not certain which written frame has the text.
            self._routes.clear()
            if self._shape and not self._shape.fits(raw):
                self._shape = None
            return
        shape, text = _shape_of(raw, event), model_text(event)
        template = None if written == raw else template_of(written, text, self._counter)
        route, kind = _Route(_without_text(became), template), type(became)
        if shape is None or shape != self._shape or self._routes.get(kind) != route:
            self._shape = shape
            self._routes.clear()
        if shape and (template is None or template.gap_count):
            self._routes[kind] = route
            self._unsure.pop(kind, None)
            if template and not template.is_sure(written, text):
                self._unsure[kind] = text

    def _fits_route(
        self, read: Sequence[Event], staged: Sequence[Event], out: Sequence[bytes]
    ) -> bool:
        """Return True if a parsed frame of the learned shape confirms what was learned. It does if
        it was written as its route would write it, if it has no text, or if a stage holds its text.

        `read`, `staged`, `out`: the events of the decoder and of the stages, and the frames of the
        encoder, as in `learn`.
        """
        bare, became = _without_opaque(read), _without_opaque(staged)
        if not became:
            return not bare or _only_text_event(bare) is not None
        event = _only_text_event(became)
        route = self._routes.get(type(event)) if event else None
        if event is None or route is None or route.sample != _without_text(event) or len(out) != 1:
            return False
        text, template = model_text(event), route.template
        gives = template.writes(out[0], text) if template else json_text.write(text) in out[0]
        if gives and self._unsure.get(type(event), text) != text:
            del self._unsure[type(event)]  # a second text was written as this route predicts
        return gives


def decode_texts(texts: Sequence[bytes]) -> str | None:
    """Return the joined texts, decoded; None if one of them is not valid UTF-8. `texts`: JSON
    strings without their quotation marks.
    """
    joined = b"".join(texts)
    try:
        text = joined.decode() if joined.isascii() else "".join([each.decode() for each in texts])
    except UnicodeDecodeError:
        return None
    return json.loads(f'"{text}"') if "\\" in text else text


def _only_text_event(events: Sequence[Event]) -> TextEvent | None:
    """Return the event with the text, if the fast path can rewrite the frame with these `events`;
    else None.

    It can if the frame has only one event beside `Opaque` events of the first choice. This must be
    text or thinking of the first choice, or a piece in the middle of its call: arguments alone,
    without name, id or end. A text with `own`, a refusal, and a call that is misshapen or has free
    text are not rewritten.
    """
    match _without_opaque(events):
        case [Text(choice=0, refusal=False, own=None) | Thinking(choice=0) as event]:
            return event
        case [ToolCall(choice=0, id="", name="", ends=False, misshapen=False) as piece]:
            return None if piece.free_text else piece
        case _:
            return None


def _fill(sample: TextEvent, text: str) -> TextEvent:
    """Return an event like `sample`, with this text. In the `own` of thinking, each field gets the
    text too.
    """
    if isinstance(sample, ToolCall):
        return replace(sample, arguments=text)
    if isinstance(sample, Thinking) and sample.own:
        return Thinking(text, own=Own(sample.own.dialect, dict.fromkeys(sample.own.fields, text)))
    return type(sample)(text)


def _without_text(event: TextEvent) -> TextEvent:
    """Return a copy of the event with empty text; of a piece of a call, also without the fields
    `own` and `read_from`.
    """
    if isinstance(event, ToolCall):
        return replace(event, arguments="", own=None, read_from="")
    return _fill(event, "")


def _without_opaque(events: Sequence[Event]) -> list[Event]:
    """Return the events without those `Opaque` events that belong to the first choice."""
    return [event for event in events if not (isinstance(event, Opaque) and event.choice == 0)]


def _shape_of(raw: bytes, event: TextEvent) -> _Shape | None:
    """Return the shape of the frame `raw`, whose event is `event`. Return None if the event has no
    text, if the text is not exactly one JSON string of the frame, if a thought came in several
    fields or in a list, or if the frame is too long.
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
    return _Shape(before + b'"', b'"' + behind, _without_text(event))


@lru_cache(maxsize=256)
def _matcher(not_plain: str, in_json: bool) -> Callable[[bytes], object]:
    """Return a function that tells whether a text is plain: it returns a match if so, else None.
    The text is given to it as a JSON string without its quotation marks.

    `not_plain`: the characters at which a stage does something else. Plain text has none of them,
    and no escapes but those of `_ESCAPES`. `in_json`: True if the text is itself JSON (a call's
    arguments), so that its escapes begin with two backslashes (`_ESCAPE_IN_JSON`).
    """
    single = "".join(re.escape(one) for one in sorted(set(not_plain)) if one.isascii())
    wide = "".join(f"(?!{re.escape(one)})" for one in sorted(set(not_plain)) if not one.isascii())
    escapes = "".join(name for name, sign in _ESCAPES.items() if sign not in not_plain)
    single_escape = f"\\\\[{escapes}]" if escapes else "(?!)"
    escape = _ESCAPE_IN_JSON if in_json and "\\" not in not_plain else single_escape
    letter = f'{wide}[^"\\\\\\x00-\\x1f{single}]'
    return re.compile(f"(?:{letter}|{escape})++".encode()).fullmatch
