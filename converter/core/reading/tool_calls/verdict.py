"""A `Verdict`, the result of `judge` for the text of a candidate, has the calls in it
(`JudgedCall`), and the reason why the text, or the rest of it, is no whole call (`Failed`). An
`End`, an input of `judge`, is the reason why such a text ends.
"""

import enum
from dataclasses import dataclass


class End(enum.Enum):
    """The reason why the text of a candidate ends."""

    CLOSER = enum.auto()
    """The call's closer stands behind the text."""
    BODY = enum.auto()
    """The body itself ends there, with its last bracket or `</function>`."""
    OPENER = enum.auto()
    """An opener of another call stands behind the text, or a mark of `CallRow.ends_before`, such as
    `<|end|>`.
    """
    STOP = enum.auto()
    """The model has ended the reply there. In most forms, a call that lacks only closing marks or
    brackets is then whole.
    """
    CUT = enum.auto()
    """The reply was cut off there, at a limit, by an error or by the client; or the closer of the
    thought around the call stands behind the text. A call that lacks its end is then incomplete.
    """


class Failed(enum.Enum):
    """The reason why a text, or the rest of it behind the last call, is not a whole call."""

    TEXT = enum.auto()
    """The text is ordinary text."""
    BROKEN = enum.auto()
    """The text is a call without a clear meaning, which must not run. The client gets an error if
    the call does not stand in a sentence or a thought; else it gets the text.
    """
    UNCLOSED = enum.auto()
    """A value or a bracket is open at the end of the text, and a later mark may close it. The
    engine holds the text until that mark comes, the reply ends, or the text exceeds a bound.
    """


@dataclass(frozen=True, slots=True)
class JudgedCall:
    """A call that was read from a candidate's text."""

    name: str
    """The name of an offered tool."""
    arguments: str
    """The arguments as a JSON object. If `is_cut`, only the beginning of this object."""
    id: str = ""
    """The id that the model wrote; empty if it wrote none."""
    is_cut: bool = False
    """True if the reply was cut off, or ended, within the call."""
    end: int = 0
    """The offset behind the call in the candidate's text."""
    text_before: str = ""
    """The ordinary text between the previous call and this call; empty if there is none."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict of `judge` on the text of a candidate."""

    calls: tuple[JudgedCall, ...] = ()
    """The calls in the text, in their order. The last one may be cut off (`is_cut`)."""
    failed: Failed | None = None
    """The reason why the text behind the last call, or the whole text if it has no call, is not a
    call. `None` if there are calls and nothing behind them looks like another call.
    """
    broken_tool: str = ""
    """The name of the tool in the call without a clear meaning, if `failed` is BROKEN; else empty.
    """

    @property
    def length(self) -> int:
        """The number of characters of the text up to the end of the last call; 0 if there is no
        call. If `failed` is `None`, the text behind the last call is ordinary text.
        """
        return self.calls[-1].end if self.calls else 0
