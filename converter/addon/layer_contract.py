"""The contract between our layers, which move bytes, and the addon's hooks, which know what they
mean. Both keep it, and neither imports the other.

The layers ask a `Listener` about an exchange: whether a body may be so long, what goes out while
the server is silent, what the client gets for a failure. A reply's bytes go through a
`StreamFunction`, or a `BodyReader` looks at them while they are held.
"""

from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, Protocol

from mitmproxy.connection import Connection
from mitmproxy.http import HTTPFlow, Request, Response

QUITTING = "mitmproxy is shutting down"
"""The reason that the layers give where mitmproxy ends."""


class BodyReader(Protocol):
    """Reads a body that is held, in which its server may be left."""

    holds: bool
    """It has the body; else the layers hold it."""

    @property
    def stopped(self) -> bool:
        """Return True if the server is to be left now."""

    def __call__(self, chunk: bytes) -> list[bytes]:
        """Read on."""

    def again(self, possible: bool) -> Request | None:
        """Return the request to send after that; none: the body ends. `possible`: this server's
        protocol lets one be sent.
        """


class StreamFunction(Protocol):
    """The bytes of a reply on their way to the client. It never raises, and never returns an empty
    piece in mid-stream.
    """

    def __call__(self, chunk: bytes) -> list[bytes]:
        """Return what the client gets for a chunk, perhaps nothing yet; an empty one is the end."""

    async def beside(self, chunk: bytes) -> list[bytes]:
        """Return the same, worked out beside mitmproxy's loop."""

    @property
    def is_long(self) -> bool:
        """Return True if the next call takes long, and is to be made by `beside`."""

    @property
    def follows(self) -> bool:
        """Return True if another request is to be sent behind the body's end."""

    @property
    def ends_thoughts(self) -> bool:
        """Return True if the server may have to be left in mid-stream."""

    @property
    def stopped(self) -> bool:
        """Return True if the server is to be left now."""

    def again(self, possible: bool) -> Request | None:
        """Return the request whose reply goes on in the same stream; see `BodyReader.again`."""

    def abort(self, reason: str) -> list[bytes]:
        """Return the last words of a stream that broke off, for mitmproxy's `reason`."""

    def ping(self) -> list[bytes]:
        """Return a sign of life, where one may stand."""


class HeldStream(StreamFunction, BodyReader, Protocol):
    """A stream function as the record of its exchange knows it. `holds`: the client gets one body;
    `late`: the pieces of this body so far. `explain` puts mitmproxy's reason for a break into
    words.
    """

    holds: bool
    late: list[bytes]
    explain: Callable[[str], str]


class Refusal(BodyReader, Protocol):
    """The reader of a body behind which another request may go out, as the record of its exchange
    knows it: of a refusal, or of a prompt. `reads`: the response that it reads. `left_out`: parts
    that the next request lacks of `body`, the first. `renders`: the next request asks for a prompt,
    and not for a reply.
    """

    reads: Response | None
    left_out: frozenset[str]
    body: Mapping[str, object]
    renders: bool


class Listener(Protocol):
    """Knows the exchanges. No method raises, and none waits."""

    hosts: MutableMapping[HTTPFlow, str]
    """Each client's own `Host`, which mitmproxy replaces; the layers write it."""

    @property
    def seconds_of_silence(self) -> float:
        """The longest silence that a client hears."""

    def takes(self, flow: HTTPFlow, size: int) -> bool:
        """Return True if a request may be of so many bytes."""

    def watcher(self, flow: HTTPFlow) -> BodyReader | None:
        """Return who reads a reply that is held."""

    def failed(self, flow: HTTPFlow, reason: str) -> Response | None:
        """Return what a client gets in place of a reply; none: mitmproxy's own page."""

    def early(self, flow: HTTPFlow) -> Response | None:
        """Return the head of a stream that begins before the server answers; none: it waits."""

    def late(self, flow: HTTPFlow, begun: Any) -> list[bytes]:
        """Return the words of a whole reply, for a stream that was `begun` early."""


class Connections(Protocol):
    """The layer of a client's connection, as each of its streams knows it. `connection_handler`:
    what moves the client's bytes. `last_read`: the length of the last read, from `last_from`.
    """

    listener: Listener
    connection_handler: Any
    last_read: int
    last_from: Connection | None

    @property
    def connections(self) -> Mapping[Connection, Any]:
        """The layers of the client's and the servers' connections."""

    @property
    def streams(self) -> Mapping[int, Any]:
        """The exchanges."""


class Stream(Protocol):
    """An exchange, as the splice knows it."""

    flow: HTTPFlow
    context: Any
    response_body_buf: Any

    @property
    def streams(self) -> bool:
        """Return True if the server's body is being passed on as it comes."""

    def has_spoken(self) -> None:
        """Note that the client was sent something."""
