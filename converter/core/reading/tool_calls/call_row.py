"""The class of the rows of `forms`: a form in which models write tool calls into their text."""

from dataclasses import dataclass

from converter.core.reading.rows import Counts, Row
from converter.core.reading.tool_calls.bodies import Body


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CallRow(Row):
    """A form of tool calls.

    Attributes:
        body: how the text of a call is read.
        section: the opener and closer around all calls of a reply; empty for none.
        alone: True if models leave out the openers, so that a call may begin with its body.
        before: marks before which a call ends if its closer is missing. Within strings these marks
            do not count.
        tool: text that the opener must have behind it to count within a thought.
        in_thoughts: True if models are known to write a call of this form at the end of a thought,
            to close the thought behind it, and to mean the call.
    """

    body: Body
    section: tuple[str, str] = ("", "")
    alone: bool = False
    before: tuple[str, ...] = ()
    tool: str = ""
    in_thoughts: bool = False

    @property
    def whole(self) -> bool:
        """True if calls of this form count only if the reply consists of calls alone."""
        return self.counts is Counts.AS_WHOLE_REPLY

    @property
    def firsts(self) -> tuple[str, ...]:
        """The marks with which a call of this form may begin outside a section."""
        return self.in_section if self.alone or not self.opens else self.opens

    @property
    def in_section(self) -> tuple[str, ...]:
        """The marks with which a call may begin within its section: openers, and beginnings of the
        body, because models may leave out the opener there.
        """
        return (*self.opens, *self.body.heads)

    @property
    def ends(self) -> tuple[str, ...]:
        """The closers of a call and of its section."""
        return (*self.closes, *filter(None, self.section[1:]))

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The opener and closer of the section, and each opener of a call, with the text `tool`
        behind it, and the usual closer.
        """
        section = (self.section,) if self.section[0] else ()
        return (*section, *((mark + self.tool, self.close) for mark in self.opens))
