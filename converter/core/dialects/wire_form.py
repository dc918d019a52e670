"""The replies of a dialect: the interfaces of decoder and encoder, and the record `WireForm`."""

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from converter.core.model.events import Event, TextEvent, TextKind
from converter.core.wire.sse import SSE, Frame, Framing


class Form(enum.Enum):
    """The form of a reply: a stream, or one whole body."""

    STREAM = enum.auto()
    WHOLE = enum.auto()


@dataclass(frozen=True, slots=True)
class Mapped:
    """The block into which a server's own field is turned (`think_map`): the block's type, and the
    block's key that gets the value.
    """

    block: str
    key: str


NO_FIELDS: Mapping[str, Mapped] = {}


@dataclass(frozen=True, slots=True)
class ReplyContext:
    """Facts about a reply that come from its request and from the user's options.

    Attributes:
        model: the model's name in the request. An encoder that writes a head of its own prefers
            this name to the server's.
        id: the exchange's id. The ids of items and of a reply without an id are made from it.
        shown: the client wants to see thinking.
        fields: the names of the fields in which OpenAI clients get thinking.
        signature: the signature of thinking blocks that have none from the server.
        created_at: when the reply was requested, in seconds since 1970.
        own: the value that the dialect's request reader left in `Conversation.own`.
        map: the user's field map (`think_map`): a server's own field -> a block.
        features: the features that the client's header lists (`Label.features`).
        alive: the form of a sign of life, in a dialect that has no ping.
        prompt_tokens: returns an estimate of the prompt's tokens. None: the client wants no counts
            except the server's.
        uncounted: only the addon has requested the counts of the stream, so that the client does
            not get them.
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
    uncounted: bool = False


class Decoder(Protocol):
    """Turns a server's frames into events; a whole body is one frame."""

    def feed(self, frame: Frame) -> list[Event]:
        """Return the frame's events."""

    def repeat(self, event: TextEvent) -> bool:  # noqa: ARG002
        """Note that frames like the last one were not parsed, and that `event` has their text.
        Return True if the decoder would have read this very event from them.

        A decoder that keeps the default gets every frame in full.
        """
        return False


class Encoder(Protocol):
    """Turns events into the client's bytes.

    Attributes:
        in_blocks: True if text stands in blocks, so that `feed` may return frames that begin a
            block before the frame with the text.
    """

    in_blocks: bool = False

    @property
    def notes(self) -> list[str]:
        """Notes for a person, one line each."""

    @property
    def failure(self) -> str:
        """The reason of an error that the client got instead of a whole reply; else empty."""

    def feed(self, events: Sequence[Event], raw: bytes | None = None) -> list[bytes]:
        """Return the frames for `events`. `raw`: the server's frame, if it holds exactly these
        events and has the client's dialect.
        """

    def spliced(self, kind: TextKind, text: str, frames: int) -> int:  # noqa: ARG002
        """Note text that the fast path has written in `frames` frames like the last frame of this
        kind. Return the number of the first one, in a dialect that numbers its frames.
        """
        return 0

    def ping(self) -> list[bytes]:
        """Return a frame without content, for a silent stream; `[]` where none may stand, as in a
        whole body.
        """
        return []

    def close(self) -> list[bytes]:
        """Return the last frames, or the whole body."""


@dataclass(frozen=True, slots=True, eq=False)
class WireForm:
    """A dialect's replies as bytes."""

    decoder: Callable[[Mapping[str, Mapped]], Decoder]
    """Returns a decoder, for the user's field map."""
    encoder: Callable[[ReplyContext, bool], Encoder]
    """Returns an encoder, for the context, and True if the reply is wanted whole."""
    recognises: Callable[[Mapping[str, object]], bool]
    """Returns True if the JSON of a frame or reply is of this dialect."""
    framing: Framing = SSE
    """The framing of the dialect's streams: server-sent events, or lines of JSON."""
    mend: Callable[[object], object] = lambda value: value
    """Returns the JSON of a frame without faults that would make clients fail."""
    error_event: str = ""
    """Name of the server-sent event that holds an error."""
    keeps_raw: bool = False
    """True if a frame that nothing has changed is sent as the bytes that came."""
    counter: str = ""
    """The field that numbers the events of a stream; empty if the dialect has none."""
    retells: bool = False
    """True if a stream's last event repeats the whole text."""


class Speaker(Protocol):
    """The dialect of a reply's server, or of its client."""

    @property
    def wire(self) -> WireForm:
        """The form of its replies."""

    @property
    def reply(self) -> str:
        """Name for a reply of this dialect, for people; it fits behind the word *no*."""

    def error(self, message: str, kind: str, status: int) -> bytes:
        """Return the body of an error answer."""

    def message_in(self, raw: bytes) -> str:
        """Return the message for people in the bytes of an error answer; empty if there is none."""
