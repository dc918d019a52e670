"""A form in which models write tool calls into their text: the class of a row of `forms`."""

from dataclasses import dataclass

from converter.core.reading.rows import Counts, Row
from converter.core.reading.tool_calls.bodies import Body


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CallRow(Row[Body]):
    """One form of tool calls.

    `section`: the marks around all calls. `alone`: the body's beginning counts without the row's
    openers, which models leave out. `before`: marks that a call without its closing mark ends
    before, outside of strings. `tool`: what an opener needs behind it to end a thought.
    `in_thoughts`: models are known to call within a thought that they close.
    """

    section: tuple[str, str] = ("", "")
    alone: bool = False
    before: tuple[str, ...] = ()
    tool: str = ""
    in_thoughts: bool = False

    @property
    def whole(self) -> bool:
        """True if calls of this form must be all of the reply."""
        return self.counts is Counts.AS_WHOLE_REPLY

    @property
    def firsts(self) -> tuple[str, ...]:
        """The marks that a call of this form begins with."""
        return self.in_section if self.alone or not self.opens else self.opens

    @property
    def in_section(self) -> tuple[str, ...]:
        """The same in its section, where models leave a call's own opening mark out."""
        return (*self.opens, *self.body.heads)

    @property
    def ends(self) -> tuple[str, ...]:
        """The marks that may come behind a call."""
        return (*self.closes, *filter(None, self.section[1:]))

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Openers with the closers of each: of the section, and of a call."""
        section = (self.section,) if self.section[0] else ()
        return (*section, *((mark + self.tool, self.close) for mark in self.opens))
