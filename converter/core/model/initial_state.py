"""The states in which a reply may begin. The option `think_start`, the stages and the rules that
choose a state share these values.
"""

import enum


class InitialState(enum.Enum):
    """The state in which a reply begins.

    Attributes:
        AUTO: not known yet. The rules in `converter.addon.servers.initial_state` choose a state. If
            they choose none, the text of a whole reply is read first and decides.
        TEXT: in the answer.
        THINKING: in a thought.
        LIKELY_THINKING: in a thought, by a guess from the model's name, llama.cpp's prompt, or a
            lesson.
    """

    AUTO = "auto"
    TEXT = "text"
    THINKING = "thinking"
    LIKELY_THINKING = "likely thinking"

    def or_else(self, other: "InitialState") -> "InitialState":
        """Return this state, or `other` if this state is AUTO."""
        return other if self is InitialState.AUTO else self

    @property
    def inside(self) -> bool:
        """Return True if the reply begins in a thought, for certain or by a guess."""
        return self in (InitialState.THINKING, InitialState.LIKELY_THINKING)
