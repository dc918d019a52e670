"""Thoughts that repeat themselves: the same words three times in a row, and then most often for
ever.

Linear: each word is read once, and each look at the tail costs no more than the words since the
last one.
"""

import re

SHORTEST, LONGEST = 4, 128
"""Words of a period."""
TIMES = 3
LEAST = 250
"""Words of a thought before the first look, because a short one may count or list."""
EVERY = 64
"""Words between two looks."""
LONGEST_WORD = 64
_CJK = r"\u2e80-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_CJK}]|[^\s{_CJK}]{{1,{LONGEST_WORD}}}")
"""Chinese and Japanese have no blanks, so that each character is a word; what else has none is cut,
because a word is held until it ends.
"""


class LoopFinder:
    """Words of one thought in. `period`: the words that repeat, once they are found.

    Cut anywhere, the same answer: a word counts when the next character has come.
    """

    def __init__(self) -> None:
        self.period: tuple[str, ...] = ()
        self._part = ""
        self._count = 0
        self._tail: list[str] = []

    def feed(self, text: str) -> int | None:
        """Return where in `text` the third time ends, None while there is no loop."""
        words = _words(whole := self._part + text)
        held = words.pop() if words and not whole[-1].isspace() else ""
        begin, done = len(self._part), 0
        self._part = held
        while done < len(words):
            few = EVERY - self._count % EVERY
            self._tail += words[done : done + few]
            self._count += len(words[done : done + few])
            done += few
            if done <= len(words) and self._count >= LEAST and self._repeats():
                return max(_end_of(whole, done) - begin, 0)
        return None

    def _repeats(self) -> bool:
        tail = self._tail
        del tail[: -TIMES * LONGEST]
        last, before = tail[-1], tail[-2 : -LONGEST - 2 : -1]
        at = SHORTEST - 2
        while True:
            try:
                at = before.index(last, at + 1)
            except ValueError:
                return False
            size = at + 1
            if tail[-size:] == tail[-2 * size : -size] == tail[-3 * size : -2 * size]:
                self.period = tuple(tail[-size:])
                return True


def _words(text: str) -> list[str]:
    """Return the words; almost always blanks alone tell them apart, which takes a third as long."""
    words = text.split() if text.isascii() else []
    return words if words and max(map(len, words)) <= LONGEST_WORD else _WORD.findall(text)


def _end_of(text: str, count: int) -> int:
    """Return where the word of this number ends."""
    matches = _WORD.finditer(text)
    return next(word.end() for number, word in enumerate(matches, 1) if number == count)
