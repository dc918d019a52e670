"""Text in; text and thinking out, as it arrives.

The parser is a small state machine over marks. In each state it looks for the marks that could matter next, gives out what
stands before one, and takes the step of the table; a pair that the table lacks is ordinary text. What might be the beginning
of a mark is held until it is decided. Nothing is ever lost: thinking, text and marks together are the text that came in, but for
the CR and LF around a thought and for thoughts of nothing but blanks.
"""

import enum
import itertools
import math
import re

from converter.code_spans import CodeSpans
from converter.events import Text, Thinking, ThinkingEnd
from converter.tags import Marks, TagSet, ThinkTags

type _Said = Text | Thinking | ThinkingEnd

ATTRIBUTE_LIMIT = 8192
"""Characters of a tag with attributes: a thought in one is some sentences, and a quote that never closes must not hold a reply."""
BLANKS_LIMIT = 4096
"""Characters of blanks held at a thought's ends; more than any model writes, and the memory of a stream stays bounded."""
UNREADABLE_CONFIDENCE = 0.5


class Mode(enum.Enum):
    """Where a parser stands, and where a reply may begin. UNDECIDED is for whole replies: the first mark tells what came before."""

    ANSWERING = enum.auto()
    THINKING = enum.auto()
    BEGINNING = enum.auto()
    UNDECIDED = enum.auto()


class Mark(enum.Enum):
    """What a mark does. WHOLE is a thought in one tag, `<thinking thought="..."/>`."""

    OPEN = enum.auto()
    CLOSE = enum.auto()
    WHOLE = enum.auto()


NEXT_MODE = {
    (Mode.ANSWERING, Mark.OPEN): Mode.THINKING,
    (Mode.ANSWERING, Mark.WHOLE): Mode.ANSWERING,
    (Mode.THINKING, Mark.CLOSE): Mode.ANSWERING,
    (Mode.BEGINNING, Mark.OPEN): Mode.THINKING,  # the template had opened the thought, the server or model repeats it
    (Mode.BEGINNING, Mark.CLOSE): Mode.ANSWERING,
    (Mode.UNDECIDED, Mark.OPEN): Mode.THINKING,
    (Mode.UNDECIDED, Mark.WHOLE): Mode.ANSWERING,
    (Mode.UNDECIDED, Mark.CLOSE): Mode.ANSWERING,  # what came before was a thought
}

_NAME = r"[A-Za-z_][\w.:-]*+"
_ATTRIBUTE = rf"""\s++{_NAME}\s*+=\s*+(?:"[^"]*+"|'[^']*+')"""
_ATTRIBUTES = re.compile(rf"""(?:{_ATTRIBUTE})*+(?:\s*+(?P<end>/?>)|(?:\s++{_NAME}\s*+(?:=\s*+(?:"[^"]*+|'[^']*+)?)?|\s*+/?)\Z)""")
_PAIR = re.compile(rf"""\s({_NAME})\s*+=\s*+(?:"([^"]*+)"|'([^']*+)')""")


class ThinkParser:
    """Pieces of one choice's text in, `Text`, `Thinking` and `ThinkingEnd` out; cut anywhere, the same message."""

    def __init__(self, tags: TagSet, start: Mode = Mode.ANSWERING, choice: int = 0) -> None:
        self._tags = tags
        self._mode: Mode = Mode.BEGINNING if start is Mode.THINKING else start
        self._choice = choice
        self._family: ThinkTags | None = None
        self._held = ""
        self._code = CodeSpans()
        self._thought = Thought(choice)
        self._before: list[Text] = []  # said while UNDECIDED
        self._out: list[_Said] = []

    def feed(self, text: str) -> list[_Said]:
        """Return what is decided once `text` has arrived."""
        self._read(text, last=False)
        return self._drain()

    def flush(self) -> list[_Said]:
        """Return all that is held, as what it is if nothing follows; what does follow begins a new block."""
        self._read("", last=True)
        self._out += self._before
        self._before = []
        self._out += self._thought.end()
        return self._drain()

    def _drain(self) -> list[_Said]:
        out, self._out = self._out, []
        return out if len(out) < 2 else _joined(out)

    def _read(self, text: str, last: bool) -> None:
        buffer, self._held = self._held + text, ""
        position = 0
        while found := self._marks().search(buffer, position):
            self._say(buffer[position : found.start()])
            end = self._take(buffer, found.start(), found.end(), last)
            if end is None:
                self._held = buffer[found.start() :]
                return
            position = end
        keep = 0 if last else self._marks().undecided(buffer, position)
        self._say(buffer[position : len(buffer) - keep])
        self._held = buffer[len(buffer) - keep :]

    def _marks(self) -> Marks:
        if self._mode is Mode.THINKING:
            return self._tags.closer(self._family)
        return self._tags.openers if self._mode is Mode.ANSWERING else self._tags.all

    def _take(self, buffer: str, begin: int, end: int, last: bool) -> int | None:
        """Act on the mark at `begin:end`; return where to go on, or None while the tag is not all there."""
        literal = buffer[begin:end]
        mark = Mark.CLOSE if literal in self._tags.closing else Mark.OPEN
        in_code = self._mode in (Mode.ANSWERING, Mode.UNDECIDED) and self._code.inside()
        if in_code or (self._mode, mark) not in NEXT_MODE:
            return self._ordinary(buffer, begin)
        if family := self._tags.attributes_of.get(literal):
            return self._take_attributes(buffer, begin, end, family, last)
        self._step(mark, self._tags.opened_by.get(literal))
        return end

    def _take_attributes(self, buffer: str, begin: int, end: int, family: ThinkTags, last: bool) -> int | None:
        found = _ATTRIBUTES.match(buffer, end - 1, begin + ATTRIBUTE_LIMIT)
        if found and not found["end"] and not last and len(buffer) < begin + ATTRIBUTE_LIMIT:
            return None
        mark = found and {">": Mark.OPEN, "/>": Mark.WHOLE}.get(found["end"])
        if not found or not mark or (self._mode, mark) not in NEXT_MODE:
            return self._ordinary(buffer, begin)
        self._step(mark, family)
        self._out += self._thought.read_attributes(found[0])
        if mark is Mark.WHOLE:
            self._out += self._thought.end()
        return found.end()

    def _ordinary(self, buffer: str, begin: int) -> int:
        self._say(buffer[begin])
        return begin + 1

    def _step(self, mark: Mark, family: ThinkTags | None) -> None:
        before, self._before = self._before, []
        if mark is Mark.CLOSE:
            for event in before:
                self._out += self._thought.feed(event.text)
            self._out += self._thought.end()
        else:
            self._out += before
            self._family = family
        self._code = CodeSpans()
        self._mode = NEXT_MODE[self._mode, mark]

    def _say(self, text: str) -> None:
        """Give out ordinary text, as what the mode makes of it."""
        if not text:
            return
        if self._mode is Mode.BEGINNING and not text.isspace():
            self._mode = Mode.THINKING
        if self._mode in (Mode.THINKING, Mode.BEGINNING):
            self._out += self._thought.feed(text)
        else:
            self._code.feed(text)
            said = Text(text, self._choice)
            (self._before if self._mode is Mode.UNDECIDED else self._out).append(said)


class Thought:
    """One thought after another: blanks-only ones make no block, CR and LF go at both ends, all else passes as it comes."""

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

    def read_attributes(self, tag: str) -> list[Thinking]:
        """Begin a thought whose tag has attributes; text that follows before the closer goes on after a blank line."""
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
        return [ThinkingEnd(self._choice, attributes.get("thought_type"), _confidence(attributes.get("confidence", "")))]


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
