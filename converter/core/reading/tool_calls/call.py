"""A tool call that is being read: its name, once it is known, and its arguments as JSON, in pieces.

The contract: the arguments are balanced JSON only if the call in the text was complete. So a call's
last brace is written by `complete` alone, and an object that was cut off stays open.
"""

import enum
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from converter.core.calls.ids import is_counted
from converter.core.calls.names import offered_name
from converter.core.calls.schema_values import Schema, properties_of
from converter.core.model.events import ToolCall
from converter.core.reading.tool_calls.source import Source, Step
from converter.core.wire.bounds import HELD_LIMIT

type Emit = Callable[[ToolCall], object]


class Progress(enum.Enum):
    """The progress of a call. REFUSED: it is none, as where no tool has its name."""

    WAITING = enum.auto()  # its name is not known, or nothing tells yet that it counts
    BEGUN = enum.auto()  # it has gone out, at least its name
    DONE = enum.auto()
    REFUSED = enum.auto()


@dataclass(slots=True)
class Call:
    """One call. `form`: how it stood.

    `held`: arguments that came before the name; `given`: the names of those told one by one;
    `written`: all arguments that went out, as far as they are not too long to be read again.
    `emit` gets its events, `refuse` is told that it is none.
    """

    tools: Mapping[str, Schema]
    emit: Emit
    refuse: Callable[[], object]
    index: int
    id: str
    form: str = ""
    name: str = ""
    progress: Progress = Progress.WAITING
    held: list[str] = field(default_factory=list)
    given: set[str] = field(default_factory=set)
    written: list[str] = field(default_factory=list)
    length: int = 0

    @property
    def begun(self) -> bool:
        """Tell whether it has gone out."""
        return self.progress in (Progress.BEGUN, Progress.DONE)

    @property
    def done(self) -> bool:
        """Tell whether it was all there."""
        return self.progress is Progress.DONE

    @property
    def refused(self) -> bool:
        """Tell whether it is none."""
        return self.progress is Progress.REFUSED

    def named(self, written: str) -> bool:
        """Take the name as the model wrote it; tell whether it is one of the tools'. Kimi writes an
        id in its place, which its template writes again in later turns, so that it stays.
        """
        self.name = offered_name(written, self.tools)
        self.id = written.strip() if is_counted(written.strip()) else self.id
        if not self.name:
            self.drop()
        return bool(self.name)

    def drop(self) -> None:
        """Be no call: its text, up to its closing mark, stays text."""
        if not self.refused:
            self.progress = Progress.REFUSED
            self.refuse()

    @property
    def schema(self) -> Schema:
        """The JSON schema of the tool's parameters."""
        return self.tools.get(self.name, {})

    def begin(self) -> None:
        """Send the name, if it is known and has not gone out: from here on the call counts."""
        if self.progress is not Progress.WAITING or not self.name:
            return
        self.progress = Progress.BEGUN
        place = f"text ({self.form})"
        self.emit(ToolCall(self.index, self.id, self.name, "", read_from=place))
        held, self.held = "".join(self.held), []
        self.say(held)

    def say(self, text: str) -> None:
        """Send a piece of the arguments, JSON text without the brace that ends it."""
        if text and self.begun:
            self.length += len(text)
            if self.length <= HELD_LIMIT:
                self.written.append(text)
            self.emit(ToolCall(self.index, "", "", text))
        elif text and not self.refused:
            self.held.append(text)

    def open(self) -> None:
        """Begin a call whose arguments are told one by one."""
        self.begin()
        self.say("{")

    def knows(self, name: str) -> bool:
        """Tell whether the tool's schema knows an argument of that name."""
        return name in properties_of(self.schema)

    def lacks(self, name: str) -> bool:
        """Tell whether the tool has an argument of that name, and the call none so far."""
        return self.knows(name) and name not in self.given

    def needs(self, name: str) -> bool:
        """Tell whether the tool requires an argument of that name."""
        required = self.schema.get("required")
        return isinstance(required, list) and name in required

    def arguments_so_far(self) -> dict[str, object] | None:
        """Return the arguments that were said; None where they are too long to be read again."""
        text = "".join([*self.written, *self.held])
        if self.length > HELD_LIMIT:
            return None
        try:
            return dict(json.loads(text + "}")) if text else {}
        except (ValueError, RecursionError):
            return None

    def add(self, name: str, written: str) -> None:
        """Say one more argument, which stood beside the others. `written`: its value as JSON."""
        said = self.arguments_so_far()
        self.given |= set(said or ())
        if not self.written and not self.held:
            self.open()
        self.key(name)
        self.say(written)

    def key(self, name: str) -> None:
        """Begin an argument of that name; its value is said next."""
        separator = ", " if self.given else ""
        self.given.add(name)
        self.say(f"{separator}{json.dumps(name, ensure_ascii=False)}: ")

    def complete(self) -> None:
        """End the arguments, because the call was all there."""
        if self.refused:
            return
        if not self.begun:
            self.held = self.held or ["{"]
            self.begin()
        self.emit(ToolCall(self.index, "", "", "}", ends=True))
        self.progress = Progress.DONE


class Calls(Protocol):
    """The calls of one place in the text. `head`: which of its heads the body has begun with;
    `close`: the marks that may come behind.
    """

    head: str
    close: Sequence[str]

    @property
    def current(self) -> Call:
        """The call that is being read."""

    def next(self) -> Call:
        """Begin another."""


class Body(Protocol):
    """A kind of call text. `heads`: its beginnings; an empty one is for anything."""

    @property
    def heads(self) -> Sequence[str]:
        """The marks that the kind begins with."""

    def read(self, source: Source, calls: Calls) -> Step[bool]:
        """Read one call or more; return whether the closing mark behind them has been taken.

        Raises Refused for text that is no such call.
        """
