"""A thought that a server sends in its field, and again with its tags in the content."""

from collections.abc import Iterable

from converter.core.reading.mark_search import MarkSearch, marks_of
from converter.core.reading.thought_row import ThoughtRow

HEAD = 64
"""Characters of a thought by which it is known again, blanks around it aside."""
_HELD_LIMIT = 4 * HEAD
"""Characters that wait for more: an opener with blanks around it, and a thought's beginning."""


class RepeatedThought:
    """The content without a thought that the field has told.

    `hear` the field's thinking and feed the content: the result is the content without that
    thought. `closers`: of a thought that the content has opened and that has said nothing.

    The content's own is dropped where it begins as the field's does: only that much is compared, so
    that a long thought passes as fast as any.
    """

    def __init__(self, families: Iterable[ThoughtRow], closers: tuple[str, ...] = ()) -> None:
        pairs = [(mark, row.closes) for row in families for mark in row.opens]
        self._pairs = [("", closers)] if closers else sorted(pairs, key=lambda it: -len(it[0]))
        self._expected = ""
        self._held = ""
        self._ends: MarkSearch | None = None  # of the thought that is dropped
        self.over = not self._pairs

    def expect(self, text: str) -> None:
        """Take text of the field."""
        if self.listens:
            self._expected = (self._expected + text[:_HELD_LIMIT]).lstrip()[:HEAD]

    @property
    def listens(self) -> bool:
        """Return True if words of the field still matter."""
        return not self.over and len(self._expected) < HEAD

    def feed(self, text: str) -> str:
        """Return the content without repeated thoughts, as far as that is decided."""
        if self.over:
            return text
        self._held += text
        return self._drop(self._ends) if self._ends else self._look()

    def close(self) -> str:
        """Return the text that waits: nothing more comes, or something else does."""
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
        # half a closer may stand at its end
        begun = begun[: len(begun) - ends.undecided(begun, 0)].rstrip()
        agree = self._expected.startswith(begun) or begun.startswith(self._expected)
        return self._wait(end is None and agree)

    def _wait(self, undecided: bool) -> str:
        return "" if undecided and len(self._held) <= _HELD_LIMIT else self.close()

    def _drop(self, ends: MarkSearch) -> str:
        """Drop the thought up to its closer."""
        match = ends.search(self._held)
        if not match:
            self._held = self._held[len(self._held) - ends.undecided(self._held, 0) :]
            return ""
        behind, self._held = self._held[match.end() :], ""
        self._ends, self.over = None, True
        return behind


NOTHING_REPEATED = RepeatedThought(())
"""Of a reply whose field has told no thought: it lets all pass, and keeps nothing."""
