"""The input of a judge (`Span`), and the exceptions with which it ends the reading of a call."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from converter.core.calls.arguments import meaning_of
from converter.core.calls.names import offered_name
from converter.core.calls.schema_values import Schema, properties_of
from converter.core.reading.families import behind_closers
from converter.core.reading.tool_calls.call_row import CallRow
from converter.core.reading.tool_calls.verdict import End


class NoCall(Exception):  # noqa: N818 - nothing is wrong: the text is no call
    """The text is not a call. `end`: the offset behind the text, or -1 if it is not known."""

    def __init__(self, end: int = -1) -> None:
        super().__init__()
        self.end = end


class Broken(Exception):  # noqa: N818 - as above
    """The text is a call of the tool `name`, but has no clear meaning, so that it must not run."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class Unclosed(Exception):  # noqa: N818 - as above
    """A value or a bracket is open at the end of the text.

    Attributes:
        name, arguments: the call, as far as it was read.
    """

    def __init__(self, name: str, arguments: str = "{") -> None:
        super().__init__(name)
        self.name, self.arguments = name, arguments


@dataclass(frozen=True, slots=True)
class Span:
    """The text of a candidate from the body's beginning to a point at which it may end.

    Attributes:
        row: the form of the call.
        text: the text, with a line end in place of the closer.
        end: the reason why the text ends.
        tools: the schemas of the tools that may be called, by name.
        last: True if no later mark can close a value that is open at the end.
    """

    row: CallRow
    text: str
    end: End
    tools: Mapping[str, Schema]
    last: bool

    @property
    def closed(self) -> bool:
        """True if a mark ends the text, so that a line end stands in its place."""
        return self.end in (End.MARK, End.OPENER)

    @property
    def length(self) -> int:
        """The length of the text as the model wrote it."""
        return len(self.text) - self.closed

    @property
    def closers(self) -> tuple[str, ...]:
        """The marks that can close the call."""
        body = self.row.body
        tail = filter(None, (getattr(body, "tail", ""),))
        return (*self.row.ends, *getattr(body, "end", ()), *tail)

    def closes(self, at: int) -> bool:
        """Return True if a mark that can close the call stands at the offset `at`."""
        return self.text.startswith(self.closers, at)

    def begins_closer(self, written: str) -> bool:
        """Return True if a text is the beginning of a mark that can close the call."""
        return any(mark.startswith(written) for mark in self.closers)

    def named(self, written: str) -> str:
        """Return the offered name that a written name stands for; empty if there is none."""
        return offered_name(written, self.tools)

    def schema(self, tool: str) -> Schema:
        """Return the JSON schema of a tool's parameters."""
        return self.tools.get(tool, {})

    def knows(self, tool: str, key: str) -> bool:
        """Return True if the tool has a parameter of the name `key`."""
        return key in properties_of(self.schema(tool))

    def gap(self, at: int) -> int:
        """Return the offset behind blanks and closers of thoughts at `at`."""
        return behind_closers(self.text, at)


def once(pairs: Iterable[tuple[str, str]]) -> dict[str, str] | None:
    """Return arguments by name. A name that stands twice with equal values counts once; if the
    values differ, return `None`. All values are JSON.
    """
    merged: dict[str, str] = {}
    for name, written in pairs:
        before = merged.setdefault(name, written)
        if before is not written and meaning_of(before) != meaning_of(written):
            return None
    return merged
