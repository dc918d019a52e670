"""The verdict of `judge` on the text of a candidate: the calls in it, or why it is not a call."""

import enum
from dataclasses import dataclass


class End(enum.Enum):
    """The reason why the text of a candidate ends.

    Attributes:
        CLOSER: the call's closer stands behind the text.
        BODY: the body itself ends, with its last bracket or `</function>`.
        OPENER: an opener of another call stands behind the text, or a mark of
            `CallRow.ends_before`.
        STOP: the model has ended the reply. A call that lacks only closing marks or brackets is
            whole.
        CUT: the reply was cut off, at a limit, by an error or by the client; or the closer of the
            thought around the call stands behind the text. A call that lacks its end is incomplete.
    """

    CLOSER = enum.auto()
    BODY = enum.auto()
    OPENER = enum.auto()
    STOP = enum.auto()
    CUT = enum.auto()


class Failed(enum.Enum):
    """The reason why a text is not a whole call.

    Attributes:
        TEXT: the text is ordinary text.
        BROKEN: the text is a call without a clear meaning, which must not run. The client gets an
            error if the call does not stand in a sentence or a thought; else it gets the text.
        UNCLOSED: a value or a bracket is open at the end of the text, and a later mark may close
            it. The engine holds the text until that mark comes or the reply ends.
    """

    TEXT = enum.auto()
    BROKEN = enum.auto()
    UNCLOSED = enum.auto()


@dataclass(frozen=True, slots=True)
class JudgedCall:
    """A call that was read from a candidate's text.

    Attributes:
        name: the name of an offered tool.
        arguments: the arguments, as a JSON object. If `is_cut`, only the beginning of the object.
        id: the id that the model wrote; empty if it wrote none.
        is_cut: True if the reply was cut off in the call.
        end: the offset behind the call, in the text.
        text_before: ordinary text before this call and behind the previous call; empty if there is
            none.
    """

    name: str
    arguments: str
    id: str = ""
    is_cut: bool = False
    end: int = 0
    text_before: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on a text.

    Attributes:
        calls: the calls in the text, from its beginning on.
        failed: the reason why the text behind the last call is not a call, or the whole text if it
            has no call. `None` if there are calls and nothing behind them looks like another call.
        broken_tool: if `failed` is BROKEN, the name of the tool in that call.
    """

    calls: tuple[JudgedCall, ...] = ()
    failed: Failed | None = None
    broken_tool: str = ""

    @property
    def length(self) -> int:
        """The number of characters of the text up to the end of the last call; 0 if there is no
        call. If `failed` is `None`, the text behind the last call is ordinary text.
        """
        return self.calls[-1].end if self.calls else 0
