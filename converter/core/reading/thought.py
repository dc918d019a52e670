"""Thoughts as they are emitted: without line ends around them, with the attributes of their tag."""

import math
import re

from converter.core.model.events import Text, Thinking, ThinkingEnd
from converter.core.reading.mark_search import Mark
from converter.core.wire.bounds import ATTRIBUTE_LIMIT, BLANKS_LIMIT, GUESS_LIMIT

type ThoughtEvent = Text | Thinking | ThinkingEnd

UNREADABLE_CONFIDENCE = 0.5
NAME = r"[A-Za-z_][\w.:-]*+"
"""A pattern for the name of an attribute."""
_PAIR = re.compile(rf"""\s({NAME})\s*+=\s*+(?:"([^"]*+)"|'([^']*+)')""")


class Thought:
    """A filter that turns the text of thoughts, one after another, into events.

    CR and LF at the beginning and end of a thought are removed. A thought of nothing but blanks
    makes no event. All other text is emitted as it comes.
    """

    def __init__(self, choice: int = 0) -> None:
        self._choice = choice
        self._head = self._held = ""
        self._begun = False
        self._attributes: dict[str, str] | None = None

    def feed(self, text: str) -> list[Thinking]:
        """Return the thinking in this text. Line ends are held until more text follows."""
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
        """True if the thought has begun and nothing is held, so that text is emitted at once."""
        return self._begun and not self._held

    def read_attributes(self, tag: str) -> list[Thinking]:
        """Begin a thought with the attributes of its tag, and return the text of the attribute
        `thought`. Text between tag and closer follows behind a blank line.
        """
        self._attributes = {name: double or single for name, double, single in _PAIR.findall(tag)}
        return [*self.feed(self._attributes.get("thought", "")), *self.feed("\n\n")]

    def end(self) -> list[ThinkingEnd]:
        """End the thought, and return its end; an empty list if it was nothing but blanks."""
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
"""The kind of a tag with attributes, by its last characters."""


def attribute_tag(buffer: str, begin: int, end: int) -> re.Match[str] | None:
    """Return a match of the attributes behind the tag name at `begin:end`; `None` if no attributes
    stand there. The group `end` is `None` if the tag is not complete yet.
    """
    return _ATTRIBUTES.match(buffer, end - 1, begin + ATTRIBUTE_LIMIT)


_BETWEEN = re.compile(r"\n[^\S\n]*+\n\s*+")
"""The blank lines between two paragraphs."""
_WORD = re.compile(r"(?<=\s)(?=\S)")


class Guess:
    """A filter for a reply that begins in a thought by a guess only (`Mode.GUESSED`).

    If the guess is wrong, the reply is all answer, and a client that gets it as thinking has no
    answer. So the end of the thinking is held: a short reply as a whole, and the last paragraph of
    a longer one.

    - If a closer comes, the guess was right, and the held text is thinking.
    - If the reply stops without a closer, the held text is the answer: a short reply is nothing
      else, and a thought without closer often ends with the answer.

    Attributes:
        rest: the text that is held.
    """

    def __init__(self) -> None:
        self.rest = ""
        self._flows = False

    def feed(self, text: str) -> str:
        """Return the text that is certain to be thinking."""
        self.rest += text
        self._flows = self._flows or len(self.rest) > GUESS_LIMIT
        if not self._flows:
            return ""
        offset = _last_paragraph(self.rest, max(0, len(self.rest) - GUESS_LIMIT))
        passed, self.rest = self.rest[:offset], self.rest[offset:]
        return passed


def _last_paragraph(text: str, least: int) -> int:
    """Return the offset of the last paragraph, if it is `least` or more; else that of the first
    word behind `least`.
    """
    begun = [gap.end() for gap in _BETWEEN.finditer(text) if gap.end() < len(text)]
    if begun and begun[-1] >= least:
        return begun[-1]
    word = _WORD.search(text, least) if least else None
    return word.end() if word else least
