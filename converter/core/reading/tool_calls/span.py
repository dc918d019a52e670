"""A span that is judged: its text, and what is known of the tools."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from converter.core.calls.arguments import meaning_of
from converter.core.calls.names import offered_name
from converter.core.calls.schema_values import Schema, properties_of
from converter.core.reading.families import behind_closers
from converter.core.reading.tool_calls.call_row import CallRow
from converter.core.reading.tool_calls.verdict import End


class NoCall(Exception):  # noqa: N818 - nothing is wrong: the text is no call
    """The text is no call. `end`: the offset behind it, where that is known."""

    def __init__(self, end: int = -1) -> None:
        super().__init__()
        self.end = end


class Broken(Exception):  # noqa: N818 - as above
    """The text is a call of the tool `name` that must not run."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class Unclosed(Exception):  # noqa: N818 - as above
    """A value or a bracket is open. `name`, `arguments`: the call as far as it came."""

    def __init__(self, name: str, arguments: str = "{") -> None:
        super().__init__(name)
        self.name, self.arguments = name, arguments


@dataclass(frozen=True, slots=True)
class Span:
    """`text`: from the body's head to where the span ended, before the closing mark, in whose place
    a line end stands; `tools`: the schemas of those that may be called. `last`: no later mark can
    close what is open.
    """

    row: CallRow
    text: str
    end: End
    tools: Mapping[str, Schema]
    last: bool

    @property
    def closed(self) -> bool:
        """Return True if a mark ends the span."""
        return self.end in (End.MARK, End.OPENER)

    @property
    def length(self) -> int:
        """The length of the text as it was written."""
        return len(self.text) - self.closed

    @property
    def closers(self) -> tuple[str, ...]:
        """The marks that close the call."""
        body = self.row.body
        tail = filter(None, (getattr(body, "tail", ""),))
        return (*self.row.ends, *getattr(body, "end", ()), *tail)

    def closes(self, at: int) -> bool:
        """Return True if a mark that closes the call stands at an offset."""
        return self.text.startswith(self.closers, at)

    def begins_closer(self, written: str) -> bool:
        """Return True if a text is the beginning of a mark that closes the call."""
        return any(mark.startswith(written) for mark in self.closers)

    def named(self, written: str) -> str:
        """Return the offered name that is written."""
        return offered_name(written, self.tools)

    def schema(self, tool: str) -> Schema:
        """Return the JSON schema of a tool's parameters."""
        return self.tools.get(tool, {})

    def knows(self, tool: str, key: str) -> bool:
        """Return True if a tool has a parameter."""
        return key in properties_of(self.schema(tool))

    def gap(self, at: int) -> int:
        """Return the offset behind blanks and closers of thoughts, which say nothing."""
        return behind_closers(self.text, at)


def once(pairs: Iterable[tuple[str, str]]) -> dict[str, str] | None:
    """Return arguments by name, each JSON; None where two have one name, unless they are equal."""
    merged: dict[str, str] = {}
    for name, written in pairs:
        before = merged.setdefault(name, written)
        if before is not written and meaning_of(before) != meaning_of(written):
            return None
    return merged
