"""`RepeatedThought` drops the thought with which the content of a reply begins, if the server has
sent the same thought in a field.
"""

from collections.abc import Iterable

from converter.core.reading.mark_search import MarkSearch, search_for
from converter.core.reading.thought_row import ThoughtRow

HEAD = 64
"""How many characters of two thoughts are compared, from the first one that is not blank."""
_HELD_LIMIT = 4 * HEAD
"""The most characters of content that are held: an opener, blanks around it, and the beginning of
the thought.
"""


class RepeatedThought:
    """A filter for the content of a reply whose thinking came in a field. If the content begins
    with a thought in tags that repeats this thinking, the filter drops the thought.

    `expect` takes the thinking of the field, `feed` the content. Only the first `HEAD` characters
    of the two thoughts are compared, so that a long thought costs no more than a short one. The
    tags are dropped too.

    Arguments:
        families: the families whose openers are recognised.
        closers: if the content had opened a thought before the field's thinking came, the closers
            of this thought; else empty.

    Attributes:
        over: True once `feed` returns all content unchanged, because no more is compared or
            dropped.
    """

    def __init__(self, families: Iterable[ThoughtRow], closers: tuple[str, ...] = ()) -> None:
        pairs = [(mark, row.closes) for row in families for mark in row.opens]
        self._pairs = [("", closers)] if closers else sorted(pairs, key=lambda it: -len(it[0]))
        self._expected = ""
        self._held = ""
        self._ends: MarkSearch | None = None  # closers of the thought that is being dropped, if any
        self.over = not self._pairs

    def expect(self, text: str) -> None:
        """Read the next thinking of the field. The content is compared with its beginning."""
        if self.needs_more:
            self._expected = (self._expected + text[:_HELD_LIMIT]).lstrip()[:HEAD]

    @property
    def needs_more(self) -> bool:
        """True if the field's thinking so far is too short for the comparison (`HEAD`)."""
        return not self.over and len(self._expected) < HEAD

    def feed(self, text: str) -> str:
        """Read the next content. Return the content that need not be held. A repeated thought is
        left out of it.
        """
        if self.over:
            return text
        self._held += text
        if self._ends:
            return self._drop_thought(self._ends)
        body = self._held.lstrip()
        pair = next((pair for pair in self._pairs if body.startswith(pair[0])), None)
        if pair is None:
            return self._hold_if(any(mark.startswith(body) for mark, _ in self._pairs))
        ends, thought = search_for(*pair[1]), body[len(pair[0]) :].lstrip()
        end = ends.search(thought)
        begun = thought[: end.start()] if end else thought
        same = begun[:HEAD].rstrip() == self._expected.rstrip() != ""
        if same and (end or len(self._expected) == HEAD <= len(begun)):
            self._ends = ends
            return self._drop_thought(ends)
        # If the text ends with a part of a closer (`</thi`), this part is not compared: the rest of
        # the closer may come with the next content.
        begun = begun[: len(begun) - ends.begun_length(begun, 0)].rstrip()
        agree = self._expected.startswith(begun) or begun.startswith(self._expected)
        return self._hold_if(end is None and agree)

    def close(self) -> str:
        """Stop the comparison, and return the held content. A repeated thought whose closer has not
        come is dropped.
        """
        held, self._held = "" if self._ends else self._held, ""
        self.over = True
        return held

    def _hold_if(self, undecided: bool) -> str:
        """Hold the content and return nothing, if it is `undecided` whether it repeats the thought,
        and no longer than `_HELD_LIMIT`. Else end the comparison and return the content.
        """
        return "" if undecided and len(self._held) <= _HELD_LIMIT else self.close()

    def _drop_thought(self, ends: MarkSearch) -> str:
        """Drop the held content up to the closer of the thought, one of `ends`. Return the content
        behind the closer; empty if the closer has not come.
        """
        match = ends.search(self._held)
        if not match:
            self._held = self._held[len(self._held) - ends.begun_length(self._held, 0) :]
            return ""
        behind, self._held = self._held[match.end() :], ""
        self._ends, self.over = None, True
        return behind


NOTHING_REPEATED = RepeatedThought(())
"""The filter for replies without thinking in a field: it returns all content unchanged. All replies
share it, because nothing changes in it.
"""
