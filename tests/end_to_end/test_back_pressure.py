"""A server is read no further while a hook waits before its reply; then nothing is lost, and no
other client has waited.
"""

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.judge import CLIENTS, Client, Received, hear
from tests.support.by_path_server import CHAT, ByPathServer, Says
from tests.support.frames import END, ROLE, text
from tests.support.harness import Proxy, start_proxy
from tests.support.scripted_server import ReceivedRequest

pytestmark = pytest.mark.slow

WAITS = """
import asyncio
from pathlib import Path

async def responseheaders(flow):
    while "long" in flow.request.text and not Path({go_on!r}).exists():
        await asyncio.sleep(0.01)
"""
"""An addon that waits, as a person may."""
FRAME = text("x" * 1000)[0]
PIECES = 400
"""Of 20 frames each: 9 megabytes, twice what sockets hold."""
SOCKETS = 300


class Long:
    """A script with a long reply for who asks for it; `sent`: how much of it."""

    def __init__(self) -> None:
        self.sent = 0
        self.left = threading.Event()

    def __call__(self, request: ReceivedRequest) -> Says:
        pieces = PIECES if b"long" in request.body else 0
        return Says(b"", steps=self._steps(pieces))  # type: ignore[arg-type]  # one by one

    def _steps(self, pieces: int) -> Iterator[bytes]:
        yield from [ROLE, *text("<think>deep</think>")]
        try:
            for sent in range(pieces):
                self.sent = sent + 1
                yield FRAME * 20
        finally:
            if self.sent < pieces:
                self.left.set()
        yield from [*text("Hello"), *END]

    def standing(self) -> int:
        """Return the bytes that were sent when the server could send no more."""
        before = -1
        while not 0 < self.sent == before:
            before = self.sent
            time.sleep(0.3)
        return self.sent


@pytest.fixture
def go_on(proxy_folder: Path) -> Iterator[Path]:
    """The file for which the hook waits."""
    path = proxy_folder / "go on"
    yield path
    path.unlink(missing_ok=True)


@pytest.fixture
def model() -> Iterator[ByPathServer]:
    with ByPathServer() as server:
        yield server


@pytest.fixture
def proxy(model: ByPathServer, proxy_folder: Path, go_on: Path) -> Iterator[Proxy]:
    script = proxy_folder / "waits.py"
    script.write_text(WAITS.format(go_on=str(go_on)))
    arguments = ["--set", "think_server=generic", "-s", str(script)]
    with start_proxy([f"reverse:{model.address}"], arguments, proxy_folder, "waits") as proxy:
        yield proxy


def asks(client: Client, model: str) -> bytes:
    return json.dumps({**json.loads(client.question(True)), "model": model}).encode()


def test_a_reply_is_read_no_further_while_its_hook_waits(
    proxy: Proxy, model: ByPathServer, go_on: Path
) -> None:
    long = model.rows[CHAT] = Long()
    client, received = CLIENTS["openai"], list[Received]()
    request = (proxy.ports[0], client.path, asks(client, "long"))
    asking = threading.Thread(target=lambda: received.append(hear(*request)))
    asking.start()
    assert long.standing() < SOCKETS
    go_on.touch()
    asking.join()
    (reply,) = received
    assert reply.body.count(b"x" * 1000) == 20 * PIECES
    assert b"Hello" in reply.body
    assert reply.body.endswith(b"data: [DONE]\n\n")
