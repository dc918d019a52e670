"""A call within a thought that is not closed, and all behind it: until that tells whether the call
was meant, nothing of it goes out, since no client acts before the finish.

It is a call when the reply ends behind it, or nothing but blanks, closers and more calls follows in
the thought; a draft when the thought goes on behind it and is closed, or goes on for long.
"""

from copy import copy
from dataclasses import dataclass, replace

from converter.core.model.events import Event
from converter.core.reading.engine.outcome import CallLog, OpenThought
from converter.core.wire.bounds import GUESS_LIMIT, HELD_LIMIT


@dataclass(slots=True)
class Draft:
    """`thought`, `calls`: as they were before the call; `out`: what was said before; `text`: all
    that came since, from the call's mark on; `words`: characters behind the last call.
    """

    thought: OpenThought
    calls: CallLog
    out: list[Event]
    text: list[str]
    length: int
    words: int = 0

    @classmethod
    def begin(cls, thought: OpenThought, calls: CallLog, out: list[Event], text: str) -> "Draft":
        """Begin at the call's mark, with which `text` begins."""
        before = replace(calls, read=calls.read[:], cut=calls.cut[:])
        return cls(copy(thought), before, out, [text], len(text))

    def feed(self, text: str) -> None:
        """Take the next piece of the text."""
        self.text.append(text)
        self.length += len(text)

    def take_out(self) -> list[Event]:
        """Return what was said before, once."""
        out, self.out = self.out, []
        return out

    @property
    def is_long(self) -> bool:
        """Tell whether more waits than may: then it is a call."""
        return self.length > HELD_LIMIT

    @property
    def goes_on(self) -> bool:
        """Tell whether the thought goes on for so long that the call was a draft."""
        return self.words > GUESS_LIMIT

    def told(self, left: int) -> str:
        """Return the text up to its last `left` characters."""
        return "".join(self.text)[: self.length - left]
