"""One form of tool call text."""

from dataclasses import dataclass

from converter.parsing.tool_calls.call import Body


@dataclass(frozen=True, slots=True)
class Form:
    """One form. `open`, `close`: the marks around a call; `section`: those around all calls.

    `alone`: what the body begins with counts without the marks, which models leave out. `whole`:
    the form counts only as the whole reply.
    """

    name: str
    body: Body
    open: tuple[str, ...] = ()
    close: str = ""
    section: tuple[str, str] = ("", "")
    alone: bool = False
    whole: bool = False
    models: str = ""

    @property
    def firsts(self) -> tuple[str, ...]:
        """The marks that a call of this form begins with."""
        heads = tuple(self.body.heads) if self.alone or not self.open else ()
        return (*self.open, *heads)

    @property
    def ends(self) -> tuple[str, ...]:
        """The marks that may come behind a call."""
        return tuple(filter(None, (self.close, self.section[1])))
