"""A request or reply for people, free of any dialect: turns, and the parts in them. Flat, frozen
values. Words, thoughts, calls and results are the blocks of a conversation; here stand the parts
that no conversation has a place for, and turns of whatever role.

Text is kept as it came; text that must not reach a terminal, or is too long to read, is a matter
of each rendering.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from converter.core.model.conversation import TextBlock, ThinkingBlock, ToolResult, ToolUse
from converter.core.wire.printable import in_bytes

type Facts = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Media:
    """A picture, a document, sound. `size` in bytes and `data` in base64, if it came along; else
    `address` says where it is, a URL or the id of a file.
    """

    kind: str
    type: str = ""
    size: int | None = None
    address: str = ""
    title: str = ""
    data: str = field(default="", repr=False, compare=False)

    @property
    def line(self) -> str:
        """Return it in one line: `image/png 12.3 kB`."""
        size = "" if self.size is None else in_bytes(self.size)
        return (
            " ".join(filter(None, (self.type, size, self.address, self.title)))
            or "nothing known of it"
        )


@dataclass(frozen=True, slots=True)
class Field:
    """A field that no part has a place for: a vendor's own, or of odd shape. `value` is JSON's."""

    name: str
    value: object


@dataclass(frozen=True, slots=True)
class FailurePart:
    """The server says that it failed."""

    message: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Raw:
    """Data that could not be read, as it came."""

    text: str


type Part = ThinkingBlock | TextBlock | ToolUse | ToolResult | Media | Field | FailurePart | Raw


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """A speaker and the words. `choice`: which of several answers to the same request."""

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
