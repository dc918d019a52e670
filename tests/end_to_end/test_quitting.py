"""Whoever ends the proxy: clients in mid-stream get what was held, the error and a proper end."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.hostile_server import (
    HELLO,
    Do,
    Fault,
    HostileServer,
    Step,
    Steps,
    chunk,
    head,
)
from tests.faults.judge import CLIENTS, CUT, Client, failure, hear
from tests.support.frames import ROLE, text
from tests.support.harness import start_proxy

pytestmark = pytest.mark.slow

HALF: list[Step] = [head(), *map(chunk, [ROLE, *text(*HELLO[:-1])]), Do.HANG]


@pytest.fixture(params=[*CLIENTS.values()], ids=[*CLIENTS])
def speaker(request: pytest.FixtureRequest) -> Client:
    """A client of each dialect."""
    client: Client = request.param
    return client


def ended_during[Answer](ask: Callable[[int], Answer], steps: Steps, folder: Path) -> Answer:
    """Return the reply of a client that waits when the proxy gets a signal to end."""
    answers: list[Answer] = []
    with HostileServer() as server:
        server.fault = Fault("half", CUT, steps, steps)
        modes, options = [f"reverse:{server.address}"], ["--set", "think_server=generic"]
        with start_proxy(modes, options, folder, "quitting") as proxy:
            client = threading.Thread(target=lambda: answers.append(ask(proxy.ports[0])))
            client.start()
            deadline = time.monotonic() + 10
            while not server.requests and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(0.2)  # for what the server sends to be read
            proxy.terminate()
            assert proxy.exit_status() == 0
            client.join(10)
    return answers[0]


def test_a_stream_ends_properly_when_the_proxy_does(tmp_path: Path, speaker: Client) -> None:
    received = ended_during(
        lambda port: hear(port, speaker.path, speaker.question(True)), HALF, tmp_path
    )
    verdict = speaker.stream(received)
    assert (verdict.word, verdict.parts) == (CUT, ("deep", "Hel"))
    assert verdict.error == "the proxy is shutting down"


@pytest.mark.parametrize("stream", [True, False])
def test_waiting_clients_get_an_error_when_the_proxy_ends(
    tmp_path: Path, speaker: Client, stream: bool
) -> None:
    received = ended_during(
        lambda port: hear(port, speaker.path, speaker.question(stream)), [Do.HANG], tmp_path
    )
    assert received.status == 529
    assert failure(received, speaker.name).error == "the proxy is shutting down"
