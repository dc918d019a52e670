"""`Source` holds the text of a reply that has arrived but was not read yet, and searches for marks
at its beginning.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from converter.core.reading.engine.context import BLANKS
from converter.core.reading.families import CLOSERS
from converter.core.reading.mark_search import NeedMore, beginnings
from converter.core.reading.tool_calls.verdict import End
from converter.core.wire.bounds import BLANKS_LIMIT

LONGEST_MARK = 128
"""How many characters of the text are compared with marks. No mark has so many."""


@dataclass(slots=True)
class Source:
    """The unread text of a reply."""

    rest: str = ""
    """The text that was not read yet."""
    end: End | None = None
    """The reason why no more text comes; `None` while more text may come."""

    @property
    def last(self) -> bool:
        """True if no more text comes."""
        return self.end is not None

    def need_more(self) -> None:
        """Raise `NeedMore` if more text may come."""
        if not self.last:
            raise NeedMore

    def take(self, length: int) -> str:
        """Remove and return the first `length` characters of `rest`."""
        taken, self.rest = self.rest[:length], self.rest[length:]
        return taken

    def mark_ahead(self, marks: Sequence[str], skip: str = BLANKS) -> str:
        """Skip the characters of `skip`, and closers of thoughts, at the beginning of `rest`.
        Return the longest of `marks` that stands behind them; empty if none does, or if more than
        `BLANKS_LIMIT` characters were skipped. Raises `NeedMore` if more text must come to decide
        it.

        Closers are skipped, because a model that calls in a thought may put the thought's closer
        anywhere.
        """
        offset, closer = 0, " "
        while closer:
            offset = len(self.rest) - len(self.rest[offset:].lstrip(skip))
            closer = next((it for it in CLOSERS if self.rest.startswith(it, offset)), "")
            offset += len(closer)
        if self.rest[offset:] in beginnings(*CLOSERS):
            self.need_more()
        return self.mark_at(marks, offset) if offset <= BLANKS_LIMIT else ""

    def mark_at(self, marks: Sequence[str], offset: int) -> str:
        """Return the longest of `marks` that begins at `offset` in `rest`; empty if none does.
        Raises `NeedMore` if `rest` ends within a mark and more text may come.
        """
        behind = self.rest[offset : offset + LONGEST_MARK]
        if behind in beginnings(*marks):
            self.need_more()
        return max(filter(behind.startswith, marks), key=len, default="")
