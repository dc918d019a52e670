"""A thought that a reply is only guessed to begin in: the part of it that waits for the guess to
prove right.

Read as a thought, a reply that is none leaves the client without an answer. So while nothing but
the model's name tells that there is a thought, its end is held back: a short reply whole, of a
longer one the last paragraph. When the reply stops without a closer, that is the answer, because an
answer is either all there is or what a thought that nobody closed ends with. Nothing is lost, and
nothing is told twice. With a closer all of it was thinking, and the next reply is no guess.
"""

import re

from converter.wire.bounds import GUESS_LIMIT

_BETWEEN = re.compile(r"\n[^\S\n]*+\n\s*+")
"""The gap of two paragraphs; at the text's end none has begun behind it."""
_WORD = re.compile(r"(?<=\s)(?=\S)")


class Guess:
    """Feed the thought; all that comes out is thinking in any case. `rest`: what is held."""

    def __init__(self) -> None:
        self.rest = ""
        self._flows = False

    def feed(self, text: str) -> str:
        """Return the words that need not wait."""
        self.rest += text
        self._flows = self._flows or len(self.rest) > GUESS_LIMIT
        if not self._flows:
            return ""
        place = _last_paragraph(self.rest, max(0, len(self.rest) - GUESS_LIMIT))
        passed, self.rest = self.rest[:place], self.rest[place:]
        return passed


def _last_paragraph(text: str, least: int) -> int:
    """Return where the last paragraph begins, or the first word, at `least` or behind it."""
    begun = [gap.end() for gap in _BETWEEN.finditer(text) if gap.end() < len(text)]
    if begun and begun[-1] >= least:
        return begun[-1]
    word = _WORD.search(text, least) if least else None
    return word.end() if word else least
