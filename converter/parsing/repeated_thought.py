"""A thought that a server sends in its field, and again with its tags in the content.

The content's own is dropped where it begins as the field's does: only that much is compared, so
that a long thought passes as fast as any.
"""

from collections.abc import Iterable

from converter.parsing.think_tags import ThinkTags

HEAD = 64
"""Characters of a thought by which it is known again, blanks around it aside."""
_HELD_LIMIT = 4 * HEAD
"""Characters that wait for more: an opener with blanks around it, and a thought's beginning."""


class RepeatedThought:
    """`hear` the field's thinking and feed the content: the result is the content without that
    thought. `closers`: of a thought that the content has opened and that has said nothing.
    """

    def __init__(self, families: Iterable[ThinkTags], closers: tuple[str, ...] = ()) -> None:
        pairs = [(mark, row.closers) for row in families for mark in row.openers]
        self._pairs = [("", closers)] if closers else sorted(pairs, key=lambda it: -len(it[0]))
        self._told = ""
        self._held = ""
        self._closers: tuple[str, ...] = ()  # of the thought that is dropped
        self.over = not self._pairs

    def hear(self, text: str) -> None:
        """Take words that the field tells."""
        if self.listens:
            self._told = (self._told + text[:_HELD_LIMIT]).lstrip()[:HEAD]

    @property
    def listens(self) -> bool:
        """Tell whether words of the field still matter."""
        return not self.over and len(self._told) < HEAD

    def feed(self, text: str) -> str:
        """Return the content without repeated thoughts, as far as that is decided."""
        if self.over:
            return text
        self._held += text
        return self._drop() if self._closers else self._look()

    def close(self) -> str:
        """Return the text that waits: nothing more comes, or something else does."""
        held, self._held = "" if self._closers else self._held, ""
        self.over = True
        return held

    def _look(self) -> str:
        body = self._held.lstrip()
        opener, closers = next((pair for pair in self._pairs if body.startswith(pair[0])), _NONE)
        thought = body[len(opener) :].lstrip()
        end = min((place for mark in closers if (place := thought.find(mark)) >= 0), default=None)
        same = thought[:end][:HEAD].rstrip() == self._told.rstrip() != ""
        if closers and same and (end is not None or len(self._told) == HEAD <= len(thought)):
            self._closers = closers
            return self._drop()
        waits = not closers and any(pair[0].startswith(body) for pair in self._pairs)
        agree = closers and end is None and _begins(thought, self._told, closers)
        return "" if (waits or agree) and len(self._held) <= _HELD_LIMIT else self.close()

    def _drop(self) -> str:
        """Drop the thought up to its closer."""
        ends = [(self._held.find(mark), -len(mark)) for mark in self._closers]
        place, length = min((end for end in ends if end[0] >= 0), default=(-1, 0))
        if place < 0:
            self._held = self._held[1 - max(map(len, self._closers)) :]
            return ""
        self._closers = ()
        behind, self._held = self._held[place - length :], ""
        self.over = True
        return behind


_NONE: tuple[str, tuple[str, ...]] = ("", ())


def _begins(thought: str, before: str, closers: tuple[str, ...]) -> bool:
    """Tell whether a thought may still be the one told; half a closer may stand at its end."""
    begun = max(n for mark in closers for n in range(len(mark)) if thought.endswith(mark[:n]))
    words = thought[: len(thought) - begun].rstrip()
    return before.startswith(words) or words.startswith(before)
