"""The verdict on the text of a candidate: the calls that it is, or that it is none.

A candidate is judged whole, where its span may have ended (`End`).
"""

import enum
from dataclasses import dataclass


class End(enum.Enum):
    """The reason why the span of a candidate ended."""

    MARK = enum.auto()  # its own closing mark stands behind the text
    BODY = enum.auto()  # the body's own end: the last brace, `</function>`
    OPENER = enum.auto()  # an opener of its form on a new line
    STOP = enum.auto()  # the reply ended by itself: missing ends may be put there
    CUT = enum.auto()  # the reply was cut: the limit, an error, the client's leaving


class Failed(enum.Enum):
    """The reason why a text, or the rest of it behind calls, is no whole call."""

    TEXT = enum.auto()  # it is text
    BROKEN = enum.auto()  # it is a call that must not run, and an error
    UNCLOSED = enum.auto()  # a value or a bracket is open, which a later mark may close


@dataclass(frozen=True, slots=True)
class JudgedCall:
    """A call. `name`: an offered one; `arguments`: one JSON object, or its beginning where the call
    `is_open`, because the reply was cut off; `id`: where the form writes one.

    `end`: the offset behind the call in the candidate's text; `lead`: text before the call that is
    none.
    """

    name: str
    arguments: str
    id: str = ""
    is_open: bool = False
    end: int = 0
    lead: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """`calls`: those that the text is, from its beginning on. `failed`: what the text behind them
    is where that belongs to the candidate; `broken`: the tool of a call that must not run.
    """

    calls: tuple[JudgedCall, ...] = ()
    failed: Failed | None = None
    broken: str = ""

    @property
    def length(self) -> int:
        """The characters that the calls took; text behind them is ordinary unless it `failed`."""
        return self.calls[-1].end if self.calls else 0
