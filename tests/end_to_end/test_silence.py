"""A client that waits hears from the proxy; a stream begun early tells the truth later."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

import pytest

from tests.faults.hostile_server import (
    GOOD_STREAM,
    HELLO,
    Do,
    Fault,
    HostileServer,
    Step,
    chunk,
    head,
    sent,
)
from tests.faults.judge import CLIENTS, CUT, FULL, Client, Verdict, hear
from tests.support.frames import END, ROLE, text, whole
from tests.support.harness import Proxy, start_proxy

pytestmark = pytest.mark.slow

PINGS = {
    "openai": b": ping\n",
    "anthropic": b'event: ping\ndata: {"type": "ping"}\n\n',
    "responses": b"event: keepalive\n",
    "ollama": b'"content":""},"done":false}\n',  # a line without words
}


@dataclass
class Silence:
    """A server's silence, which is over once its client has received so many pings."""

    ping: bytes
    pings: int
    over: Event = field(default_factory=Event)
    _received: bytes = b""

    def hear(self, port: int, speaker: Client) -> Verdict:
        """Ask for a stream over HTTP/1."""
        verdict = speaker.stream(hear(port, speaker.path, speaker.question(True), self._listen))
        assert self.over.is_set(), "the server waited in vain"
        return verdict

    def _listen(self, chunk: bytes) -> None:
        self._received += chunk
        if self._received.count(self.ping) >= self.pings:
            self.over.set()


@pytest.fixture(params=[*CLIENTS.values()], ids=[*CLIENTS])
def speaker(request: pytest.FixtureRequest) -> Client:
    """A client of each dialect."""
    client: Client = request.param
    return client


@pytest.fixture(scope="module")
def slow() -> Iterator[HostileServer]:
    with HostileServer() as server:
        yield server


@pytest.fixture(scope="module")
def proxy(slow: HostileServer, proxy_folder: Path) -> Iterator[Proxy]:
    """One port that begins streams early, for a server that holds its head back."""
    options = ["think_server=generic", "think_ping=1,early"]
    arguments = [part for option in options for part in ("--set", option)]
    with start_proxy([f"reverse:{slow.address}"], arguments, proxy_folder, "silence") as proxy:
        yield proxy


@pytest.fixture
def port(proxy: Proxy) -> int:
    return proxy.ports[0]


def does(server: HostileServer, *steps: Step) -> None:
    server.fault = Fault("slow", FULL, steps, steps)


@pytest.fixture
def silence(speaker: Client) -> Silence:
    """A silence of two pings."""
    return Silence(PINGS[speaker.name], 2)


@pytest.fixture
def short(speaker: Client) -> Silence:
    """One that is over with the first ping."""
    return Silence(PINGS[speaker.name], 1)


def test_silence_within_a_reply_is_filled_with_pings(
    port: int, slow: HostileServer, speaker: Client, silence: Silence
) -> None:
    begun, *rest = map(chunk, [ROLE, *text(*HELLO), *END])
    does(slow, head(), begun, *rest[:2], silence.over, *rest[2:], b"0\r\n\r\n")
    verdict = silence.hear(port, speaker)
    assert (verdict.word, verdict.parts) == (FULL, ("deep", "Hello"))


def test_a_stream_begins_before_the_servers_head_has_come(
    port: int, slow: HostileServer, speaker: Client, silence: Silence
) -> None:
    does(slow, silence.over, *GOOD_STREAM)
    verdict = silence.hear(port, speaker)
    assert (verdict.word, verdict.parts) == (FULL, ("deep", "Hello"))


def test_a_whole_reply_to_a_stream_that_was_begun_early_is_sent_in_the_stream(
    port: int, slow: HostileServer, speaker: Client, short: Silence
) -> None:
    kind = {"anthropic": "text/plain", "ollama": "text/event-stream"}.get(speaker.name)
    does(slow, short.over, sent(whole("".join(HELLO)), kind or "application/json"))
    verdict = short.hear(port, speaker)
    assert (verdict.word, verdict.parts) == (FULL, ("deep", "Hello"))


ERROR = [sent(b'{"error": {"message": "too long"}}', status=400)], "status 400: too long"


@pytest.mark.parametrize(
    ("name", "steps", "error"),
    [
        *(pytest.param(name, *ERROR, id=f"an error, {name}") for name in CLIENTS),
        pytest.param("openai", [sent(b"<h1>gone</h1>", "text/html", 503)], ": gone", id="a page"),
        pytest.param(
            "anthropic",
            [sent(b"<h1>gone</h1>", "text/html")],
            "is no chat completion: gone",
            id="a page that is called fine",
        ),
        pytest.param(
            "responses", [Do.CLOSE], "closed the connection without an answer", id="nothing"
        ),
        pytest.param("ollama", [b"garbage", Do.HANG], "did not answer in HTTP", id="garbage"),
        *(
            pytest.param(
                name,
                [head(), chunk(ROLE), Do.CLOSE],
                "broke off its answer",
                id=f"half a stream, {name}",
            )
            for name in CLIENTS
        ),
    ],
)
def test_a_failure_after_an_early_start_is_an_error_in_the_stream(
    port: int, slow: HostileServer, name: str, steps: list[Step], error: str
) -> None:
    speaker, short = CLIENTS[name], Silence(PINGS[name], 1)
    does(slow, short.over, *steps)
    verdict = short.hear(port, speaker)
    assert verdict.word == CUT
    assert error in verdict.error


def test_a_whole_reply_is_never_begun_early(
    port: int, slow: HostileServer, speaker: Client
) -> None:
    does(slow, 1.3, sent(b'{"error": {"message": "too long"}}', status=400))
    reply = hear(port, speaker.path, speaker.question(False))
    assert reply.status == 400
    assert b"ping" not in reply.body
