"""The contract between the layers and the addon, and the stream function of a reply."""

from collections.abc import Awaitable
from typing import Protocol, TypeGuard

from mitmproxy.http import HTTPFlow, Request, Response


class StreamFunction(Protocol):
    """The function that a streamed body passes through. It never raises; an empty list means
    nothing to send.
    """

    def __call__(self, chunk: bytes) -> list[bytes]:
        """Return what the client gets for these bytes; no bytes are the body's end."""

    @property
    def is_long(self) -> bool:
        """Tell whether the next call takes long, because others would wait for it."""

    def beside(self, chunk: bytes) -> Awaitable[list[bytes]]:
        """Return the same as a call, made beside mitmproxy's loop; no other may come meanwhile."""

    def abort(self, reason: str) -> list[bytes]:
        """Return what the client gets when the body breaks off: held text, the error, the end."""

    def ping(self) -> list[bytes]:
        """Return what tells a waiting client that we are there; nothing where it may not stand."""


class Leaving(Protocol):
    """A reader of a body that may leave the server in the middle, for another reply to go on."""

    def __call__(self, chunk: bytes) -> list[bytes]:
        """Take these bytes."""

    @property
    def holds(self) -> bool:
        """Tell whether it keeps the body itself."""

    @property
    def stopped(self) -> bool:
        """Tell whether no more of this body is wanted: the server is to be left at once."""

    def again(self, possible: bool) -> Request | None:
        """Return the request whose reply goes on with the client's body; none: it is over, and a
        call without bytes ends it. `possible`: it can be sent.
        """


class Listener(Protocol):
    """The addon, as the layers see it. No method raises; each is called in mitmproxy's loop."""

    @property
    def seconds_of_silence(self) -> float:
        """The longest silence that a client hears; 0: any."""

    def asked(self, flow: HTTPFlow, host: str) -> None:
        """Hear the client's own `Host` before the `requestheaders` hook, because mitmproxy replaces
        it.
        """

    def takes(self, flow: HTTPFlow, size: int) -> bool:
        """Tell whether a request may be of so many bytes. Of one that may not only the beginning is
        held, and the `request` hook answers it.
        """

    def watcher(self, flow: HTTPFlow) -> Leaving | None:
        """Return what a body which is held passes through as it comes, if any; what it returns
        needs no sending.
        """

    def failed(self, flow: HTTPFlow, reason: str) -> Response | None:
        """Return the reply to a request that the server did not answer; none: mitmproxy's own."""

    def early(self, flow: HTTPFlow) -> Response | None:
        """Return the head of a stream to begin before the server's own head has come, or none.

        The head's `stream` is a `StreamFunction`.
        """

    def late(self, flow: HTTPFlow, begun: StreamFunction) -> list[bytes]:
        """Return what goes into a stream begun early when the server's reply was a whole one."""


def is_stream_function(function: object) -> TypeGuard[StreamFunction]:
    """Tell whether a response's `stream` can be broken off and can ping."""
    return callable(function) and hasattr(function, "abort") and hasattr(function, "ping")


def may_leave(function: object) -> TypeGuard[Leaving]:
    """Tell whether a stream function may leave its server before the body's end."""
    return getattr(function, "ends_thoughts", False) is True
