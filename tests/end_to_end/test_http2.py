"""Clients of HTTP/2, with TLS and by prior knowledge: no stream waits for another or is lost with
it, and who reads slowly is waited for. Servers of HTTP/2 as well.
"""

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.faults.hostile_server import HELLO
from tests.faults.judge import (
    CLIENTS,
    CUT,
    FAILED,
    FULL,
    Client,
    Heard,
    Verdict,
    heard_http2,
    verdict_of,
)
from tests.support.by_path_server import CHAT, ByPathServer, Says
from tests.support.frames import END, ROLE, stream, text, whole
from tests.support.harness import SECONDS_TO_START, Proxy, start_proxy
from tests.support.http2_client import Http2Answer, Http2Client
from tests.support.http2_server import End, Http2Server
from tests.support.scripted_server import Asked

pytestmark = pytest.mark.slow

STREAMS = 100
"""As many as h2 lets a client open on one connection."""
WORDS = {
    End.RESET: "reset its answer (INTERNAL_ERROR)",
    End.GOES_AWAY: "broke off its answer",
    End.CLOSES: "broke off its answer",
}
FRAME = text("x" * 1000)[0]


@pytest.fixture(params=[*CLIENTS.values()], ids=[*CLIENTS])
def speaker(request: pytest.FixtureRequest) -> Client:
    """A client of each dialect."""
    client: Client = request.param
    return client


@pytest.fixture(params=[True, False], ids=["TLS", "prior knowledge"])
def tls(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(scope="module")
def model() -> Iterator[ByPathServer]:
    with ByPathServer() as server:
        yield server


@pytest.fixture(scope="module")
def newer() -> Iterator[Http2Server]:
    with Http2Server() as server:
        yield server


@pytest.fixture(scope="module")
def proxy(model: ByPathServer, newer: Http2Server, proxy_folder: Path) -> Iterator[Proxy]:
    """One port in front of a server of HTTP/1, one in front of a server of HTTP/2."""
    options = ["think_server=generic", "think_limits=request_mb=1", "ssl_insecure=true"]
    arguments = [part for option in options for part in ("--set", option)]
    modes = [f"reverse:{model.address}", f"reverse:{newer.address}"]
    with start_proxy(modes, arguments, proxy_folder, "http2") as proxy:
        yield proxy
        proxy.check()


def verdict(answer: Http2Answer, speaker: Client, is_stream: bool = True) -> Verdict:
    return verdict_of(heard_http2(answer), speaker, is_stream)


def numbered(speaker: Client, number: int) -> bytes:
    asked = json.loads(speaker.question(True))
    return json.dumps({**asked, "model": f"small-{number}"}).encode()


def number_in(asked: Asked) -> int:
    return int(json.loads(asked.body)["model"].rpartition("-")[2])


class Crowd:
    """A script that answers nobody to the end before all have come, each with words of its own, and
    one, `endless`, without end. `left`: that one's client is gone.
    """

    def __init__(self, count: int, endless: int) -> None:
        self.all_came = threading.Barrier(count)
        self.endless = endless
        self.left = threading.Event()

    def __call__(self, asked: Asked) -> Says:
        number = number_in(asked)
        return Says(b"", steps=self._steps(number))  # type: ignore[arg-type]  # one by one

    def _steps(self, number: int) -> Iterator[bytes]:
        yield from [ROLE, *text("<th", f"ink>deep {number}")]
        self.all_came.wait(30)
        try:
            while number == self.endless:
                yield text(" on")[0]
                time.sleep(0.02)
        finally:
            if number == self.endless:
                self.left.set()
        yield from [*text("</think>", f"Hello {number}"), *END]


def test_a_hundred_streams_of_one_connection_go_on_when_one_is_cancelled(
    proxy: Proxy, model: ByPathServer, speaker: Client, tls: bool
) -> None:
    crowd = Crowd(STREAMS, endless=7)
    model.rows[CHAT] = crowd
    with Http2Client(proxy.ports[0], tls=tls, seconds=30) as client:
        ids = [client.ask(speaker.path, numbered(speaker, number)) for number in range(STREAMS)]
        client.until(lambda: b" on" in client.answers[ids[7]].received)
        client.cancel(ids[7])
        assert crowd.left.wait(5)
        heard = [verdict(client.end_of(stream), speaker) for stream in ids if stream != ids[7]]
        again = client.ask(speaker.path, numbered(speaker, 200))
        crowd.all_came = threading.Barrier(1)
        heard.append(verdict(client.end_of(again), speaker))
    numbers = [*range(7), *range(8, STREAMS), 200]
    said = [(f"deep {number}", f"Hello {number}") for number in numbers]
    assert heard == [Verdict(FULL, one) for one in said]


def memory_of(proxy: Proxy) -> float:
    """In megabytes."""
    lines = Path(f"/proc/{proxy.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


def connections_to(model: ByPathServer) -> int:
    """How many a proxy holds open, also such as the server has ended."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    port, held = f":{model.server_port:04X}", ("01", "08")  # established, and closed by the server
    return sum(row[2].endswith(port) and row[3] in held for row in rows)


class Long:
    """A script whose replies are long; `sent`: frames of the longest so far."""

    def __init__(self, frames: int) -> None:
        self.frames = frames
        self.sent = 0

    def __call__(self, asked: Asked) -> Says:
        return Says(b"", steps=self._steps(number_in(asked)))  # type: ignore[arg-type]

    def _steps(self, number: int) -> Iterator[bytes]:
        yield from [ROLE, *text("<think>deep</think>")]
        for sent in range(self.frames if number == 1 else 0):
            self.sent = sent + 1
            yield FRAME * 20
        yield from [*text("Hello"), *END]


def test_a_client_that_reads_slowly_is_waited_for(
    proxy: Proxy, model: ByPathServer, speaker: Client, tls: bool
) -> None:
    long = model.rows[CHAT] = Long(frames=3000)  # 70 megabytes
    with Http2Client(proxy.ports[0], tls=tls, window=20_000) as client:
        slow = client.ask(speaker.path, numbered(speaker, 1))
        client.slow.add(slow)
        client.until(lambda: len(client.answers[slow].received) >= 20_000)
        before = memory_of(proxy)
        for _ in range(20):  # others are not held up
            other = client.end_of(client.ask(speaker.path, numbered(speaker, 2)))
            assert verdict(other, speaker) == Verdict(FULL, ("deep", "Hello"))
        assert memory_of(proxy) < before + 10
        assert len(client.answers[slow].received) == 20_000
        assert long.sent < long.frames / 2
        client.cancel(slow)


def test_nothing_is_lost_to_a_client_that_read_slowly(
    proxy: Proxy, model: ByPathServer, speaker: Client, tls: bool
) -> None:
    model.rows[CHAT] = Long(frames=60)
    with Http2Client(proxy.ports[0], tls=tls, window=20_000) as client:
        slow = client.ask(speaker.path, numbered(speaker, 1))
        client.slow.add(slow)
        client.until(lambda: len(client.answers[slow].received) >= 20_000)
        client.take(slow)
        said = verdict(client.end_of(slow), speaker)
    assert (said.word, said.said[0]) == (FULL, "deep")
    assert said.said[1] == "x" * 1000 * 20 * 60 + "Hello"


def test_a_client_that_leaves_its_connection_ends_all_its_replies(
    proxy: Proxy, model: ByPathServer, speaker: Client, tls: bool
) -> None:
    crowd = model.rows[CHAT] = Crowd(1, endless=1)
    with Http2Client(proxy.ports[0], tls=tls) as client:
        stream = client.ask(speaker.path, numbered(speaker, 1))
        client.until(lambda: b"deep" in client.answers[stream].received)
        client.leave()
        assert crowd.left.wait(5)


def test_a_servers_connection_is_closed_when_no_other_stream_can_use_it(
    proxy: Proxy, model: ByPathServer, speaker: Client
) -> None:
    """mitmproxy leaves each open, and uses none of them again."""
    model.rows[CHAT] = Says(whole("<think>deep</think>Hello"))
    with Http2Client(proxy.ports[0]) as client:
        for _ in range(10):
            answer = client.end_of(client.ask(speaker.path, speaker.question(False)))
            assert verdict(answer, speaker, is_stream=False).word == FULL
        # until those of other tests are closed as well
        deadline = time.monotonic() + SECONDS_TO_START
        while connections_to(model) >= 10 and time.monotonic() < deadline:
            time.sleep(0.02)
        assert connections_to(model) < 10


def test_too_large_a_request_is_refused_in_the_dialect(
    proxy: Proxy, speaker: Client, tls: bool
) -> None:
    asked = {**json.loads(speaker.question(True)), "user": "x" * 3_000_000}
    with Http2Client(proxy.ports[0], tls=tls) as client:
        answer = client.end_of(client.ask(speaker.path, json.dumps(asked).encode()))
        assert answer.status == 413
        assert "more than 1 megabytes" in verdict(answer, speaker).error


def test_httpx_reads_a_stream_by_prior_knowledge(proxy: Proxy, model: ByPathServer) -> None:
    model.rows[CHAT] = Says(steps=stream(*HELLO))
    with httpx.Client(http1=False, http2=True) as client:
        address = f"http://127.0.0.1:{proxy.ports[0]}{CHAT}"
        answer = client.post(address, content=CLIENTS["openai"].question(True))
    assert answer.http_version == "HTTP/2"
    heard = Heard(answer.status_code, answer.headers["content-type"], answer.content)
    assert verdict_of(heard, CLIENTS["openai"], True) == Verdict(FULL, ("deep", "Hello"))


def test_a_request_that_names_no_length_has_one_for_a_server_of_http_1(
    proxy: Proxy, model: ByPathServer, speaker: Client, tls: bool
) -> None:
    model.rows[CHAT] = Says(steps=stream(*HELLO))
    model.asked.clear()
    with Http2Client(proxy.ports[0], tls=tls) as client:
        client.end_of(client.ask(speaker.path, speaker.question(True)))
    (asked,) = model.asked
    assert int(asked.headers["content-length"]) == len(asked.body) > 0


@pytest.mark.parametrize("path", [None, "/other"], ids=["ours", "not ours"])
def test_trailers_of_a_request_stay_here(
    proxy: Proxy, model: ByPathServer, speaker: Client, tls: bool, path: str | None
) -> None:
    model.rows[CHAT] = Says(steps=stream(*HELLO))
    mark = proxy.mark()
    with Http2Client(proxy.ports[0], tls=tls) as client:
        asked = client.ask(path or speaker.path, speaker.question(True), {"x-sum": "1"})
        assert client.end_of(asked).ended
    proxy.check(mark)


def test_a_server_of_http_2_is_read_through_one_connection(
    proxy: Proxy, newer: Http2Server, speaker: Client
) -> None:
    newer.answer(stream(*HELLO), trailers={"x-sum": "1"})
    newer.connections = 0
    with Http2Client(proxy.ports[1]) as client:
        ids = [client.ask(speaker.path, speaker.question(True)) for _ in range(10)]
        heard = [verdict(client.end_of(stream), speaker) for stream in ids]
        assert heard == [Verdict(FULL, ("deep", "Hello"))] * 10
        assert client.answers[ids[0]].trailers == {"x-sum": "1"}
    assert newer.connections == 1
    newer.answer([b"", *(part for step in stream(*HELLO) for part in (step, b""))])
    with Http2Client(proxy.ports[1]) as client:  # an empty frame is no end
        answer = client.end_of(client.ask(speaker.path, speaker.question(True)))
        assert verdict(answer, speaker) == Verdict(FULL, ("deep", "Hello"))
    newer.answer([whole("".join(HELLO))], kind="application/json")
    with Http2Client(proxy.ports[1]) as client:
        answer = client.end_of(client.ask(speaker.path, speaker.question(False)))
        assert verdict(answer, speaker, is_stream=False) == Verdict(FULL, ("deep", "Hello"))


@pytest.mark.parametrize("end", [End.RESET, End.GOES_AWAY, End.CLOSES])
def test_a_server_of_http_2_that_breaks_off_is_told_of(
    proxy: Proxy, newer: Http2Server, speaker: Client, end: End
) -> None:
    newer.answer([ROLE, *text(*HELLO[:4])], end)
    with Http2Client(proxy.ports[1]) as client:
        said = verdict(client.end_of(client.ask(speaker.path, speaker.question(True))), speaker)
        assert (said.word, said.said) == (CUT, ("deep", "Hel"))
        assert WORDS[end] in said.error
    for is_stream in (True, False):
        newer.answer([], end, has_head=False)
        with Http2Client(proxy.ports[1]) as client:
            answer = client.end_of(client.ask(speaker.path, speaker.question(is_stream)))
            assert verdict(answer, speaker, is_stream).word == FAILED
            assert answer.status in (502, 529)
