"""The states in which a reply may begin; the option, the parser and the rules share them."""

import enum


class InitialState(enum.Enum):
    """The state in which a reply begins.

    AUTO: unknown; a reply begins as the rules in `converter.addon.servers.initial_state` decide;
    where they do not, a whole reply is decided with its text in hand. LIKELY_THINKING: in a
    thought, by a guess: from the model's name, llama.cpp's prompt, or a lesson.
    """

    AUTO = "auto"
    TEXT = "text"
    THINKING = "thinking"
    LIKELY_THINKING = "likely thinking"

    def or_else(self, other: "InitialState") -> "InitialState":
        """Return this state, or `other` where this is AUTO: the user's word goes first."""
        return other if self is InitialState.AUTO else self

    @property
    def inside(self) -> bool:
        """Return True if the reply is taken to begin inside a thought."""
        return self in (InitialState.THINKING, InitialState.LIKELY_THINKING)
