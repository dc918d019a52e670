"""Text in; text and thinking out, for models that mark their thoughts with phrases alone.

It is a heuristic, and errs on one side: a thought shown as answer is what a reader would see
without it, but an answer hidden in a thought is lost. So a thought begins only where a paragraph
begins with one of the opening phrases. It ends easily: at a closing phrase that begins a sentence
or line, and at a heading or a fenced block, which stand in answers and not in unmarked thoughts.
Else it ends with the reply, or at an event that interrupts it (a tool call); `Findings.unclosed`
then reports it.

The phrases stay: the opening one belongs to the thought, the closing one to the text. Only the CR
and LF at a thought's end are lost. The text cut anywhere gives the same message: text that may
become a phrase is held until it is decided, and so are the blanks at a thought's end.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from converter.core.model.events import Event, Finish, Text, Thinking, ToolCall, WordKind
from converter.core.reading.code_spans import CodeSpans
from converter.core.reading.findings import Findings
from converter.core.reading.thought import Thought

OPENING = ("let me think", "i need to think", "thinking:", "my reasoning")
CLOSING = ("now i'll", "now i will", "let me proceed")
LEADS = ("", "ok, ", "okay, ", "alright, ", "so ", "so, ")
"""What may stand before a closing phrase; a missed one costs the answer. Opening ones have none: a
false one costs it as well.
"""
STRUCTURE = ("# ", "## ", "### ", "#### ", "##### ", "###### ", "```", "~~~")
"""Beginnings of a line in an answer, which no line of an unmarked thought has."""


_MOST_BLANKS = 40
"""Characters of blanks before a phrase."""
_LONGEST = 40
"""Characters of a phrase, its lead included."""
_CONTEXT = 3 * _MOST_BLANKS
"""Characters before a phrase that tell where it stands."""
_BLANK = rf"[^\S\n]{{0,{_MOST_BLANKS}}}+"
_AT_PARAGRAPH = rf"\n{_BLANK}\n\s{{0,{_MOST_BLANKS}}}+"
_AT_LINE = rf"\n{_BLANK}"
_AT_SENTENCE = rf"""[.!?…]["'”’)\]*_]{{0,8}}+(?=\s){_BLANK}"""


@lru_cache
def _patterns(thinking: bool) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return two patterns. The first finds a phrase that ends thinking, or outside thinking one
    that begins it. The second finds at a text's end the beginning of such a phrase, or a phrase
    that one more letter would unmake. Case does not matter; words match whole.
    """
    # made when somebody asks: few readings look for phrases, and it takes a while
    closings = [lead + phrase for lead in LEADS for phrase in CLOSING]
    ends = [(_AT_LINE, [*closings, *STRUCTURE]), (_AT_SENTENCE, closings)]
    rows_at = ends if thinking else [(_AT_PARAGRAPH, [*OPENING])]
    whole = (rf"{at}(?=(?:{_either(rows, _written)})(?:(?<!\w)|(?!\w)))" for at, rows in rows_at)
    begun = (rf"{at}(?=(?:{_either(rows, _begun)})\Z)" for at, rows in rows_at)
    return re.compile("|".join(whole), re.IGNORECASE), re.compile("|".join(begun), re.IGNORECASE)


def _either(rows: Iterable[str], pattern: Callable[[str], str]) -> str:
    return "|".join(map(pattern, rows))


def _written(row: str) -> str:
    """A pattern of a row; an apostrophe may be the typographic one."""
    return re.escape(row).replace("'", "['’]")


def _begun(row: str) -> str:
    """A pattern of a row's beginnings, and of all of it where a letter behind would unmake it."""
    pattern = ""
    for character in reversed(row if row[-1].isalnum() else row[:-1]):
        pattern = _written(character) + (f"(?:{pattern})?" if pattern else "")
    return pattern


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
        self._begin()

    def _begin(self) -> None:
        self._thinking = False
        self._code = CodeSpans()
        self._before = "\n\n"  # the end of the text that is given out
        self._held = ""

    def feed(self, event: Event) -> Sequence[Event]:
        """Return the events that the event becomes."""
        match event:
            case Text(refusal=False, own=None) if not self._tagged:
                self._read(event.text, last=False)
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
        self._read("", last=True)
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

    def _read(self, text: str, last: bool) -> None:
        buffer = self._before + self._held + text
        said = coded = least = len(self._before)
        while True:
            whole, begun = _patterns(self._thinking)
            found = _first(whole, buffer, least)
            end = max(least, len(buffer) - _LONGEST)
            waits = len(buffer) if last else _first(begun, buffer, end)
            if found >= waits:
                break
            self._code.feed(buffer[coded:found])
            coded, least = found, found + 1
            if not self._code.inside():
                self._say(buffer[said:found])
                said = found
                self._turn()
        self._code.feed(buffer[coded:waits])
        self._say(buffer[said:waits])
        self._held = buffer[waits:]
        self._before = buffer[max(0, waits - _CONTEXT) : waits]

    def _turn(self) -> None:
        """Go from text to thinking or back."""
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


def _first(phrases: re.Pattern[str], buffer: str, least: int) -> int:
    """Return where the first phrase begins, at `least` or behind it; without one, the end."""
    found = phrases.finditer(buffer, max(0, least - _CONTEXT))
    places = (match.end() for match in found)
    return next((place for place in places if place >= least), len(buffer))
