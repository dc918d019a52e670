"""A thought as it goes out: its blanks, its end, and the attributes of its tag."""

import math
import re

from converter.core.model.events import Text, Thinking, ThinkingEnd
from converter.core.reading.mark_search import Mark
from converter.core.wire.bounds import ATTRIBUTE_LIMIT, BLANKS_LIMIT, GUESS_LIMIT

type ThoughtEvent = Text | Thinking | ThinkingEnd

UNREADABLE_CONFIDENCE = 0.5
NAME = r"[A-Za-z_][\w.:-]*+"
"""The name of an attribute."""
_PAIR = re.compile(rf"""\s({NAME})\s*+=\s*+(?:"([^"]*+)"|'([^']*+)')""")


class Thought:
    """One thought after another: blanks-only ones make no block, CR and LF go at both ends, all
    else passes as it comes.
    """

    def __init__(self, choice: int = 0) -> None:
        self._choice = choice
        self._head = self._held = ""
        self._begun = False
        self._attributes: dict[str, str] | None = None

    def feed(self, text: str) -> list[Thinking]:
        """Return the thought as far as it is decided: blanks are held until something follows."""
        if self.at_ease and text and text[-1] not in "\r\n":
            return [Thinking(text, self._choice)]
        text = self._held + text
        if not self._begun:
            bare = text.lstrip("\r\n")
            self._head, text = self._head + text[: len(text) - len(bare)], bare
            self._begun = len(text) > BLANKS_LIMIT or not (not text or text.isspace())
        body = text.rstrip("\r\n") if self._begun else ""
        body = text[: max(len(body), len(text) - BLANKS_LIMIT)]
        self._held = text[len(body) :]
        return [Thinking(body, self._choice)] if body else []

    @property
    def at_ease(self) -> bool:
        """Return True if words would come out at once: something was said, and nothing is held."""
        return self._begun and not self._held

    def read_attributes(self, tag: str) -> list[Thinking]:
        """Begin a thought whose tag has attributes; text that follows before the closer goes on
        after a blank line.
        """
        self._attributes = {name: double or single for name, double, single in _PAIR.findall(tag)}
        return [*self.feed(self._attributes.get("thought", "")), *self.feed("\n\n")]

    def end(self) -> list[ThinkingEnd]:
        """Return the thought's end, if it said anything."""
        begun, attributes, around = self._begun, self._attributes, (self._head, self._held)
        self._begun, self._head, self._held, self._attributes = False, "", "", None
        if not begun:
            return []
        if attributes is None:
            return [ThinkingEnd(self._choice, around=around)]
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


_ATTRIBUTE = rf"""\s++{NAME}\s*+=\s*+(?:"[^"]*+"|'[^']*+')"""
_ATTRIBUTES = re.compile(
    rf"""(?:{_ATTRIBUTE})*+(?:\s*+(?P<end>/?>)"""
    rf"""|(?:\s++{NAME}\s*+(?:=\s*+(?:"[^"]*+|'[^']*+)?)?|\s*+/?)\Z)"""
)
ENDS = {">": Mark.WITH_ATTRIBUTES, "/>": Mark.WHOLE}
"""The effect of a tag by its end."""


def attribute_tag(buffer: str, begin: int, end: int) -> re.Match[str] | None:
    """Return the tag with attributes, as far as it has come, whose opener is `begin:end`; without
    `end` while it may go on. None: it is no such tag.
    """
    return _ATTRIBUTES.match(buffer, end - 1, begin + ATTRIBUTE_LIMIT)


_BETWEEN = re.compile(r"\n[^\S\n]*+\n\s*+")
"""The gap of two paragraphs; at the text's end none has begun behind it."""
_WORD = re.compile(r"(?<=\s)(?=\S)")


class Guess:
    """A thought in which a reply is only guessed to begin. Feed it; all that comes out is thinking
    in any case. `rest`: what is held.

    Read as a thought, a reply that is none leaves the client without an answer. So while nothing
    but the model's name tells that there is a thought, its end is held back: a short reply whole,
    of a longer one the last paragraph. When the reply stops without a closer, that is the answer,
    because an answer is either all there is or what a thought that nobody closed ends with. Nothing
    is lost, and nothing is told twice. With a closer all of it was thinking, and the next reply is
    no guess.
    """

    def __init__(self) -> None:
        self.rest = ""
        self._flows = False

    def feed(self, text: str) -> str:
        """Return the words that need not wait."""
        self.rest += text
        self._flows = self._flows or len(self.rest) > GUESS_LIMIT
        if not self._flows:
            return ""
        offset = _last_paragraph(self.rest, max(0, len(self.rest) - GUESS_LIMIT))
        passed, self.rest = self.rest[:offset], self.rest[offset:]
        return passed


def _last_paragraph(text: str, least: int) -> int:
    """Return where the last paragraph begins, or the first word, at `least` or behind it."""
    begun = [gap.end() for gap in _BETWEEN.finditer(text) if gap.end() < len(text)]
    if begun and begun[-1] >= least:
        return begun[-1]
    word = _WORD.search(text, least) if least else None
    return word.end() if word else least
