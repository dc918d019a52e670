"""The class of the rows of `forms`: a form in which models write tool calls into their text."""

from dataclasses import dataclass

from converter.core.reading.rows import Counts, Row
from converter.core.reading.tool_calls.bodies import Body


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CallRow(Row[Body]):
    """A form of tool calls.

    Attributes:
        section: the marks around all calls of a reply.
        alone: True if a call may begin with its body, because models leave the openers out.
        before: marks before which a call ends if its closer is missing. They do not count in
            strings.
        tool: text that must follow an opener, so that the opener ends a thought.
        in_thoughts: True if models are known to make calls of this form in a thought which they
            close behind the call.
    """

    section: tuple[str, str] = ("", "")
    alone: bool = False
    before: tuple[str, ...] = ()
    tool: str = ""
    in_thoughts: bool = False

    @property
    def whole(self) -> bool:
        """True if calls of this form count only if they are the whole reply."""
        return self.counts is Counts.AS_WHOLE_REPLY

    @property
    def firsts(self) -> tuple[str, ...]:
        """The marks with which a call of this form may begin."""
        return self.in_section if self.alone or not self.opens else self.opens

    @property
    def in_section(self) -> tuple[str, ...]:
        """The marks with which a call may begin in its section. Models may leave the opener of the
        call out there.
        """
        return (*self.opens, *self.body.heads)

    @property
    def ends(self) -> tuple[str, ...]:
        """The closers of a call and of its section."""
        return (*self.closes, *filter(None, self.section[1:]))

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Pairs of opener and closer: of the section, and of a call."""
        section = (self.section,) if self.section[0] else ()
        return (*section, *((mark + self.tool, self.close) for mark in self.opens))
