"""A `CallRow`, a row of the table `forms`, describes one syntax in which models write tool calls as
text. `bodies` has the kinds of its `body`, `rows` the fields that rows of thoughts have too.
"""

from dataclasses import dataclass

from converter.core.reading.rows import Counts, Row
from converter.core.reading.tool_calls.bodies import Body


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CallRow(Row):
    """A form: a syntax in which models write tool calls into their text."""

    body: Body
    """The kind of text that stands between the opener and closer of a call."""
    section: tuple[str, str] = ("", "")
    """The opener and closer around all calls of a reply; two empty texts if the form has no such
    marks.
    """
    alone: bool = False
    """True if a call outside a section may begin with its body, because models may leave out its
    opener there.
    """
    ends_before: tuple[str, ...] = ()
    """The marks before which a call ends if its closer is missing. In strings, and in the header of
    a call, these marks do not count.
    """
    thought_suffix: str = ""
    """The text that must follow an opener that stands in a thought: `functions` behind
    `<|channel|>commentary to=`. An opener without it is text in a thought. Empty for none.
    """
    in_thoughts: bool = False
    """True if models are known to end a thought with a call of this form that they mean: such a
    call is emitted, although the thought is closed behind it. If False, the call may count as a
    draft, which stays a part of the thought.
    """

    @property
    def whole(self) -> bool:
        """True if calls of this form count only in a reply that has no other text. In any other
        reply they are text.
        """
        return self.counts is Counts.AS_WHOLE_REPLY

    @property
    def firsts(self) -> tuple[str, ...]:
        """The marks with which a call of this form may begin outside a section: the openers; also
        the marks with which the body begins, if calls need no opener there.
        """
        return self.in_section if self.alone or not self.opens else self.opens

    @property
    def in_section(self) -> tuple[str, ...]:
        """The marks with which a call may begin within its section: the openers, and the marks with
        which the body begins, because models may leave out the opener there.
        """
        return (*self.opens, *self.body.starts)

    @property
    def ends(self) -> tuple[str, ...]:
        """The closers of a call and of its section."""
        return (*self.closes, *filter(None, self.section[1:]))

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The openers that may end a thought, each with its closer. If the form has a section, the
        section's pair comes first. Then comes each opener of a call, with `thought_suffix` behind
        it, and the first of the call's closers.
        """
        section = (self.section,) if self.section[0] else ()
        return (*section, *((mark + self.thought_suffix, self.close) for mark in self.opens))
