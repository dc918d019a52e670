"""The decision where a reply begins if a grammar constrains its answer: in the answer or in a
thought.

The reply begins in the answer, even if the model usually begins in a thought, unless one of two
facts shows that it begins in a thought: it has a closer before any other mark; or the answer must
be JSON, and the reply begins with text that JSON cannot begin with.
"""

from converter.core.reading.beginning import JSON_BEGINS, Grammar, Mode
from converter.core.reading.engine.states import State

_LIMIT = 4096
"""How many characters of a reply are held until a mark comes, if the grammar is not JSON. If no
closer comes within the limit, the text is the answer. Such answers are short: a choice, a number,
some lines.
"""


class GrammarStart:
    """The decision for one reply.

    Attributes:
        mode: the mode in which the engine begins. It is UNDECIDED if a grammar constrains the
            answer and the reply would else begin in a thought; otherwise the mode `start`.
        guessed: True if it is only guessed that the reply would begin in a thought.
    """

    def __init__(self, grammar: Grammar, start: Mode) -> None:
        self._grammar = grammar if start in (Mode.THINKING, Mode.GUESSED) else Grammar.NONE
        self._waiting = 0
        self.mode = start if self._grammar is Grammar.NONE else Mode.UNDECIDED
        self.guessed = start is Mode.GUESSED

    def by_first(self, text: str) -> State | None:
        """Return the state in which an undecided reply begins, by its first text or mark: HEAD or
        BEGINNING if the answer must be JSON; else `None`, because the text does not decide.
        """
        if self._grammar is not Grammar.JSON:
            return None
        self._grammar = Grammar.NONE
        in_text = text.lstrip().startswith(JSON_BEGINS)
        return State.HEAD if in_text else State.BEGINNING

    def by_length(self, text: str) -> State | None:
        """Add `text`, the next text of an undecided reply without a mark. Return ANSWERING if the
        reply has more such text than the limit; else `None`.
        """
        if self._grammar is not Grammar.OTHER:
            return None
        self._waiting += len(text)
        return State.ANSWERING if self._waiting > _LIMIT else None
