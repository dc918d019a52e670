"""The verdict of the judge on the text of a candidate: the calls in it, or why it is not a call."""

import enum
from dataclasses import dataclass


class End(enum.Enum):
    """The reason why the text of a candidate ends.

    Attributes:
        MARK: the call's closer stands behind the text.
        BODY: the body itself ends, with its last brace or `</function>`.
        OPENER: an opener of the same form stands on a new line.
        STOP: the model has ended the reply; missing closing marks may be added.
        CUT: the reply was cut, at a limit, by an error or by the client; or a thought was closed.
    """

    MARK = enum.auto()
    BODY = enum.auto()
    OPENER = enum.auto()
    STOP = enum.auto()
    CUT = enum.auto()


class Failed(enum.Enum):
    """The reason why a text, or the rest of a text behind its calls, is not a whole call.

    Attributes:
        TEXT: it is ordinary text.
        BROKEN: it is a call without a clear meaning. It must not run, and the client gets an error.
        UNCLOSED: a value or a bracket is open, which a later mark may close.
    """

    TEXT = enum.auto()
    BROKEN = enum.auto()
    UNCLOSED = enum.auto()


@dataclass(frozen=True, slots=True)
class JudgedCall:
    """A call that was read from a candidate's text.

    Attributes:
        name: the name of an offered tool.
        arguments: a JSON object; its beginning if `is_open`.
        id: the id that the model wrote; empty if the form has none.
        is_open: True if the reply was cut off in the call.
        end: the offset behind the call.
        lead: ordinary text before the call.
    """

    name: str
    arguments: str
    id: str = ""
    is_open: bool = False
    end: int = 0
    lead: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on a text.

    Attributes:
        calls: the calls at the beginning of the text.
        failed: the reason why the text behind them is not a call; `None` if nothing of the text
            failed.
        broken: the tool of a BROKEN call.
    """

    calls: tuple[JudgedCall, ...] = ()
    failed: Failed | None = None
    broken: str = ""

    @property
    def length(self) -> int:
        """The offset behind the last call. Text behind it is ordinary, unless `failed` is set."""
        return self.calls[-1].end if self.calls else 0
