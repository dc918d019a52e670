"""JSON in an answer, in which nothing is a tag: a call without marks, or the answer that was asked
for. An argument may be a text about tags, and so may a string of an answer.
"""

import re
from collections.abc import Callable

from converter.core.reading.engine.states import IN_TEXT, SILENT_SO_FAR, UNDECIDED, State
from converter.core.reading.json_extent import JsonExtent

_VALUE = re.compile(r"[\[{]")
_VALUE_AT_HEAD = re.compile(r"\s*+[\[{]")


class JsonValues:
    """The values in a text, from the first bracket to the last. `wanted`: the answer is to
    be JSON; `open`: the value that is read.
    """

    def __init__(self, wanted: bool) -> None:
        self._wanted = wanted
        self._find: Callable[[str, int, int], re.Match[str] | None] | None = None
        self.open: JsonExtent | None = None

    @property
    def waits(self) -> bool:
        """Tell whether a value is open, or may begin here."""
        return self.open is not None or self._find is not None

    @property
    def firsts(self) -> str:
        """The characters with which a value may begin in an answer."""
        return "[{" if self._wanted else ""

    def look(self, state: State, offered: bool) -> None:
        """Find out where values may begin in a state. `offered`: the request offers tools."""
        self._find = None
        if state in IN_TEXT and state is not State.PHRASED and not self.open:
            if self._wanted and state not in UNDECIDED:
                self._find = _VALUE.search
            elif (self._wanted or offered) and state in SILENT_SO_FAR:
                self._find = _VALUE_AT_HEAD.match

    def begin(self) -> None:
        """Begin a value."""
        self.open = JsonExtent()

    def begins(self, text: str, stop: int) -> int | None:
        """Return where a value begins before `stop`."""
        found = self._find(text, 0, stop) if self._find else None
        return found.end() - 1 if found else None

    def ends(self, text: str) -> int | None:
        """Return where the open value ends in the text that comes next."""
        return self.open.feed(text) if self.open else None
