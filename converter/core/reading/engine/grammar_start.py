"""The beginning of an answer that a server makes by a grammar.

Such a reply begins as text though it were to begin in a thought, unless it has a mark or, where
JSON is wanted, begins with a word.
"""

from converter.core.reading.beginning import JSON_BEGINS, Grammar, Mode
from converter.core.reading.engine.states import State

_LIMIT = 4096
"""Characters of an answer by a grammar that wait for a mark, if it is no JSON: a choice, a number,
some lines; models that think before it write the closer within as much, or are read as text."""


class GrammarStart:
    """The decision where a reply begins that were to begin in a thought. `mode`: the one in which
    the engine is to begin until that is decided; `guessed`: the thought was only guessed.
    """

    def __init__(self, grammar: Grammar, start: Mode) -> None:
        self._grammar = grammar if start in (Mode.THINKING, Mode.GUESSED) else Grammar.NONE
        self._waiting = 0
        self.mode = start if self._grammar is Grammar.NONE else Mode.UNDECIDED
        self.guessed = start is Mode.GUESSED

    def by_first(self, text: str) -> State | None:
        """Return the state in which the reply begins by `text`, its first; None: not decided."""
        if self._grammar is not Grammar.JSON:
            return None
        self._grammar = Grammar.NONE
        in_text = text.lstrip().startswith(JSON_BEGINS)
        return State.HEAD if in_text else State.BEGINNING

    def by_length(self, text: str) -> State | None:
        """Return the state of an answer that has become long, because no mark has told else."""
        if self._grammar is not Grammar.OTHER:
            return None
        self._waiting += len(text)
        return State.ANSWERING if self._waiting > _LIMIT else None
