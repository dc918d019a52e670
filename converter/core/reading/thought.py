"""`Thought` turns the text of thoughts, and the attributes of their tags, into events. `Guess` is
for a reply that only probably begins in a thought: it holds the end of the text, which may be the
answer. `part_of` returns a thinking event with a part of its text.
"""

import math
import re
from dataclasses import replace

from converter.core.model.events import Text, Thinking, ThinkingEnd
from converter.core.reading.mark_search import Mark
from converter.core.wire.bounds import ATTRIBUTE_LIMIT, BLANKS_LIMIT, GUESS_LIMIT

type ThoughtEvent = Text | Thinking | ThinkingEnd

UNREADABLE_CONFIDENCE = 0.5
"""The confidence of a thought whose tag has attributes, but no `confidence` that is a finite
number. A tag without attributes gives no confidence.
"""
NAME = r"[A-Za-z_][\w.:-]*+"
"""The pattern of the name of an attribute in a tag."""
_PAIR = re.compile(rf"""\s({NAME})\s*+=\s*+(?:"([^"]*+)"|'([^']*+)')""")
"""The pattern of an attribute in a tag: a blank, the name, and the value in quotes."""


class Thought:
    """A filter that turns the text of thoughts, one after another, into events.

    CR and LF at the beginning and end of a thought are dropped. A thought that consists of blanks
    makes no event. All other text is returned unchanged; so are blanks beyond `BLANKS_LIMIT`.
    """

    def __init__(self, choice: int = 0) -> None:
        self._choice = choice
        self._head = self._held = ""
        self._begun = False
        self._attributes: dict[str, str] | None = None

    def feed(self, text: str) -> list[Thinking]:
        """Return the next text of the thought as an event. Line ends at its end are held until more
        text follows.
        """
        if self.passes_text and text and text[-1] not in "\r\n":
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
    def passes_text(self) -> bool:
        """True if the thought has text and nothing is held, so that `feed` returns text without
        line ends unchanged.
        """
        return self._begun and not self._held

    def read_attributes(self, tag: str) -> list[Thinking]:
        """Begin a thought with `tag`, an opener with attributes: `<thinking thought="Hm">`. Return
        the value of its attribute `thought` as an event; nothing if it has none. Text behind the
        tag is fed later, and a blank line then stands between the two.
        """
        self._attributes = {name: double or single for name, double, single in _PAIR.findall(tag)}
        return [*self.feed(self._attributes.get("thought", "")), *self.feed("\n\n")]

    def end(self) -> list[ThinkingEnd]:
        """End the thought. Return the event for its end; nothing if the thought had only blanks. If
        its tag had attributes, the event has the type and confidence from them
        (`UNREADABLE_CONFIDENCE`).
        """
        begun, attributes, around = self._begun, self._attributes, (self._head, self._held)
        self._begun, self._head, self._held, self._attributes = False, "", "", None
        if not begun:
            return []
        if attributes is None:
            return [ThinkingEnd(self._choice, around=around)]
        try:
            confidence = float(attributes.get("confidence", ""))
        except ValueError:
            confidence = math.nan
        if not math.isfinite(confidence):
            confidence = UNREADABLE_CONFIDENCE
        return [ThinkingEnd(self._choice, attributes.get("thought_type"), confidence)]


def part_of(event: Thinking, text: str, rest: bool = False) -> Thinking:
    """Return the event with only `text`, a part of its text. The fields of the event that only its
    dialect can write back (`own`) get this part too.

    Fields that are not strings (a list of blocks) cannot be divided. They are kept only if `rest`
    is True, which says that `text` is the last part of the event's text.
    """
    if event.own is None:
        return replace(event, text=text)
    fields = {
        name: text if isinstance(value, str) else value
        for name, value in event.own.fields.items()
        if rest or isinstance(value, str)
    }
    return replace(event, text=text, own=replace(event.own, fields=fields))


_ATTRIBUTE = rf"""\s++{NAME}\s*+=\s*+(?:"[^"]*+"|'[^']*+')"""
"""The pattern of a complete attribute with the blanks before it."""
_ATTRIBUTES = re.compile(
    rf"""(?:{_ATTRIBUTE})*+(?:\s*+(?P<end>/?>)"""
    rf"""|(?:\s++{NAME}\s*+(?:=\s*+(?:"[^"]*+|'[^']*+)?)?|\s*+/?)\Z)"""
)
"""The pattern of all attributes of a tag and its end. At the end of the text it also matches an
incomplete attribute; the group `end` is then `None`.
"""
ENDS = {">": Mark.WITH_ATTRIBUTES, "/>": Mark.WHOLE}
"""end of a tag with attributes -> the kind of the tag."""


def match_attributes(text: str, length: int) -> re.Match[str] | None:
    """Return the match of the attributes in the tag with which `text` begins, up to the tag's end;
    `None` if other text stands there.

    `text[:length]` is the beginning of the tag, with the blank behind its name (`<thinking `). The
    match's group `end` is `>` or `/>`; it is `None` if `text` ends within the tag.
    """
    return _ATTRIBUTES.match(text, length - 1, ATTRIBUTE_LIMIT)


_BLANK_LINES = re.compile(r"\n[^\S\n]*+\n\s*+")
"""The blank lines between two paragraphs."""
_WORD_BEGIN = re.compile(r"(?<=\s)(?=\S)")
"""The pattern of the position between a blank and a word."""


class Guess:
    """A filter for a reply that is only guessed to begin in a thought (`Mode.GUESSED`). It holds
    the end of the thinking, which may be the answer.

    If the guess is wrong, the whole reply is an answer, and a client that gets it as thinking has
    no answer. So the end of the thinking is held: a reply of up to `GUESS_LIMIT` characters as a
    whole, of a longer one the last paragraph, at most so many characters of it.

    - If a closer comes, the guess was right, and the held text is thinking. It is also thinking if
      a call comes, or if the reply is cut off.
    - If the reply stops without a closer, the held text is the answer, because a thought without a
      closer often ends with the answer.

    Attributes:
        rest: the held text.
    """

    def __init__(self) -> None:
        self.rest = ""
        self._flows = False

    def feed(self, text: str) -> str:
        """Read the next text of the guessed thought. Return the text that need not be held any
        longer, because it is thinking.
        """
        self.rest += text
        self._flows = self._flows or len(self.rest) > GUESS_LIMIT
        if not self._flows:
            return ""
        least = offset = max(0, len(self.rest) - GUESS_LIMIT)
        gaps = [gap.end() for gap in _BLANK_LINES.finditer(self.rest) if gap.end() < len(self.rest)]
        if gaps and gaps[-1] >= least:
            offset = gaps[-1]
        # The last paragraph is too long: hold it from the first word within the limit on.
        elif least and (word := _WORD_BEGIN.search(self.rest, least)):
            offset = word.end()
        passed, self.rest = self.rest[:offset], self.rest[offset:]
        return passed
