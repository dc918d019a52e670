"""A form in which models write tool calls into their text: the class of a row of `forms`."""

import enum
from dataclasses import dataclass

from converter.core.reading.tool_calls.call import Body


class EndsThought(enum.Enum):
    """Conditions on which an opener ends a thought that has no closer yet."""

    NEVER = enum.auto()
    ALWAYS = enum.auto()  # a special token, which prose never says
    BEFORE_CALL = enum.auto()  # prose may say it: where a call goes on behind it
    BEFORE_OFFERED_CALL = enum.auto()  # the same, and only where the request offers tools


@dataclass(frozen=True, slots=True)
class CallForm:
    """One form. `open`, `close`: the marks around a call; `section`: those around all calls.

    `alone`: the body's beginning counts without the marks, which models leave out. `whole`:
    the form counts only as the whole reply. `ends_thought`: the effect of its openers in a thought;
    `before`: marks that a call without its closing mark ends before, outside of strings.
    `tool`: what an opener needs behind it to do so. `in_thoughts`: models are known to call within
    a thought that they close.
    """

    name: str
    body: Body
    open: tuple[str, ...] = ()
    close: str = ""
    section: tuple[str, str] = ("", "")
    alone: bool = False
    whole: bool = False
    models: str = ""
    ends_thought: EndsThought = EndsThought.NEVER
    tool: str = ""
    before: tuple[str, ...] = ()
    in_thoughts: bool = False

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
