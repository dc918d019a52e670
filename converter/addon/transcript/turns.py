"""A request or reply for people, free of any dialect: turns, and the parts in them, as flat, frozen
values. Text, thoughts, calls and results are the blocks of a conversation. Defined here are the
parts that no conversation has, and turns of any role.

Text is kept as it came. Each rendering handles control characters and texts that are too long.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from converter.core.model.conversation import TextBlock, ThinkingBlock, ToolResult, ToolUse
from converter.core.wire.printable import in_bytes

type Facts = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Media:
    """A picture, a document, or sound.

    Attributes:
        kind: image, audio or the like.
        type: the media type.
        size: in bytes, if the data came along.
        address: a URL or the id of a file, if the data did not come along.
        title: a document's title.
        data: in base64.
    """

    kind: str
    type: str = ""
    size: int | None = None
    address: str = ""
    title: str = ""
    data: str = field(default="", repr=False, compare=False)

    @property
    def line(self) -> str:
        """The medium in one line: `image/png 12.3 kB`."""
        size = "" if self.size is None else in_bytes(self.size)
        return (
            " ".join(filter(None, (self.type, size, self.address, self.title))) or "of unknown type"
        )


@dataclass(frozen=True, slots=True)
class Field:
    """A field that no part has: a vendor's own, or one of an odd shape. `value` is JSON's."""

    name: str
    value: object


@dataclass(frozen=True, slots=True)
class FailurePart:
    """An error that the server reports."""

    message: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Raw:
    """Data that could not be read, as it came."""

    text: str


type Part = ThinkingBlock | TextBlock | ToolUse | ToolResult | Media | Field | FailurePart | Raw


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """A speaker and the parts. `choice`: the index of one of several answers to a request."""

    role: str
    parts: tuple[Part, ...]
    choice: int = 0


@dataclass(frozen=True, slots=True)
class Transcript:
    """A request or a reply.

    Attributes:
        turns: the speakers and their parts.
        settings: a request's model and settings.
        facts: how a reply ended.
        rest: the pieces that could not be read.
        beside: fields about a reply that are no part of it, such as a server's timings.
    """

    turns: tuple[ShownTurn, ...] = ()
    settings: Facts = field(default_factory=dict)
    facts: Facts = field(default_factory=dict)
    rest: tuple[str, ...] = ()
    beside: tuple[Field, ...] = ()
