"""Where a reply begins: the values that the option, the parser and the rules share."""

import enum


class InitialState(enum.Enum):
    """Where a reply begins.

    AUTO: not said; a stream begins as the rules in `converter.servers.initial_state` find, a whole
    reply decides with its text in hand.
    """

    AUTO = "auto"
    TEXT = "text"
    THINKING = "thinking"

    def or_else(self, found: "InitialState") -> "InitialState":
        """Return this state, or `found` where this is AUTO: the user's word goes first."""
        return found if self is InitialState.AUTO else self
