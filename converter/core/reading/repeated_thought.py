"""Removal of a thought from the content that the server has sent in a field already."""

from collections.abc import Iterable

from converter.core.reading.mark_search import MarkSearch, marks_of
from converter.core.reading.thought_row import ThoughtRow

HEAD = 64
"""How many characters at a thought's beginning are compared, without the blanks before them."""
_HELD_LIMIT = 4 * HEAD
"""The most characters of content that wait: an opener, blanks around it, and the beginning of a
thought.
"""


class RepeatedThought:
    """A filter for the content of a reply whose thinking came in a field.

    `expect` takes the thinking of the field, `feed` the content. If the content begins with a
    thought in tags, and that thought begins like the field's, it is dropped up to its closer. Only
    the first `HEAD` characters are compared, so that a long thought costs no more than a short one.

    Arguments:
        families: the families whose openers are recognised.
        closers: set if the content has opened a thought already, before the field came: the closers
            of that thought.
    """

    def __init__(self, families: Iterable[ThoughtRow], closers: tuple[str, ...] = ()) -> None:
        pairs = [(mark, row.closes) for row in families for mark in row.opens]
        self._pairs = [("", closers)] if closers else sorted(pairs, key=lambda it: -len(it[0]))
        self._expected = ""
        self._held = ""
        self._ends: MarkSearch | None = None  # the closers of the thought that is being dropped
        self.over = not self._pairs

    def expect(self, text: str) -> None:
        """Add thinking of the field to the text that a repeated thought must begin with."""
        if self.listens:
            self._expected = (self._expected + text[:_HELD_LIMIT]).lstrip()[:HEAD]

    @property
    def listens(self) -> bool:
        """True if more thinking of the field is needed for the comparison."""
        return not self.over and len(self._expected) < HEAD

    def feed(self, text: str) -> str:
        """Return the content without a repeated thought, as far as it is decided."""
        if self.over:
            return text
        self._held += text
        return self._drop(self._ends) if self._ends else self._look()

    def close(self) -> str:
        """End the search, and return the content that waits."""
        held, self._held = "" if self._ends else self._held, ""
        self.over = True
        return held

    def _look(self) -> str:
        body = self._held.lstrip()
        pair = next((pair for pair in self._pairs if body.startswith(pair[0])), None)
        if pair is None:
            return self._wait(any(mark.startswith(body) for mark, _ in self._pairs))
        ends, thought = marks_of(*pair[1]), body[len(pair[0]) :].lstrip()
        end = ends.search(thought)
        begun = thought[: end.start()] if end else thought
        same = begun[:HEAD].rstrip() == self._expected.rstrip() != ""
        if same and (end or len(self._expected) == HEAD <= len(begun)):
            self._ends = ends
            return self._drop(ends)
        # The end of the text may be the beginning of a closer, which is not compared.
        begun = begun[: len(begun) - ends.undecided(begun, 0)].rstrip()
        agree = self._expected.startswith(begun) or begun.startswith(self._expected)
        return self._wait(end is None and agree)

    def _wait(self, undecided: bool) -> str:
        return "" if undecided and len(self._held) <= _HELD_LIMIT else self.close()

    def _drop(self, ends: MarkSearch) -> str:
        """Drop the thought up to its closer; return the content behind the closer."""
        match = ends.search(self._held)
        if not match:
            self._held = self._held[len(self._held) - ends.undecided(self._held, 0) :]
            return ""
        behind, self._held = self._held[match.end() :], ""
        self._ends, self.over = None, True
        return behind


NOTHING_REPEATED = RepeatedThought(())
"""The filter for replies without thinking in a field: it passes all content on. All replies share
it, because it keeps no state.
"""
