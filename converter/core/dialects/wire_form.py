"""Defines `WireForm`, the record of how a dialect writes replies: its decoder, encoder and framing.
Also defines the interfaces `Decoder` (frames to events) and `Encoder` (events to bytes), and
the values that one reply needs: `Form`, `ReplyContext` (facts for the encoder), `Speaker` (the
dialect of a server or client), `Mapped` (a row of `think_map`).

Each dialect's `__init__.py` fills in its own `WireForm`.
"""

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from converter.core.model.events import Event, TextEvent, TextKind
from converter.core.wire.sse import SSE, Frame, Framing


class Form(enum.Enum):
    """The form of a reply: a stream, or one whole body."""

    STREAM = enum.auto()
    """The reply comes in frames."""
    WHOLE = enum.auto()
    """The reply comes as one body."""


@dataclass(frozen=True, slots=True)
class Mapped:
    """The block that a field of a reply becomes by a row `FIELD=BLOCK:KEY` of the option
    `think_map`.
    """

    block: str
    """The type of the block: `BLOCK`."""
    key: str
    """The key, in the block, that gets the value of the field: `KEY`."""


NO_FIELDS: Mapping[str, Mapped] = {}
"""A field map (`think_map`) without rows."""


@dataclass(frozen=True, slots=True)
class ReplyContext:
    """Facts about a reply that come from its request and from the user's options."""

    model: str = ""
    """The model's name in the request; empty if it is not known. The encoders based on
    `BlockWriter` begin a reply with this name, not with the server's.
    """
    id: str = "0"
    """The exchange's id. Ids that the addon gives are made from it: `7` -> `resp_7`, `msg_7_0`."""
    shown: bool = True
    """True if the client wants to see thinking."""
    fields: tuple[str, ...] = ("reasoning_content",)
    """The names of the fields in which OpenAI clients get thinking."""
    signature: str = ""
    """The signature for a thinking block that has none from the server."""
    created_at: int = 0
    """When the reply was requested, in seconds since 1970."""
    own: object = None
    """`Conversation.own`, in which a dialect's request reader leaves data for its encoder, such as
    the endpoint that an Ollama client has requested.
    """
    map: Mapping[str, Mapped] = field(default_factory=dict)
    """The user's field map (`think_map`): a server's own field -> the block that it becomes."""
    features: frozenset[str] = frozenset()
    """The features that the client lists in a header, such as `anthropic-beta`."""
    alive: str = "comment"
    """The form of a sign of life in a silent stream of chat completions, which has no ping:
    `comment`, or another of `signs_of_life.FORMS`.
    """
    prompt_tokens: Callable[[], int] | None = None
    """Returns an estimate of the prompt's tokens, which the client gets if the server sends no
    counts. None if the client wants no estimate.
    """
    uncounted: bool = False
    """True if the addon, and not the client, has requested the counts of the stream. The client
    then does not get the frame that has only these counts.
    """


class Decoder(Protocol):
    """Turns a server's frames into events; a whole body is one frame."""

    def feed(self, frame: Frame) -> list[Event]:
        """Return the frame's events: one `Failure` for an error, one `OpaqueFrame` for a frame that
        cannot be read. The list may be empty.
        """

    def record_unparsed(self, event: TextEvent) -> bool:
        """Record text of frames that the decoder did not get, because the fast path rewrote them
        without parsing them. `event` has the text of all these frames; in all else they are like
        the last frame that the decoder got. Return True if the decoder would have returned `event`
        for them. After False, the default, the fast path gives these frames to the decoder.
        """
        return False


class Encoder(Protocol):
    """Turns events into the client's bytes."""

    in_blocks: bool = False
    """True if text stands in blocks, so that `feed` may return frames that begin a block before the
    frame with the text.
    """

    @property
    def notes(self) -> list[str]:
        """Lines for the user, in the log and in the flow's comment, about content that was left
        out, such as fields that the client's dialect cannot hold.
        """

    @property
    def failure(self) -> str:
        """The message of an error that the client got because the reply is not whole; empty if
        there is none. The encoder of chat completions sets it for a whole reply only, and not for a
        stream.
        """

    def feed(self, events: Sequence[Event], raw: bytes | None = None) -> list[bytes]:
        """Return the frames that can be sent after `events`; none if the client wants a whole
        reply, which `close` returns. `raw`: the server's frame, if it holds exactly these events
        and has the client's dialect, so that it may be sent as it came; else None.
        """

    def record_unparsed_text(self, kind: TextKind, text: str, frame_count: int) -> int:
        """Record text that the encoder did not get, because the fast path rewrote its frames
        without parsing them. Except for their text they are like the last frame of this kind that
        the encoder wrote. `kind`: the type of the events that would have had the text.
        `frame_count`: how many frames the fast path rewrote. Return the number that the first of
        these frames has in the stream; 0 if the dialect does not number its frames.
        """
        return 0

    def ping(self) -> list[bytes]:
        """Return a frame without content, for a silent stream, and the frames that must come before
        it. Return `[]` for a whole body, and if the client can be sent no such frame.
        """
        return []

    def close(self) -> list[bytes]:
        """Return the last frames of a stream, or the body of a whole reply."""


@dataclass(frozen=True, slots=True, eq=False)
class WireForm:
    """The rules by which a dialect writes replies as bytes: decoder, encoder, framing."""

    decoder: Callable[[Mapping[str, Mapped]], Decoder]
    """Takes the user's field map (`think_map`), and returns a decoder."""
    encoder: Callable[[ReplyContext, bool], Encoder]
    """Takes the context, and True if the reply is wanted whole. Returns an encoder."""
    recognises: Callable[[Mapping[str, object]], bool]
    """Returns True if the JSON of a frame or reply is of this dialect."""
    framing: Framing = SSE
    """The framing of the dialect's streams: server-sent events, or lines of JSON."""
    mend: Callable[[object], object] = lambda value: value
    """Takes the JSON of a frame that the decoder could not read, and returns it without small
    faults: `"index": "0"` -> `"index": 0`. The decoder then reads the frame again.
    """
    error_event: str = ""
    """Name of the server-sent event in which an error is written; empty if it gets no name."""
    keeps_raw: bool = False
    """True if, where server and client both speak this dialect, a frame that nothing has changed
    is sent as the bytes that came.
    """
    counter: str = ""
    """The field that numbers the events of a stream, such as `sequence_number`; empty if the
    dialect has none.
    """
    retells: bool = False
    """True if a stream's last event repeats the whole reply, so that the reply's text comes twice.
    """


class Speaker(Protocol):
    """A dialect, with only the members that code about one reply needs; `Dialect` has them. Each
    reply has two speakers: the dialect of its server, and the dialect of its client.
    """

    @property
    def wire(self) -> WireForm:
        """The rules by which the dialect writes replies as bytes."""

    @property
    def reply(self) -> str:
        """Name for a reply of this dialect, for people. It fits behind *no*: `chat completion`."""

    def error(self, message: str, kind: str, status: int) -> bytes:
        """Return the body of an error answer. `kind`: the error's type in the Messages API.
        `status`: the answer's HTTP status.
        """

    def message_in(self, raw: bytes) -> str:
        """Return the message for people in the bytes of an error answer; empty if there is none."""
