"""A dialect as a reply needs it: the interfaces of its machines, and the record of its wire."""

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from converter.core.model.events import Event, TextEvent, TextKind
from converter.core.wire.sse import SSE, Frame, Framing


class Form(enum.Enum):
    """The form in which a reply is sent."""

    STREAM = enum.auto()
    WHOLE = enum.auto()


@dataclass(frozen=True, slots=True)
class Mapped:
    """A target for the value of a server's own field: a block's type, and the key in it."""

    block: str
    key: str


NO_FIELDS: Mapping[str, Mapped] = {}


@dataclass(frozen=True, slots=True)
class ReplyContext:
    """Facts that a reply takes from its request and from the user's options.

    Attributes:
        model, id: for a server that names none.
        shown: the client wants to see thinking.
        fields: names of the fields of thinking for OpenAI clients.
        signature: of thinking blocks.
        created_at: when the reply was requested, in seconds since 1970.
        own: `own` of the request's conversation, which the dialect's reader has set.
        map: the blocks that fields of the server's own become.
        features: names that the client gave in its dialect's header of features.
        alive: the form of a sign of life, where the dialect has none of its own.
        prompt_tokens: returns an estimate of the prompt's tokens; None: the client wants no counts
            but the server's.
    """

    model: str = ""
    id: str = "0"
    shown: bool = True
    fields: tuple[str, ...] = ("reasoning_content",)
    signature: str = ""
    created_at: int = 0
    own: object = None
    map: Mapping[str, Mapped] = field(default_factory=dict)
    features: frozenset[str] = frozenset()
    alive: str = "comment"
    prompt_tokens: Callable[[], int] | None = None


class Decoder(Protocol):
    """Reads the server's frames; a whole body is one frame."""

    def feed(self, frame: Frame) -> list[Event]:
        """Return the frame's events."""

    def repeat(self, event: TextEvent) -> bool:  # noqa: ARG002
        """Note the text of frames like the last one; return True if it would have been read as this
        event. A decoder without this method needs each frame.
        """
        return False


class Encoder(Protocol):
    """Writes the client's bytes. `in_blocks`: the text that begins a block is written in the last
    frame, and the text that follows in frames like it.
    """

    in_blocks: bool = False

    @property
    def notes(self) -> list[str]:
        """The notes for a person, a line each."""

    @property
    def failure(self) -> str:
        """The reason of an error that the client got instead of a message, or empty."""

    def feed(self, events: Sequence[Event], raw: bytes | None = None) -> list[bytes]:
        """Write `events`; `raw`: the frame that holds just them in the same dialect."""

    def spliced(self, kind: TextKind, text: str, frames: int) -> int:  # noqa: ARG002
        """Note the text of this many frames, written like the last frame of this kind; return the
        number of the first frame, where frames are numbered.
        """
        return 0

    def ping(self) -> list[bytes]:
        """Write a frame without content, for silence; none where none may stand, as in a whole
        body.
        """
        return []

    def close(self) -> list[bytes]:
        """Write the rest."""


@dataclass(frozen=True, slots=True, eq=False)
class WireForm:
    """Replies as bytes."""

    decoder: Callable[[Mapping[str, Mapped]], Decoder]
    """Takes the user's field map."""
    encoder: Callable[[ReplyContext, bool], Encoder]
    """Takes the context, and whether the reply is wanted whole."""
    recognises: Callable[[Mapping[str, object]], bool]
    """Returns True if the JSON of a frame or reply is of this dialect."""
    framing: Framing = SSE
    """Form of its streams."""
    mend: Callable[[object], object] = lambda value: value
    """Puts the JSON of a frame in shape that clients could not read as it is."""
    error_event: str = ""
    """Name of the event that holds an error in a stream."""
    keeps_raw: bool = False
    """A frame that nothing was done to goes on as its own bytes."""
    counter: str = ""
    """The field that numbers the events of its streams."""
    retells: bool = False
    """True if a stream's end repeats its text, whole."""


class Speaker(Protocol):
    """One side of a reply: its server, or its client."""

    @property
    def wire(self) -> WireForm:
        """Its replies as bytes."""

    @property
    def reply(self) -> str:
        """A reply of it, for people, behind the word *no*."""

    def error(self, message: str, kind: str, status: int) -> bytes:
        """Return the body of an error answer."""

    def message_in(self, raw: bytes) -> str:
        """Return the message for people in bytes that are no reply; empty where there is none."""
