"""A tag at a reply's head that speaks of thinking, and that no family in force reads.

Nothing is moved for it: a stage that only looks, so that a person can be told which option reads
it. Only the head counts, and only a name with a word of thinking in it, because answers in HTML or
XML begin with tags as well. Where the closer comes and no words behind it, the answer itself stands
in the tag, and nothing is said.
"""

import re
from collections.abc import Sequence

from converter.core.model.events import Event, Finish, Text, Thinking
from converter.core.reading.findings import Findings

type Pair = tuple[str, str]

HEAD = 64
"""Characters of the text in which the opener must be whole."""
_NAME = r"[A-Za-z][\w:.-]{0,40}"
_OPENER = re.compile(rf"\s*(?P<left><\|?|\[|◁)(?P<name>{_NAME})(?P<right>\|?>|\]|▷)")
_SIDES = {("<", ">"), ("<|", "|>"), ("[", "]"), ("◁", "▷")}
_THINKING = re.compile(
    r"think|thought|reflect|ponder|ruminat|deliberat|scratchpad|monolog|reason(ing)?\Z|\Acot\Z",
    re.IGNORECASE,
)
_ENDS = {"begin": "end", "start": "end", "open": "close"}
"""Words of an opener, and the closer's in their place."""


def pair_at_head(text: str) -> Pair | None:
    """Return the opener that a text begins with, if its name speaks of thinking, and the closer
    that most likely ends it.
    """
    match = _OPENER.match(text)
    if not match or (match["left"], match["right"]) not in _SIDES:
        return None
    if not _THINKING.search(match["name"]):
        return None
    return match[0].lstrip(), _closer(match["left"], match["name"], match["right"])


def _closer(left: str, name: str, right: str) -> str:
    for begin, end in _ENDS.items():
        if match := re.search(begin, name, re.IGNORECASE):
            ended = name[: match.start()] + _cased(end, match[0]) + name[match.end() :]
            return left + ended + right
    return f"{left}/{name}{right}"


def _cased(word: str, like: str) -> str:
    return word.upper() if like.isupper() else word


class UnreadTag:
    """Events of one choice in, the same out; `findings` get the tag when the choice ends."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._head: str | None = ""
        self._pair: Pair | None = None
        self._tail = ""

    def feed(self, event: Event) -> Sequence[Event]:
        """Return the event; take note of it."""
        match event:
            case Thinking():
                self._head = self._pair = None
            case Text(refusal=False):
                self._hear(event.text)
            case Finish():
                self.close()
        return [event]

    def close(self) -> Sequence[Event]:
        """Return nothing; tell of the tag, unless all of the text stands in it."""
        if self._head is not None:
            self._decide(self._head)
        if self._pair and self._tail != self._pair[1]:
            self._findings.unread = self._pair
        return []

    def plain[Kind](self, kind: Kind) -> tuple[Kind, str]:
        """Return plain words: they stay themselves."""
        return kind, ""

    def _hear(self, text: str) -> None:
        if self._head is None:
            self._look_behind(text)
        else:
            self._head += text
            if len(self._head.lstrip()) >= HEAD:
                self._decide(self._head)

    def _decide(self, head: str) -> None:
        self._head, self._pair = None, pair_at_head(head)
        self._look_behind(head)

    def _look_behind(self, text: str) -> None:
        """Keep the closer and the first word behind it, or what may be the beginning of it."""
        if not self._pair:
            return
        closer, text = self._pair[1], self._tail + text
        place = text.find(closer)
        behind = text[place:].rstrip()[: len(closer) + 1]
        self._tail = behind if place >= 0 else text[1 - len(closer) :]
