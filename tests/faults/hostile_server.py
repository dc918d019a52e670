"""A server on loopback that takes the steps of a fault, byte by byte.

It writes to a bare socket, because an HTTP server would mend most faults.
"""

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from tests.support.frames import stream, whole

HELLO = ("<th", "ink>de", "ep</th", "ink>Hel", "lo")
"""A reply in the pieces of a model, and its thinking and text."""
BOTH = ("deep", "Hello")
SECONDS = 65
"""Seconds for which a hanging server is silent; a client that waits so long has failed."""


class Do:
    """Steps besides sending bytes."""

    RESET = "resets the connection"
    CLOSE = "closes the connection"
    HANG = "does nothing more"
    PAUSE = "waits for a moment, so that what came before is read by itself"


type Step = bytes | str | float | threading.Event
"""Bytes to send, one of the above, so many seconds of silence, or silence until it is set."""
type Steps = Sequence[Step]


@dataclass(frozen=True)
class Fault:
    """`stream`, `whole`: what is sent to a request for either; an empty list: nothing is tried.

    `verdict`: the allowed verdicts, such as "full" or "full cut". `parts` and `before`: the
    thinking and the text that must have been received in a full and in a cut reply. `message`: a
    part of the error's message. `accept`: steps before a request is read. `server`: another
    server's address.
    """

    name: str
    verdict: str
    stream: Steps = ()
    whole: Steps = ()
    parts: tuple[str, str] = BOTH
    before: tuple[str, str] = ("", "")
    message: str = ""
    accept: Steps = ()
    server: str = ""


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def head(
    kind: str = "text/event-stream", framing: str = "transfer-encoding: chunked", status: int = 200
) -> bytes:
    lines = [f"HTTP/1.1 {status} X", f"content-type: {kind}", framing]
    return "\r\n".join([line for line in lines if line] + ["", ""]).encode()


def sent(body: bytes, kind: str = "application/json", status: int = 200) -> bytes:
    """Return the steps of a correct whole reply."""
    return head(kind, f"content-length: {len(body)}", status) + body


def streamed(frames: Sequence[bytes]) -> list[Step]:
    """Return the steps of a correct stream, a chunk for each frame."""
    return [head(), *map(chunk, frames), b"0\r\n\r\n"]


def long_frame(frame: bytes, megabytes: int = 5) -> list[Step]:
    """Return the chunks of a frame in which "@@" is replaced by so many megabytes."""
    begin, end = frame.split(b"@@")
    return [chunk(begin), *[chunk(b"x" * 65_536)] * (16 * megabytes), chunk(end)]


GOOD_STREAM = streamed(stream(*HELLO))
GOOD_WHOLE: list[Step] = [sent(whole("".join(HELLO)))]


class HostileServer:
    """Answers every request with `fault`, and counts the requests that it read."""

    def __init__(self) -> None:
        self.fault: Fault | None = None
        self.requests: list[bytes] = []
        self.came = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._stop = threading.Event()
        threading.Thread(target=self._serve, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._socket.close()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def _serve(self) -> None:
        with contextlib.suppress(OSError):  # closed at the end
            while True:
                client, _ = self._socket.accept()
                threading.Thread(target=self._meet, args=(client,), daemon=True).start()

    def _meet(self, client: socket.socket) -> None:
        fault = self.fault
        assert fault
        with client, contextlib.suppress(OSError):
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._do(client, fault.accept):
                return
            while request := _read(client):
                self.requests.append(request)
                self.came.set()
                asks_for_stream = b'"stream": true' in request or b'"stream":true' in request
                steps = fault.stream if asks_for_stream else fault.whole
                if self._do(client, steps):
                    return

    def _do(self, client: socket.socket, steps: Steps) -> bool:
        """Take the steps; return True if the connection is over."""
        for step in steps:
            if isinstance(step, bytes):
                client.sendall(step)
            elif isinstance(step, float):
                self._stop.wait(step)
            elif isinstance(step, threading.Event):
                step.wait(SECONDS)
            elif step == Do.PAUSE:
                time.sleep(0.02)
            elif step == Do.HANG:
                self._stop.wait(SECONDS)
            elif step == Do.RESET:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return True
            else:
                return True
        return False


def _read(client: socket.socket) -> bytes:
    """Read a request; return its bytes, empty when the client has left."""
    request = b""
    while b"\r\n\r\n" not in request:
        piece = client.recv(65536)
        if not piece:
            return b""
        request += piece
    start, _, body = request.partition(b"\r\n\r\n")
    lengths = [line for line in start.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    missing = int(lengths[0].partition(b":")[2]) - len(body) if lengths else 0
    while missing > 0:
        piece = client.recv(min(65536, missing))
        if not piece:
            return b""
        request, missing = request + piece, missing - len(piece)
    return request
