"""A closer without its opener, in a text that was read as beginning outside of any thought: the
sign of a wrong guess.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from converter.parsing.code_spans import CodeSpans


class UnmatchedCloser:
    """Feed the text; `found` tells whether a closer stood in it, outside of code and behind words:
    with none before it there was no thought. Nothing is held, and nothing changed.
    """

    def __init__(self, closers: Iterable[str]) -> None:
        self._pattern, self._reach = _search(tuple(closers))
        self._tail = ""
        self._code = CodeSpans()
        self._words = False
        self.found = False

    def feed(self, text: str) -> None:
        """Look at the next piece of the text; a closer may have begun in the one before."""
        if self.found:
            return
        window = self._tail + text
        seen = 0
        for closer in self._pattern.finditer(window):
            begin = max(0, closer.start() - len(self._tail))
            self._code.feed(text[seen:begin])
            seen = begin
            words = self._words or bool(window[: closer.start()].strip())
            if closer.end() > len(self._tail) and words and not self._code.inside():
                self.found = True
                return
        self._code.feed(text[seen:])
        # of the tail as much as a closer may begin with is no word yet
        done = window[: max(0, len(window) - self._reach)]
        self._words = self._words or bool(done.strip())
        self._tail = window[max(0, len(window) - self._reach) :]


@lru_cache(maxsize=64)
def _search(closers: tuple[str, ...]) -> tuple[re.Pattern[str], int]:
    """Return the pattern of a closer, and how many characters of one may have come before."""
    marks = sorted(closers, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, marks)) or "(?!)")
    return pattern, max(map(len, marks), default=1) - 1
