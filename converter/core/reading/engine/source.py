"""Text that arrives in pieces, as far as it is not read."""

from collections.abc import Sequence

from converter.core.reading.engine.context import BLANKS
from converter.core.reading.families import CLOSERS
from converter.core.wire.bounds import BLANKS_LIMIT


class Source:
    """Text to read. `rest`: all that is not taken; `last`: no more will come."""

    def __init__(self) -> None:
        self.rest = ""
        self.last = False

    def feed(self, text: str) -> None:
        """Take the next piece of the text."""
        self.rest += text

    def take(self, length: int) -> str:
        """Return so many characters, and go on behind them."""
        taken, self.rest = self.rest[:length], self.rest[length:]
        return taken

    def look(self, marks: Sequence[str], skip: str = BLANKS) -> tuple[str, int] | None:
        """Return the longest mark that stands behind characters of `skip`, and their number. A
        thought's closer between them says nothing, because models that call in a thought put it
        anywhere.

        The mark is empty when none stands there; None: that is not decided yet.
        """
        offset, closer = 0, " "
        while closer:
            offset = len(self.rest) - len(self.rest[offset:].lstrip(skip))
            closer = next((it for it in CLOSERS if self.rest.startswith(it, offset)), "")
            offset += len(closer)
        behind = "" if self.last else self.rest[offset:]
        if behind and any(closer.startswith(behind) for closer in CLOSERS):
            return None
        return self.look_at(marks, offset)

    def look_at(self, marks: Sequence[str], offset: int) -> tuple[str, int] | None:
        """Return the longest mark that stands at `offset`, and `offset`; None: not decided yet."""
        length = len(self.rest) - offset
        if offset > BLANKS_LIMIT:
            return "", offset
        if not self.last:
            behind = self.rest[offset:]
            if any(length < len(mark) and mark.startswith(behind) for mark in marks):
                return None
        fitting = [mark for mark in marks if self.rest.startswith(mark, offset)]
        return max(fitting, key=len, default=""), offset
