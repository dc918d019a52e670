"""A form in which models write tool calls into their text: the class of a row of `forms`."""

import enum
from dataclasses import dataclass

from converter.core.reading.tool_calls.call import Body


class Counts(enum.Enum):
    """The places where the marks of a form count. All but special tokens are text in code and in
    quotes.
    """

    EVERYWHERE = enum.auto()  # special tokens, which prose never says; they end a thought
    IN_THOUGHTS = enum.auto()  # they end a thought where a call goes on behind them
    IN_THOUGHTS_WITH_TOOLS = enum.auto()  # the same, where the request offers tools
    IN_ANSWERS = enum.auto()  # in a thought they are text
    AS_WHOLE_REPLY = enum.auto()  # prose has them as well: the calls are all of the reply


@dataclass(frozen=True, slots=True)
class CallForm:
    """One form. `open`, `close`: the marks around a call; `section`: those around all calls.

    `counts`: where they count. `alone`: the body's beginning counts without the marks, which models
    leave out. `before`: marks that a call without its closing mark ends before, outside of strings.
    `tool`: what an opener needs behind it to end a thought. `in_thoughts`: models are known to call
    within a thought that they close.
    """

    name: str
    body: Body
    open: tuple[str, ...] = ()
    close: str = ""
    section: tuple[str, str] = ("", "")
    alone: bool = False
    models: str = ""
    counts: Counts = Counts.IN_ANSWERS
    tool: str = ""
    before: tuple[str, ...] = ()
    in_thoughts: bool = False

    @property
    def whole(self) -> bool:
        """Tell whether its calls must be all of the reply."""
        return self.counts is Counts.AS_WHOLE_REPLY

    @property
    def firsts(self) -> tuple[str, ...]:
        """The marks that a call of this form begins with."""
        heads = tuple(self.body.heads) if self.alone or not self.open else ()
        return (*self.open, *heads)

    @property
    def in_section(self) -> tuple[str, ...]:
        """The same in its section, where models leave a call's own opening mark out."""
        return (*self.open, *self.body.heads)

    @property
    def ends(self) -> tuple[str, ...]:
        """The marks that may come behind a call."""
        return tuple(filter(None, (self.close, self.section[1])))

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Openers with the closers of each: of the section, and of a call."""
        section = (self.section,) if self.section[0] else ()
        return (*section, *((mark + self.tool, self.close) for mark in self.open))
