"""A thought as it goes out: its blanks, its end, and the attributes of its tag."""

import itertools
import math
import re

from converter.model.events import Text, Thinking, ThinkingEnd
from converter.wire.bounds import BLANKS_LIMIT

type Said = Text | Thinking | ThinkingEnd

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


def joined(events: list[Said]) -> list[Said]:
    """Join neighbours of one kind, so that text nobody touched comes out as it went in."""
    out: list[Said] = []
    pieces: list[str] = []
    for event, following in itertools.zip_longest(events, events[1:]):
        if isinstance(event, ThinkingEnd):
            out.append(event)
            continue
        pieces.append(event.text)
        if type(following) is not type(event):
            out.append(type(event)("".join(pieces), event.choice))
            pieces.clear()
    return out
