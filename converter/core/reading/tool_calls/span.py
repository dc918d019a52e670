"""A `Span` holds the text of a candidate, which `judge` and its modules read, and the facts that
they need about it. The exceptions `NoCall`, `Broken` and `Unclosed` end the reading of a call.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from converter.core.calls.arguments import meaning_of
from converter.core.calls.names import offered_name
from converter.core.calls.schema_values import Schema, Schemas
from converter.core.reading.families import behind_closers
from converter.core.reading.tool_calls.call_row import CallRow
from converter.core.reading.tool_calls.verdict import End


class NoCall(Exception):  # noqa: N818 - nothing is wrong: the text is no call
    """Raised while a span is read, if the text is not a call. The client gets it as text.

    Attributes:
        end: the offset behind the text that is not a call; `judge` looks for the next call from
            there on. -1 if this offset is not known: then all text that follows is no call.
    """

    def __init__(self, end: int = -1) -> None:
        super().__init__()
        self.end = end


class Broken(Exception):  # noqa: N818 - as above
    """Raised while a span is read, if the text is a call that must not run, because its arguments
    have no clear meaning (`Failed.BROKEN`). `name`: the tool's name.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class Unclosed(Exception):  # noqa: N818 - as above
    """Raised while a span is read, if a value or a bracket of the call is open at the end of the
    text. `judge._unclosed_verdict` then decides what the text is.

    Attributes:
        name: the tool's name; empty if the text ends before it.
        arguments: the JSON of the arguments, as far as they were read: `{"city": "Os`.
    """

    def __init__(self, name: str, arguments: str = "{") -> None:
        super().__init__(name)
        self.name, self.arguments = name, arguments


@dataclass(frozen=True, slots=True)
class Span:
    """The text of a candidate, from the body's beginning to a point at which the call may end."""

    row: CallRow
    """The form of the call."""
    text: str
    """The text that `judge` got; with a line end behind it, if a mark ended it (`ends_at_mark`)."""
    end: End
    """The reason why the text ends."""
    tools: Schemas
    """Name of an offered tool -> the schema of its parameters."""
    is_last: bool
    """True if no later mark can close a value that is open at the end of the text."""

    @property
    def ends_at_mark(self) -> bool:
        """True if a mark ended the text: a closer, the opener of another call, or a mark of
        `CallRow.ends_before`. Then `text` has a line end in place of this mark.
        """
        return self.end in (End.CLOSER, End.OPENER)

    @property
    def length(self) -> int:
        """The length of the text that `judge` got. The line end that `text` may have in place of a
        mark (`ends_at_mark`) is not counted.
        """
        return len(self.text) - self.ends_at_mark

    @property
    def closers(self) -> tuple[str, ...]:
        """The marks that can close the body, the call or its section, and `Header.tail`, which can
        stand directly before them.
        """
        body = self.row.body
        tail = filter(None, (getattr(body, "tail", ""),))
        return (*self.row.ends, *getattr(body, "body_closers", ()), *tail)

    def closes(self, at: int) -> bool:
        """Return True if one of `closers` stands at the offset `at`."""
        return self.text.startswith(self.closers, at)

    def begins_closer(self, written: str) -> bool:
        """Return True if one of `closers` begins with `written`."""
        return any(mark.startswith(written) for mark in self.closers)

    def offered_name(self, written: str) -> str:
        """Return the name of the offered tool that the model means by the name `written`, which may
        have a prefix or marks around it; empty if no offered tool fits.
        """
        return offered_name(written, self.tools)

    def schema(self, tool: str) -> Schema:
        """Return the JSON schema of a tool's parameters."""
        return self.tools.get(tool, {})

    def skip_blanks(self, at: int) -> int:
        """Return the offset behind the blanks and closers of thoughts that stand at the offset
        `at`; `at` if none stand there. Models may close the thought in the middle of a call.
        """
        return behind_closers(self.text, at)


def merge_arguments(pairs: Iterable[tuple[str, str]]) -> dict[str, str] | None:
    """Return the arguments as a mapping, name -> JSON of the value. Return `None` if a name has two
    different values (`meaning_of`); of two equal ones the first stays. `pairs`: names, each with
    the JSON of its value. A name may stand in several pairs.
    """
    merged: dict[str, str] = {}
    for name, written in pairs:
        before = merged.setdefault(name, written)
        if before is not written and meaning_of(before) != meaning_of(written):
            return None
    return merged
