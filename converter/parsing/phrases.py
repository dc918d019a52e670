"""Text in; text and thinking out, for models that mark their thoughts with nothing but the words
they begin and end with.

A heuristic, so it errs on one side, because a thought shown as answer is what a reader would see
without it, but an answer hidden in a thought is lost on him. So a thought begins only where a
paragraph begins with one of the opening phrases, and ends easily: at a closing phrase, where a
sentence or a line begins, and at a heading or a fenced block, which unmarked thoughts have not and
answers have. Without any of these it ends with the reply, or with what interrupts it (a tool call);
`Findings.unclosed` tells of it then.

The phrases stay: the opening one belongs to the thought, the closing one to the text. Nothing is
lost but the CR and LF at a thought's end. Cut anywhere, the same message: held is what may become a
phrase, until it is decided, and the blanks at a thought's end.
"""

import enum
import re
from collections.abc import Iterable, Sequence
from functools import cached_property

from converter.model.events import Event, Finish, Text, Thinking, ToolCall, WordKind
from converter.parsing.code_spans import CodeSpans
from converter.parsing.findings import Findings
from converter.parsing.thought import Thought

OPENING = ("let me think", "i need to think", "thinking:", "my reasoning")
CLOSING = ("now i'll", "now i will", "let me proceed")
LEADS = ("", "ok, ", "okay, ", "alright, ", "so ", "so, ")
"""What may stand before a closing phrase; a missed one costs the answer. Opening ones have none: a
false one costs it as well.
"""
STRUCTURE = ("# ", "## ", "### ", "#### ", "##### ", "###### ", "```", "~~~")
"""Beginnings of a line in an answer, which no line of an unmarked thought has."""


class _Place(enum.Enum):
    """The place of the next character; blanks do not leave a beginning."""

    PARAGRAPH = enum.auto()
    LINE = enum.auto()
    SENTENCE = enum.auto()
    STOPPED = enum.auto()  # behind a full stop, which ends a sentence only if a blank follows
    WITHIN = enum.auto()


_TOKENS = re.compile(
    r"(?P<newline>\n)|(?P<blank>[^\S\n]+)|(?P<stop>[.!?…]+)|"
    r"""(?P<quote>["'”’)\]*_]+)|(?P<word>[^\s.!?…"'”’)\]*_]+)"""
)
NEXT_PLACE = {
    **{(place, "newline"): _Place.LINE for place in _Place},
    (_Place.LINE, "newline"): _Place.PARAGRAPH,
    (_Place.PARAGRAPH, "newline"): _Place.PARAGRAPH,
    (_Place.PARAGRAPH, "blank"): _Place.PARAGRAPH,
    (_Place.LINE, "blank"): _Place.LINE,
    (_Place.SENTENCE, "blank"): _Place.SENTENCE,
    (_Place.STOPPED, "blank"): _Place.SENTENCE,
    **{(place, "stop"): _Place.STOPPED for place in _Place},
    (_Place.STOPPED, "quote"): _Place.STOPPED,
}
"""A pair that is not here leads WITHIN a sentence."""


class _Phrases:
    """Rows to look for at one place of a text that arrives in pieces. Case does not matter; words
    match whole.
    """

    def __init__(self, rows: Iterable[str]) -> None:
        self._rows = tuple(rows)
        self._longest = max(map(len, self._rows))

    @cached_property
    def _whole(self) -> re.Pattern[str]:
        # made when somebody asks: few readings look for phrases, and it takes a while
        return re.compile(rf"(?:{_either(self._rows)})(?:(?<!\w)|(?!\w))", re.IGNORECASE)

    @cached_property
    def _beginning(self) -> re.Pattern[str]:
        lengths = ((row, range(1, len(row) + row[-1].isalnum())) for row in self._rows)
        return re.compile(_either({row[:n] for row, some in lengths for n in some}), re.IGNORECASE)

    def undecided(self, text: str, begin: int) -> bool:
        """Tell whether more text may make a phrase of `text[begin:]`, or unmake the one it is."""
        return (
            len(text) - begin <= self._longest
            and self._beginning.fullmatch(text, begin) is not None
        )

    def stand(self, text: str, begin: int) -> bool:
        """Tell whether a phrase stands there."""
        return self._whole.match(text, begin) is not None


def _either(rows: Iterable[str]) -> str:
    """A pattern of all rows; an apostrophe may be the typographic one."""
    return "|".join(re.escape(row).replace("'", "['’]") for row in sorted(rows))


_CLOSINGS = [lead + phrase for lead in LEADS for phrase in CLOSING]
_AT_LINE = _Phrases([*_CLOSINGS, *STRUCTURE])
PHRASES = {
    (False, _Place.PARAGRAPH): _Phrases(OPENING),
    (True, _Place.PARAGRAPH): _AT_LINE,
    (True, _Place.LINE): _AT_LINE,
    (True, _Place.SENTENCE): _Phrases(_CLOSINGS),
}
"""The phrases that turn text into thinking (False) or thinking into text (True)."""


class PhraseStage:
    """Events of one choice in, events out: phrases are looked for in what is text after the tags.

    What starts or ends something ends a thought that a phrase began; a model that tags needs no
    guess at its phrases.
    """

    def __init__(self, choice: int, findings: Findings) -> None:
        self._choice = choice
        self._findings = findings
        self._tagged = False
        self._thought = Thought(choice)
        self._out: list[Event] = []
        self._said = self._coded = 0
        self._begin()

    def _begin(self) -> None:
        self._thinking = False
        self._place = _Place.PARAGRAPH
        self._code = CodeSpans()
        self._held = ""

    def feed(self, event: Event) -> Sequence[Event]:
        """Return the events that the event becomes."""
        match event:
            case Text(refusal=False, own=None) if not self._tagged:
                self._read(self._held + event.text, last=False)
                return self._drain()
            case Text() | Thinking() | ToolCall() | Finish():
                held = self.close()
                self._tagged = self._tagged or isinstance(event, Thinking)
                return [*held, event]
            case _:
                return [event]

    def close(self) -> Sequence[Event]:
        """Return all that is held, as what it is if nothing follows; what does follow begins a new
        block, and a paragraph.
        """
        self._read(self._held, last=True)
        if ends := self._thought.end():
            self._findings.unclosed.add(self._choice)  # an answer may be hidden in it
            self._out += ends
        self._begin()
        return self._drain()

    def plain(self, kind: WordKind) -> None:
        """Return None: any word may be the beginning of a phrase."""

    def _drain(self) -> Sequence[Event]:
        out, self._out = self._out, []
        thought = any(isinstance(event, Thinking) for event in out)
        self._findings.thought = self._findings.thought or thought
        return out

    def _read(self, buffer: str, last: bool) -> None:
        self._held = ""
        self._said = self._coded = 0  # all before is given out, and told to the code spans
        for token in _TOKENS.finditer(buffer):
            if token.lastgroup not in ("newline", "blank") and (
                phrases := PHRASES.get((self._thinking, self._place))
            ):
                if not last and phrases.undecided(buffer, token.start()):
                    self._held = buffer[token.start() :]
                    break
                if phrases.stand(buffer, token.start()):
                    self._turn(buffer, token.start())
            self._place = NEXT_PLACE.get((self._place, str(token.lastgroup)), _Place.WITHIN)
        end = len(buffer) - len(self._held)
        self._code.feed(buffer[self._coded : end])
        self._say(buffer[self._said : end])

    def _turn(self, buffer: str, place: int) -> None:
        """Go from text to thinking or back, unless this place is code."""
        self._code.feed(buffer[self._coded : place])
        self._coded = place
        if self._code.inside():
            return
        self._say(buffer[self._said : place])
        self._said = place
        if self._thinking:
            self._out += self._thought.end()
        self._thinking = not self._thinking
        self._findings.unclosed.discard(self._choice)

    def _say(self, text: str) -> None:
        """Give out words, as text or as thinking."""
        if self._thinking:
            self._out += self._thought.feed(text)
        elif text:
            self._out.append(Text(text, self._choice))
