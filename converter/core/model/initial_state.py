"""Defines `InitialState`: whether a reply begins in the answer or in a thought. The option
`think_start` and the stages share its values; `converter.addon.servers.initial_state` has the rules
that choose one.
"""

import enum


class InitialState(enum.Enum):
    """The state in which a reply begins."""

    AUTO = "auto"
    """The user has chosen no state. The rules in `converter.addon.servers.initial_state` then
    choose one. If no rule expects a thought and the reply comes whole, its marks decide.
    """
    TEXT = "text"
    """The reply begins in the answer."""
    THINKING = "thinking"
    """The reply begins in a thought."""
    LIKELY_THINKING = "likely thinking"
    """The reply probably begins in a thought: a guess from the model's name, from llama.cpp's
    prompt, or from earlier replies (a lesson).
    """

    def or_else(self, other: "InitialState") -> "InitialState":
        """Return this state; if it is AUTO, return `other`."""
        return other if self is InitialState.AUTO else self

    @property
    def inside(self) -> bool:
        """True if the reply begins in a thought, certainly or as guessed."""
        return self in (InitialState.THINKING, InitialState.LIKELY_THINKING)
