"""Whoever ends the proxy: clients in mid-stream get what was held, the error and a proper end."""

import threading
from pathlib import Path

import pytest

from tests.faults.hostile_server import HELLO, Do, Fault, HostileServer, Step, Steps, chunk, head
from tests.faults.judge import CLIENTS, CUT, SECONDS, Client, Received, failure, hear
from tests.support.frames import ROLE, text
from tests.support.harness import start_proxy

pytestmark = pytest.mark.slow

HALF: list[Step] = [head(), *map(chunk, [ROLE, *text(*HELLO[:-1])]), Do.HANG]


@pytest.fixture(params=[*CLIENTS.values()], ids=[*CLIENTS])
def speaker(request: pytest.FixtureRequest) -> Client:
    """A client of each dialect."""
    client: Client = request.param
    return client


def ended_during(client: Client, stream: bool, steps: Steps, folder: Path) -> Received:
    """Return the reply of a client that waits when the proxy gets a signal to end: with the last
    words of a stream, or with nothing yet.
    """
    received, got, came = list[Received](), list[bytes](), threading.Event()

    def listen(chunk: bytes) -> None:
        got.append(chunk)
        if b"Hel" in b"".join(got):
            came.set()

    def ask(port: int) -> None:
        received.append(hear(port, client.path, client.question(stream), listen))

    with HostileServer() as server:
        server.fault = Fault("half", CUT, steps, steps)
        modes, options = [f"reverse:{server.address}"], ["--set", "think_server=generic"]
        with start_proxy(modes, options, folder, "quitting") as proxy:
            asking = threading.Thread(target=ask, args=proxy.ports)
            asking.start()
            assert (came if head() in steps else server.came).wait(SECONDS)
            proxy.terminate()
            assert proxy.exit_status() == 0
            asking.join()
    return received[0]


def test_a_stream_ends_properly_when_the_proxy_does(tmp_path: Path, speaker: Client) -> None:
    received = ended_during(speaker, True, HALF, tmp_path)
    verdict = speaker.stream(received)
    assert (verdict.word, verdict.parts) == (CUT, ("deep", "Hel"))
    assert verdict.error == "the proxy is shutting down"


@pytest.mark.parametrize("stream", [True, False])
def test_waiting_clients_get_an_error_when_the_proxy_ends(
    tmp_path: Path, speaker: Client, stream: bool
) -> None:
    received = ended_during(speaker, stream, [Do.HANG], tmp_path)
    assert received.status == 529
    assert failure(received, speaker.name).error == "the proxy is shutting down"
