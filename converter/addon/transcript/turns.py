"""Defines the values of a transcript, free of any dialect: `Transcript`, its turns (`ShownTurn`),
and those parts of a turn that a conversation lacks (`Field`, `Media`, `FailurePart`, `Raw`).

The other parts (text, thoughts, calls, results) are the blocks of
`converter.core.model.conversation`. Text is kept as it came; each rendering handles control
characters and texts that are too long.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from converter.core.model.conversation import TextBlock, ThinkingBlock, ToolResult, ToolUse
from converter.core.wire.printable import in_bytes

type Facts = Mapping[str, object]
"""Name of a setting or of a fact about a reply -> its value."""


@dataclass(frozen=True, slots=True)
class Media:
    """A picture, a document, or sound."""

    kind: str
    """`image`, `audio` or another kind."""
    type: str = ""
    """The media type, such as `image/png`."""
    size: int | None = None
    """How many bytes the data has; None if the message has only an address, or has the document as
    parts of its own.
    """
    address: str = ""
    """The URL, or the id of a file; empty if the message has the data or parts themselves."""
    title: str = ""
    """A document's title."""
    data: str = field(default="", repr=False, compare=False)
    """The data of a picture or document in base64."""

    @property
    def line(self) -> str:
        """The medium in one line: `image/png 12.3 kB`."""
        size = "" if self.size is None else in_bytes(self.size)
        return (
            " ".join(filter(None, (self.type, size, self.address, self.title))) or "of unknown type"
        )


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a request or reply that is shown as it is, with its name: a vendor's own field, or
    a value of an unknown shape.
    """

    name: str
    """The field's name."""
    value: object
    """The field's JSON value."""


@dataclass(frozen=True, slots=True)
class FailurePart:
    """An error that a server reports, in place of a reply or within one."""

    message: str
    """The server's message."""
    kind: str = ""
    """The type of the error, such as `overloaded_error`; empty if the server names none."""


@dataclass(frozen=True, slots=True)
class Raw:
    """The text of something that could not be read: bytes of a reply, or a JSON value."""

    text: str
    """The bytes or the JSON value as text."""


type Part = ThinkingBlock | TextBlock | ToolUse | ToolResult | Media | Field | FailurePart | Raw
"""A part of a turn."""


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """A turn of a request, or a choice of a reply, as it is shown."""

    role: str
    """The role, such as `assistant`."""
    parts: tuple[Part, ...]
    """The parts in their order."""
    choice: int = 0
    """The index of the reply's choice; 0 in requests."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """A request or a reply in a form for people, free of any dialect."""

    turns: tuple[ShownTurn, ...] = ()
    """The turns in their order."""
    settings: Facts = field(default_factory=dict)
    """A request's model and other settings that fit in a line."""
    facts: Facts = field(default_factory=dict)
    """A reply's finish, counts and times."""
    rest: tuple[str, ...] = ()
    """The texts of a request or reply that could not be read."""
    beside: tuple[Field, ...] = ()
    """Fields about a reply that belong to no turn, such as a server's timings."""
