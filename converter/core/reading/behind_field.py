"""The content behind a thought that the server sent in a field of its own.

The server's reader takes the thought out and may leave marks of its end in the content. The rules
of a thought in text hold there too: a closer at the very head goes, and so do the tags in which a
model's answer stands, the opener at the head and the closer at the end.
"""

from collections.abc import Iterable

from converter.core.reading.families import GAP, SUFFIX, ThinkTags
from converter.core.reading.tool_calls.source import marks_of
from converter.core.wire.bounds import BLANKS_LIMIT


class BehindField:
    """Feed the content; the result is the content without those marks. `begin` when another thought
    has come in the field.
    """

    def __init__(self, families: Iterable[ThinkTags]) -> None:
        rows = tuple(families)
        answers = [row.answer_tags for row in rows if row.answer_tags]
        closers = [mark for row in rows for mark in row.closers]
        heads = [*closers, *(opener for opener, _ in answers)]
        self._heads = tuple(dict.fromkeys(it for it in heads if GAP not in it and SUFFIX not in it))
        self._ends = marks_of(*(closer for _, closer in answers))
        self._at_head = True
        self._held = ""

    def begin(self) -> str:
        """Return the words that waited: a thought comes next, and behind it a head."""
        held = self.close()
        self._at_head = True
        return held

    @property
    def begun(self) -> bool:
        """Tell whether nothing was said since `begin`, and nothing waits."""
        return self._at_head and not self._held

    @property
    def wakes(self) -> str | None:
        """The characters without which text passes at once; None while text may do more."""
        return None if self._at_head or self._held else self._ends.firsts

    def feed(self, text: str) -> str:
        """Return the content that is decided."""
        if not text:
            return ""
        self._held += text
        said = self._read_head() if self._at_head else ""
        return said if self._at_head else said + self._before_end()

    def close(self) -> str:
        """Return the text that waits, less the answer's closer: nothing more comes."""
        held, self._held = self._held, ""
        found = self._ends.search(held)
        over = found and not self._at_head and not held[found.end() :].strip()
        return held[: found.start()] + held[found.end() :] if found and over else held

    def _read_head(self) -> str:
        """Drop the marks at the head; return the blanks around them."""
        blanks = ""
        while True:
            body = self._held.lstrip()
            mark = max((it for it in self._heads if body.startswith(it)), key=len, default="")
            if not mark:
                break
            blanks += self._held[: len(self._held) - len(body)]
            self._held = body[len(mark) :]
        begun = any(it.startswith(body) for it in self._heads)
        self._at_head = begun and len(self._held) <= BLANKS_LIMIT
        return blanks

    def _before_end(self) -> str:
        """Return the words before what may be the answer's closer at the end."""
        stop, place = len(self._held) - self._ends.undecided(self._held, 0), 0
        while found := self._ends.search(self._held, place):
            place = found.end()
            behind = self._held[place:]
            if not behind.strip() and len(behind) <= BLANKS_LIMIT:
                stop = found.start()
        said, self._held = self._held[:stop], self._held[stop:]
        return said
