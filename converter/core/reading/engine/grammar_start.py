"""The decision where a reply begins, if a grammar constrains its answer.

Such a reply begins in the answer, even if the model usually begins in a thought. Two facts show
that it begins in a thought nevertheless: a mark in the text, or, if the answer must be JSON, a word
as its beginning.
"""

from converter.core.reading.beginning import JSON_BEGINS, Grammar, Mode
from converter.core.reading.engine.states import State

_LIMIT = 4096
"""How many characters of an answer wait for a mark, if the grammar is not JSON. Such answers are
short: a choice, a number, some lines. If no closer comes within the limit, the text is the answer.
"""


class GrammarStart:
    """The decision for one reply.

    Attributes:
        mode: the mode in which the engine begins: UNDECIDED, if a grammar constrains the answer of
            a reply that would begin in a thought; else the mode that is known.
        guessed: True if it was only guessed that the reply would begin in a thought.
    """

    def __init__(self, grammar: Grammar, start: Mode) -> None:
        self._grammar = grammar if start in (Mode.THINKING, Mode.GUESSED) else Grammar.NONE
        self._waiting = 0
        self.mode = start if self._grammar is Grammar.NONE else Mode.UNDECIDED
        self.guessed = start is Mode.GUESSED

    def by_first(self, text: str) -> State | None:
        """Return the state in which the reply begins, by its first text; `None` if this text does
        not decide.
        """
        if self._grammar is not Grammar.JSON:
            return None
        self._grammar = Grammar.NONE
        in_text = text.lstrip().startswith(JSON_BEGINS)
        return State.HEAD if in_text else State.BEGINNING

    def by_length(self, text: str) -> State | None:
        """Return ANSWERING if the text is longer than the limit without a mark; else `None`."""
        if self._grammar is not Grammar.OTHER:
            return None
        self._waiting += len(text)
        return State.ANSWERING if self._waiting > _LIMIT else None
