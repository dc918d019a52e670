"""Text in; text and thinking out, as it arrives.

The parser is a small state machine over marks. In each state it looks for the marks that could
matter next, gives out what stands before one, and takes the step of the table; a pair that the
table lacks is ordinary text. What might be the beginning of a mark is held until it is decided.
Nothing is ever lost: thinking, text and marks together are the text that came in, but for the CR
and LF around a thought and for thoughts of nothing but blanks.
"""

import enum
import itertools
import math
import re

from converter.events import Text, Thinking, ThinkingEnd
from converter.parsing.code_spans import CodeSpans
from converter.parsing.tag_matcher import Mark, MarkSearch, TagSet, ThinkTags

type _Said = Text | Thinking | ThinkingEnd

ATTRIBUTE_LIMIT = 8192
"""Characters of a tag with attributes: a thought in one is some sentences, and a quote that never
closes must not hold a reply.
"""
BLANKS_LIMIT = 4096
"""Characters of blanks held at a thought's ends; more than any model writes, and the memory of a
stream stays bounded.
"""
UNREADABLE_CONFIDENCE = 0.5
_NONE = ("", "")


class Mode(enum.Enum):
    """Where a parser stands, and where a reply may begin. UNDECIDED is for whole replies: the first
    mark tells what came before.

    The values name the marks that a set of tags looks for.
    """

    ANSWERING = "answering"
    THINKING = "closing"
    BEGINNING = "beginning"
    UNDECIDED = "undecided"


NEXT_MODE = {
    (Mode.ANSWERING, Mark.OPEN): Mode.THINKING,
    (Mode.ANSWERING, Mark.WHOLE): Mode.ANSWERING,
    (Mode.THINKING, Mark.CLOSE): Mode.ANSWERING,
    (
        Mode.BEGINNING,
        Mark.OPEN,
    ): Mode.THINKING,  # the template had opened the thought, the server or model repeats it
    (Mode.BEGINNING, Mark.CLOSE): Mode.ANSWERING,
    (Mode.UNDECIDED, Mark.OPEN): Mode.THINKING,
    (Mode.UNDECIDED, Mark.WHOLE): Mode.ANSWERING,
    (Mode.UNDECIDED, Mark.CLOSE): Mode.ANSWERING,  # what came before was a thought
    (Mode.ANSWERING, Mark.SILENT): Mode.ANSWERING,
    (Mode.BEGINNING, Mark.SILENT): Mode.BEGINNING,
    (Mode.UNDECIDED, Mark.SILENT): Mode.UNDECIDED,
    (Mode.ANSWERING, Mark.FRAME): Mode.ANSWERING,
    (Mode.ANSWERING, Mark.FRAME_END): Mode.ANSWERING,
}

_NAME = r"[A-Za-z_][\w.:-]*+"
_ATTRIBUTE = rf"""\s++{_NAME}\s*+=\s*+(?:"[^"]*+"|'[^']*+')"""
_ATTRIBUTES = re.compile(
    rf"""(?:{_ATTRIBUTE})*+(?:\s*+(?P<end>/?>)|(?:\s++{_NAME}\s*+(?:=\s*+(?:"[^"]*+|'[^']*+)?)?|\s*+/?)\Z)"""
)
_PAIR = re.compile(rf"""\s({_NAME})\s*+=\s*+(?:"([^"]*+)"|'([^']*+)')""")


class ThinkParser:
    """Pieces of one choice's text in, `Text`, `Thinking` and `ThinkingEnd` out; cut anywhere, the
    same message.
    """

    def __init__(self, tags: TagSet, start: Mode = Mode.ANSWERING, choice: int = 0) -> None:
        self._tags = tags
        self._mode: Mode = Mode.BEGINNING if start is Mode.THINKING else start
        self._choice = choice
        self._at_head = (
            True  # nothing but blanks since the reply's beginning, or since the last mark
        )
        self._companion = _NONE  # of the thought directly before, blanks aside
        self._frame_end = ""  # a companion's closer, once its opener went
        self._closers: MarkSearch | None = None  # of a thought whose opener was seen
        self._marks = self._looked_for()
        self._held = ""
        self._code = CodeSpans()
        self._thought = Thought(choice)
        self._before: list[Text] = []  # said while UNDECIDED
        self._out: list[_Said] = []

    def feed(self, text: str) -> list[_Said]:
        """Return what is decided once `text` has arrived."""
        self._read(text, last=False)
        return self._drain()

    def plain(self) -> tuple[type[Text] | type[Thinking], str] | None:
        """Return what words become now that hold none of the characters returned with it; None
        while they would do more than come out.
        """
        if self._held or self._at_head:
            return None
        if self._mode is Mode.ANSWERING:
            return Text, self._marks.firsts
        if self._mode is Mode.THINKING and self._thought.at_ease:
            return Thinking, self._marks.firsts + "\r\n"  # held at a thought's end
        return None

    def flush(self) -> list[_Said]:
        """Return all that is held, as what it is if nothing follows; what does follow begins a new
        block.
        """
        self._read("", last=True)
        self._settle_before(Mark.OPEN)
        self._out += self._thought.end()
        return self._drain()

    def _drain(self) -> list[_Said]:
        out, self._out = self._out, []
        return out if len(out) < 2 else _joined(out)

    def _looked_for(self) -> MarkSearch:
        """Return the marks that count here."""
        if self._mode is Mode.THINKING and self._closers:
            return self._closers
        return self._tags.marks(
            self._mode.value, self._at_head, self._companion[0], self._frame_end
        )

    def _read(self, text: str, last: bool) -> None:
        buffer, self._held = self._held + text, ""
        position: int | None = 0
        while position is not None:
            begin, marks = position, self._marks
            until = len(buffer) - (0 if last else marks.undecided(buffer, begin))
            found = marks.search(buffer, begin)
            if found and found.start() > until:
                found = None  # it stands within what may become a longer mark
            self._say(buffer[begin : found.start() if found else until])
            begin = position = found.start() if found else until
            if marks is self._marks:  # else what was said changed what counts here: look again
                position = self._take(buffer, begin, found.end(), last) if found else None
        self._held = buffer[begin:]

    def _take(self, buffer: str, begin: int, end: int, last: bool) -> int | None:
        """Act on the mark at `begin:end`; return where to go on, or None while it is not decided."""
        mark, literal, suffix = self._marks.read(buffer[begin:end])
        in_code = (
            mark is not Mark.FRAME_END
            and self._mode in (Mode.ANSWERING, Mode.UNDECIDED)
            and self._code.inside()
        )
        if in_code or (self._mode, mark) not in NEXT_MODE:
            return self._ordinary(buffer, begin)
        if mark is Mark.FRAME_END:
            return self._take_frame_end(buffer, begin, end, last)
        if family := self._tags.attributes_of.get(literal):
            return self._take_attributes(buffer, begin, end, family, last)
        if mark is Mark.OPEN:
            self._closers = self._tags.closers(self._tags.opened_by[literal], suffix)
        self._step(mark, literal)
        return end

    def _take_attributes(
        self, buffer: str, begin: int, end: int, family: ThinkTags, last: bool
    ) -> int | None:
        found = _ATTRIBUTES.match(buffer, end - 1, begin + ATTRIBUTE_LIMIT)
        if found and not found["end"] and not last and len(buffer) < begin + ATTRIBUTE_LIMIT:
            return None
        mark = found and {">": Mark.OPEN, "/>": Mark.WHOLE}.get(found["end"])
        if not found or not mark or (self._mode, mark) not in NEXT_MODE:
            return self._ordinary(buffer, begin)
        self._closers = self._tags.closers(family, "")
        self._step(mark)
        self._out += self._thought.read_attributes(found[0])
        if mark is Mark.WHOLE:
            self._out += self._thought.end()
        return found.end()

    def _take_frame_end(self, buffer: str, begin: int, end: int, last: bool) -> int | None:
        """A companion's closer goes at the reply's very end, blanks behind it or not; anywhere else
        it is text.
        """
        behind = buffer[end : end + BLANKS_LIMIT + 1]
        if len(behind) > BLANKS_LIMIT or behind.strip():
            return self._ordinary(buffer, begin)
        if last:
            self._step(Mark.FRAME_END)
        return end if last else None

    def _ordinary(self, buffer: str, begin: int) -> int:
        self._say(buffer[begin])
        return begin + 1

    def _step(self, mark: Mark, literal: str = "") -> None:
        if mark is not Mark.SILENT:
            self._settle_before(mark)
        if mark is Mark.CLOSE:
            self._out += self._thought.end()
        if mark in (Mark.FRAME, Mark.FRAME_END):
            self._frame_end = self._companion[1] if mark is Mark.FRAME else ""
        self._companion = (
            self._tags.answer_tags.get(literal, _NONE) if mark is Mark.CLOSE else _NONE
        )
        self._code = CodeSpans()
        self._mode = NEXT_MODE[self._mode, mark]
        self._at_head = True
        self._marks = self._looked_for()

    def _settle_before(self, mark: Mark) -> None:
        """What was said while UNDECIDED was a thought if a closer comes first, and else text."""
        before, self._before = self._before, []
        self._out += (
            [part for event in before for part in self._thought.feed(event.text)]
            if mark is Mark.CLOSE
            else before
        )

    def _say(self, text: str) -> None:
        """Give out ordinary text, as what the mode makes of it."""
        if not text:
            return
        if self._at_head and not text.isspace():
            self._mode = Mode.THINKING if self._mode is Mode.BEGINNING else self._mode
            self._at_head, self._companion = False, _NONE
            self._marks = self._looked_for()
        if self._mode in (Mode.THINKING, Mode.BEGINNING):
            self._out += self._thought.feed(text)
        else:
            self._code.feed(text)
            said = Text(text, self._choice)
            (self._before if self._mode is Mode.UNDECIDED else self._out).append(said)


class Thought:
    """One thought after another: blanks-only ones make no block, CR and LF go at both ends, all
    else passes as it comes.
    """

    def __init__(self, choice: int = 0) -> None:
        self._choice = choice
        self._held = ""
        self._begun = False
        self._attributes: dict[str, str] | None = None

    def feed(self, text: str) -> list[Thinking]:
        """Return what of the thought is decided: blanks are held until something follows."""
        text = self._held + text
        if not self._begun:
            text = text.lstrip("\r\n")
            self._begun = len(text) > BLANKS_LIMIT or not (not text or text.isspace())
        body = text.rstrip("\r\n") if self._begun else ""
        body = text[: max(len(body), len(text) - BLANKS_LIMIT)]
        self._held = text[len(body) :]
        return [Thinking(body, self._choice)] if body else []

    @property
    def at_ease(self) -> bool:
        """Tell whether words would come out at once: something was said, and nothing is held."""
        return self._begun and not self._held

    def read_attributes(self, tag: str) -> list[Thinking]:
        """Begin a thought whose tag has attributes; text that follows before the closer goes on
        after a blank line.
        """
        self._attributes = {name: double or single for name, double, single in _PAIR.findall(tag)}
        return [*self.feed(self._attributes.get("thought", "")), *self.feed("\n\n")]

    def end(self) -> list[ThinkingEnd]:
        """Return the thought's end, if it said anything."""
        begun, attributes = self._begun, self._attributes
        self._begun, self._held, self._attributes = False, "", None
        if not begun:
            return []
        if attributes is None:
            return [ThinkingEnd(self._choice)]
        return [
            ThinkingEnd(
                self._choice,
                attributes.get("thought_type"),
                _confidence(attributes.get("confidence", "")),
            )
        ]


def _confidence(written: str) -> float:
    try:
        number = float(written)
    except ValueError:
        return UNREADABLE_CONFIDENCE
    return number if math.isfinite(number) else UNREADABLE_CONFIDENCE


def _joined(said: list[_Said]) -> list[_Said]:
    """Join neighbours of one kind, so that text nobody touched comes out as it went in."""
    out: list[_Said] = []
    pieces: list[str] = []
    for event, following in itertools.zip_longest(said, said[1:]):
        if isinstance(event, ThinkingEnd):
            out.append(event)
            continue
        pieces.append(event.text)
        if type(following) is not type(event):
            out.append(type(event)("".join(pieces), event.choice))
            pieces.clear()
    return out
