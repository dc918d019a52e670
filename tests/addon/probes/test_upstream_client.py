"""Probes of servers: how often, which requests wait for them, and the cost of a silent server. The
servers are real, on loopback.
"""

import asyncio
import json
import logging
import re
import socket
import ssl
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path

import pytest

from converter.addon.aside import AT_ONCE
from converter.addon.probes import upstream_client, upstream_http
from converter.addon.probes.upstream_client import UpstreamClient, credentials, run_probe
from converter.addon.probes.upstream_http import fetch
from converter.addon.servers.known_servers import KnownServers, Upstream, prompt_key
from converter.addon.servers.probes import IDENTITY_PATHS, Probe, ProbeRequest
from converter.addon.servers.profiles import GENERIC, Server, by_name
from converter.core.dialects.server_fields import CONTROL
from converter.core.model.initial_state import InitialState
from converter.core.model.memory import Bounds, ProcessStore, Store
from tests.support.by_path_server import NOT_FOUND, ByPathServer, Says, owned_by
from tests.support.scripted_server import ReceivedRequest

TEXT, THINKING = InitialState.TEXT, InitialState.THINKING
LIKELY = InitialState.LIKELY_THINKING
HOST = "127.0.0.1"
OPTIONS = Path(__file__).parents[3] / "docs" / "options.md"
SMALL = {"model": "small", "messages": [{"role": "user", "content": "hi"}]}
BEGUN = {"messages": [{"role": "assistant", "content": "<think>hm"}]}
OPENED = Says({"count": 5, "token_strs": ["<|im_start|>", "<think>", "Ċ"]})
VLLM = by_name("vllm")
NIM = by_name("nim")
SHORT = 0.05


@pytest.fixture
def server() -> Iterator[ByPathServer]:
    with ByPathServer() as server:
        yield server


@pytest.fixture(autouse=True)
def no_haste(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may take longer to answer than a reply would wait."""
    monkeypatch.setattr(upstream_client, "GRACE", 30.0)


@pytest.fixture
def short_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long enough for a request to come to a server on a busy machine."""
    monkeypatch.setattr(upstream_client, "PATIENCE", 0.5)


@contextmanager
def _silent() -> Iterator[Upstream]:
    """A server whose connections the system accepts and no program reads."""
    with socket.create_server((HOST, 0)) as listener:
        yield Upstream("http", HOST, listener.getsockname()[1])


def _gone() -> Upstream:
    """An address without a listener."""
    with socket.create_server((HOST, 0)) as listener:
        return Upstream("http", HOST, listener.getsockname()[1])


def _at(server: ByPathServer) -> Upstream:
    return Upstream("http", HOST, server.server_port)


type Step = Callable[[UpstreamClient], Awaitable[object]]


def _run(*steps: Step, servers: KnownServers | None = None) -> list[object]:
    """Return the results of steps with the same client, one after another."""

    async def run() -> list[object]:
        client = UpstreamClient(servers or KnownServers())
        return [await step(client) for step in steps]

    return asyncio.run(run())


def _recognise(upstream: Upstream, **headers: str) -> Step:
    return lambda client: client.recognise(upstream, headers)


def _count(upstream: Upstream) -> Step:
    return lambda client: client.count_tokens(upstream, {}, VLLM, SMALL)


def _ask(upstream: Upstream, body: Mapping[str, object] = SMALL, server: object = None) -> Step:
    async def ask(client: UpstreamClient) -> None:
        row = None if server is None else by_name(str(server))
        client.start_prompt_probe(upstream, {}, body, row)

    return ask


def _begins(upstream: Upstream, body: Mapping[str, object] = SMALL) -> Step:
    return lambda client: client.initial_state(upstream, body)


async def _settled(_: UpstreamClient) -> None:
    """Wait for the probes in the background."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.gather(*others, return_exceptions=True)


def test_a_server_is_probed_once(server: ByPathServer) -> None:
    server.rows |= owned_by("vllm")
    assert _run(*[_recognise(_at(server))] * 3) == [VLLM] * 3
    assert sorted(server.paths()) == sorted(IDENTITY_PATHS)


def test_a_server_is_probed_once_by_many_at_the_same_time(server: ByPathServer) -> None:
    server.rows |= owned_by("vllm")
    recognise = _recognise(_at(server))

    async def many(client: UpstreamClient) -> object:
        return await asyncio.gather(*(recognise(client) for _ in range(5)))

    assert _run(many) == [[VLLM] * 5]
    assert sorted(server.paths()) == sorted(IDENTITY_PATHS)


def _shares(client: UpstreamClient, store: Store) -> UpstreamClient:
    client.lessons.use_store(store)
    return client


async def _has_written(client: UpstreamClient) -> None:
    await asyncio.gather(*client.lessons._writing.values())


def test_processes_that_share_lessons_ask_a_server_once(server: ByPathServer) -> None:
    """One process probes the kind and the initial state; the others get its lessons."""
    server.rows |= {**owned_by("vllm"), "/tokenize": OPENED}

    async def run() -> None:
        store = ProcessStore(Bounds(9, 100_000))
        for _ in range(3):
            client = _shares(UpstreamClient(KnownServers(time.time)), store)
            assert await client.recognise(_at(server), {}) is VLLM
            client.start_prompt_probe(_at(server), {}, SMALL, None)
            assert await client.initial_state(_at(server), SMALL) is THINKING
            await _has_written(client)

    asyncio.run(run())
    assert sorted(server.paths()) == sorted([*IDENTITY_PATHS, "/tokenize"])


def test_a_request_waits_for_lessons_once(server: ByPathServer) -> None:
    """The store is read before the probe and before the server's answer is used, not later."""
    looks: list[str] = []

    class Noted(ProcessStore):
        def values(self, key: str, *, one: bool = False) -> list[bytes] | None:
            looks.append(f"after {len(server.requests)} questions")
            return super().values(key, one=one)

    async def run() -> None:
        client = _shares(UpstreamClient(KnownServers(time.time)), Noted(Bounds(9, 100_000)))
        server.rows = dict.fromkeys(IDENTITY_PATHS, Says({}, 401))
        for _ in range(2):
            await client.lessons.read_store(_at(server))
            assert await client.recognise(_at(server), {}) is GENERIC

    asyncio.run(run())
    assert looks == ["after 0 questions"]
    assert len(server.requests) == 2 * len(IDENTITY_PATHS)


@pytest.mark.parametrize("why", ["time", "doubt"])
def test_a_server_swapped_for_another_is_noticed_by_all(
    server: ByPathServer, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No request waits for the probe: the first request after it is sent as before."""
    upstream = _at(server)
    now = [time.time()]
    monkeypatch.setattr(time, "time", lambda: now[0])

    async def run() -> list[object]:
        store = ProcessStore(Bounds(9, 100_000))
        both = [KnownServers(lambda: now[0]) for _ in range(2)]
        one, other = (_shares(UpstreamClient(each), store) for each in both)
        server.rows = dict(owned_by("vllm"))
        states: list[object] = [await one.recognise(upstream, {})]
        await _has_written(one)
        states.append(await other.recognise(upstream, {}))
        server.rows = dict(owned_by("sglang"))
        states.append(await one.recognise(upstream, {}))
        now[0] += upstream_client.TERM if why == "time" else 1.0
        if why == "doubt":
            both[0].doubt(upstream)
        states.append(await one.recognise(upstream, {}))
        await _settled(one)
        states.append(await one.recognise(upstream, {}))
        await other.lessons.read_store(upstream, anew=True)
        states.append(await other.recognise(upstream, {}))
        return states

    sglang = by_name("sglang")
    assert asyncio.run(run()) == [VLLM, VLLM, VLLM, VLLM, sglang, sglang]
    assert sorted(server.paths()) == sorted(2 * IDENTITY_PATHS)


def test_an_identified_server_that_lets_nobody_in_is_left_alone_for_a_while(
    server: ByPathServer,
) -> None:
    server.rows |= owned_by("vllm")
    recognise, servers = _recognise(_at(server)), KnownServers()

    async def shuts(_: UpstreamClient) -> None:
        server.rows = dict.fromkeys(IDENTITY_PATHS, Says({}, 401))
        servers.doubt(_at(server))

    steps = [recognise, shuts, recognise, _settled, recognise, _settled, recognise]
    assert _run(*steps, servers=servers)[::2] == [VLLM] * 4
    assert sorted(server.paths()) == sorted(2 * IDENTITY_PATHS)


def test_the_questions_carry_the_clients_key(server: ByPathServer) -> None:
    _run(_recognise(_at(server), authorization="Bearer secret"))
    assert {received.headers["authorization"] for received in server.requests} == {"Bearer secret"}


def test_a_server_that_lets_nobody_in_is_probed_again(server: ByPathServer) -> None:
    def guarded(received: ReceivedRequest) -> Says:
        right = received.headers["authorization"] == "Bearer right"
        return owned_by("sglang")["/v1/models"] if right else Says({}, 401)

    server.rows["/v1/models"] = guarded
    wrong, right = (
        _recognise(_at(server), authorization=f"Bearer {key}") for key in ("wrong", "right")
    )
    assert _run(wrong, right) == [GENERIC, by_name("sglang")]


def test_a_server_that_cannot_even_be_connected_to_is_generic(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """mitmproxy's tasks begin at once, so that this one is over before anybody has noted it."""

    monkeypatch.setattr(upstream_http, "tls_for_host", _no_authorities)

    async def unreadable(client: UpstreamClient) -> object:
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
        upstream = Upstream("https", HOST, 443)
        rows = [await client.recognise(upstream, {}) for _ in range(2)]
        return rows, client._running

    assert _run(unreadable) == [([GENERIC, GENERIC], {})]


def _no_authorities(_: str) -> ssl.SSLContext:
    raise FileNotFoundError("authorities.pem")


def test_a_server_that_was_not_there_is_probed_when_it_is() -> None:
    upstream = _gone()

    async def refused(client: UpstreamClient) -> None:
        with pytest.raises(ConnectionError):
            await client.recognise(upstream, {})

    async def comes(_: UpstreamClient) -> None:
        reborn.append(ByPathServer(owned_by("vllm"), upstream.port))

    reborn: list[ByPathServer] = []
    assert _run(refused, comes, _recognise(upstream))[-1] is VLLM
    reborn[0].shutdown()
    reborn[0].server_close()


def test_a_client_that_leaves_does_not_take_the_answer_away(server: ByPathServer) -> None:
    server.rows |= owned_by("vllm")
    recognise = _recognise(_at(server))

    async def one_leaves(client: UpstreamClient) -> object:
        leaves, stays = (asyncio.ensure_future(recognise(client)) for _ in range(2))
        await asyncio.sleep(0)
        leaves.cancel()
        return await stays

    assert _run(one_leaves) == [VLLM]


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The waits for a server: the beginning and the end of each probe, and each grace."""
    loop_errors: list[object] = []
    timeout, wait = asyncio.timeout, asyncio.wait

    @asynccontextmanager
    async def noted(seconds: float) -> AsyncIterator[None]:
        loop_errors.append("asked")
        try:
            async with timeout(seconds):
                yield
        finally:
            loop_errors.append("over")

    def graced(tasks: set[asyncio.Task[None]], timeout: float) -> object:
        loop_errors.append(timeout)
        return wait(tasks, timeout=timeout)

    monkeypatch.setattr(asyncio, "timeout", noted)
    monkeypatch.setattr(asyncio, "wait", graced)
    return loop_errors


@pytest.mark.usefixtures("short_patience")
def test_a_server_that_answers_nothing_is_waited_for_once(waits: list[object]) -> None:
    with _silent() as upstream:
        steps = [*[_recognise(upstream)] * 5, _count(upstream), _ask(upstream), _begins(upstream)]
        results = _run(*steps)
    assert results == [*[GENERIC] * 5, None, None, TEXT]
    number = len(IDENTITY_PATHS)
    assert waits[: 2 * number] == [*["asked"] * number, *["over"] * number]  # all at once
    assert waits.count("asked") == 2 * number  # and once more, beside the second request


@contextmanager
def _hanging(server: ByPathServer, *paths: str) -> Iterator[None]:
    """The server does not come to an end with these."""
    let_go = threading.Event()
    server.rows |= {path: Says(steps=[let_go, b"{}"]) for path in paths}
    yield
    let_go.set()
    server.rows.clear()


@pytest.mark.usefixtures("short_patience")
def test_a_server_that_hangs_on_one_probe_is_identified_by_the_others(server: ByPathServer) -> None:
    server.rows |= {**owned_by("vllm"), "/tokenize": Says({"count": 7})}
    with _hanging(server, "/v1/metadata"):
        assert _run(_recognise(_at(server)), _count(_at(server))) == [VLLM, 7]


@pytest.mark.usefixtures("short_patience")
def test_a_server_that_hung_on_an_earlier_probe_is_probed_again_in_the_background(
    server: ByPathServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NIM hangs on /v1/metadata while it loads, and lists the models of the vLLM inside."""
    monkeypatch.setattr(upstream_client, "REST", 0.0)
    recognise = _recognise(_at(server))

    async def wakes(_: UpstreamClient) -> None:
        server.rows = {**owned_by("vllm"), "/v1/metadata": Says({"modelInfo": []})}

    server.rows = dict(owned_by("vllm"))
    with _hanging(server, "/v1/metadata"):
        states = _run(recognise, wakes, recognise, _settled, recognise)
    assert [states[0], states[2], states[4]] == [VLLM, VLLM, NIM]


@pytest.mark.usefixtures("short_patience")
def test_a_server_that_was_silent_is_probed_again_beside_the_next_request(
    server: ByPathServer,
) -> None:
    """`transformers serve` 5.24 is silent while it loads a model, and lists it afterwards."""
    recognise = _recognise(_at(server))

    async def wakes(_: UpstreamClient) -> None:
        server.rows = dict(owned_by("vllm"))

    with _hanging(server, *IDENTITY_PATHS):
        states = _run(recognise, wakes, recognise, _settled, recognise)
    assert [states[0], states[2], states[4]] == [GENERIC, GENERIC, VLLM]


@pytest.mark.usefixtures("short_patience")
def test_a_count_without_an_answer_is_waited_for_once(
    server: ByPathServer, waits: list[object]
) -> None:
    """One more is sent beside the next request; then the server rests."""
    recognise, count = _recognise(_at(server)), _count(_at(server))
    with _hanging(server, *IDENTITY_PATHS, "/tokenize"):
        results = _run(*[count] * 3, _settled, *[recognise] * 3)
    assert results == [*[None] * 4, *[GENERIC] * 3]
    assert waits == ["asked", "over"] * 2
    assert server.paths() == ["/tokenize"] * 2


def test_a_server_counts(server: ByPathServer) -> None:
    server.rows["/tokenize"] = Says({"count": 7})
    assert _run(_count(_at(server))) == [7]


def test_the_models_of_a_server_are_requested_once(server: ByPathServer) -> None:
    server.rows |= owned_by("vllm")
    first, second = _run(*[lambda client: client.list_models(_at(server), {})] * 2)
    assert first == second == [{"id": "small", "owned_by": "vllm"}]
    assert server.paths() == ["/v1/models"]


def test_a_server_behind_another_proxy_gets_no_probe(server: ByPathServer) -> None:
    behind, server.rows["/tokenize"] = _at(server)._replace(direct=False), Says({"count": 7})
    assert _run(lambda client: client.list_models(behind, {}), _count(behind)) == [[], None]
    assert server.paths() == []


@pytest.mark.usefixtures("short_patience")
def test_a_silent_server_has_the_models_of_its_last_list(
    server: ByPathServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def list_again(client: UpstreamClient) -> object:
        with _hanging(server, "/v1/models"):
            return await client.list_models(_at(server), {})

    monkeypatch.setattr(upstream_client, "REST", -1.0)
    server.rows |= owned_by("vllm")
    first, second = _run(lambda client: client.list_models(_at(server), {}), list_again)
    assert first == second != []


def _facts(upstream: Upstream, meets: bool = True, server: Server | None = None) -> Step:
    async def ask(client: UpstreamClient) -> object:
        if meets:
            client.register_server(upstream)
        return (await client.model_facts(upstream, {}, server, "small")).line

    return ask


def test_a_server_tells_of_a_model(server: ByPathServer) -> None:
    server.rows |= owned_by("organization_owner")
    loaded = {"id": "small", "type": "vlm", "loaded_context_length": 8192}
    server.rows["/api/v0/models"] = Says({"data": [loaded, {**loaded, "id": "other"}]})
    [rows] = _run(_facts(_at(server)))
    assert rows == "a window of 8,192 tokens, sees pictures: yes"


@pytest.mark.usefixtures("short_patience")
def test_a_server_that_is_slow_with_facts_of_a_model_is_probed_by_others(
    server: ByPathServer,
) -> None:
    let_go = threading.Event()
    server.rows |= {"/v1/models": Says(steps=[let_go]), "/tokenize": Says({"count": 7})}
    upstream = _at(server)
    try:
        assert _run(_facts(upstream, server=VLLM), _count(upstream)) == ["", 7]
    finally:
        let_go.set()


def test_only_servers_that_are_there_and_were_sent_requests_tell_of_models(
    server: ByPathServer,
) -> None:
    server.rows |= owned_by("vllm")
    assert _run(_facts(_at(server), meets=False)) == [""]
    assert server.paths() == []
    assert _run(_facts(_gone())) == [""]


def test_where_a_reply_begins_is_probed_once_for_each_model_and_switch(
    server: ByPathServer,
) -> None:
    server.rows |= {**owned_by("vllm"), "/tokenize": OPENED}
    upstream, off = _at(server), {**SMALL, "reasoning_effort": "none"}
    asks = [_ask(upstream), _ask(upstream), _begins(upstream), _ask(upstream)]
    states = _run(*asks, _begins(upstream), _ask(upstream, off), _begins(upstream, off))
    assert states == [None, None, THINKING, None, THINKING, None, THINKING]
    assert server.paths().count("/tokenize") == 2


def test_a_server_that_the_user_names_is_not_recognised_first(server: ByPathServer) -> None:
    server.rows["/tokenize"] = OPENED
    states = _run(_ask(_at(server), server="vllm"), _begins(_at(server)))
    assert (states[1], server.paths()) == (THINKING, ["/tokenize"])


@pytest.mark.parametrize("name", ["llama.cpp", None])
def test_a_server_that_repeats_openers_begins_in_text(
    server: ByPathServer, name: str | None
) -> None:
    server.rows |= owned_by("llamacpp")
    model = {"model": "qwq-32b"}
    states = _run(_ask(_at(server), model, name), _begins(_at(server), model))
    assert states[1] is TEXT


def test_an_answer_that_does_not_come_is_waited_for_no_longer_than_grace(
    server: ByPathServer, monkeypatch: pytest.MonkeyPatch, waits: list[object]
) -> None:
    monkeypatch.setattr(upstream_client, "GRACE", SHORT)
    upstream, model = _at(server), {"model": "qwq-32b"}
    with _hanging(server, "/tokenize"):
        begins = _begins(upstream, model)
        assert _run(_ask(upstream, model, "vllm"), begins) == [None, LIKELY]
    assert waits.count(SHORT) == 1


def test_nobody_waits_for_an_answer_that_cannot_decide(
    server: ByPathServer, waits: list[object]
) -> None:
    with _hanging(server, "/tokenize"):
        begins = _begins(_at(server), BEGUN)
        assert _run(_ask(_at(server), BEGUN, "vllm"), begins) == [None, THINKING]
    assert upstream_client.GRACE not in waits


def test_a_reply_without_a_probe_is_not_waited_for(waits: list[object]) -> None:
    assert _run(_begins(_gone(), {"model": "qwq-32b"})) == [LIKELY]
    assert waits == []


@pytest.mark.parametrize("name", ["lmstudio", None])
def test_an_answer_at_once_costs_no_turn_of_the_loop(name: str | None) -> None:
    servers, upstream = KnownServers(), _gone()
    servers.learn_server(upstream, GENERIC)

    async def without_a_turn(client: UpstreamClient) -> object:
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)  # as mitmproxy does
        await _ask(upstream, SMALL, name)(client)
        try:
            client.initial_state(upstream, SMALL).send(None)
        except StopIteration as known_now:
            return known_now.value
        raise AssertionError("the reply would wait")

    assert _run(without_a_turn, servers=servers) == [TEXT]
    assert servers.has_prompt(prompt_key(upstream, SMALL))


def test_a_server_that_was_not_there_yet_is_probed_again_where_its_replies_begin() -> None:
    upstream = _gone()
    ask, begins = _ask(upstream), _begins(upstream)

    async def comes(_: UpstreamClient) -> None:
        rows = {**owned_by("vllm"), "/tokenize": OPENED}
        reborn.append(ByPathServer(rows, upstream.port))

    reborn: list[ByPathServer] = []
    states = _run(ask, begins, comes, ask, begins)
    reborn[0].shutdown()
    reborn[0].server_close()
    assert (states[1], states[4]) == (TEXT, THINKING)


def test_whatever_goes_wrong_changes_only_the_guess(
    server: ByPathServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(upstream_client, "prompt_state", broken)
    model = {"model": "qwq-32b"}
    ask, begins = _ask(_at(server), model, "vllm"), _begins(_at(server), model)
    assert _run(ask, begins, ask, begins) == [None, LIKELY] * 2
    assert [record.getMessage() for record in caplog.records] == [
        f"think: {_at(server)} could not be probed: "
        "the beginning of its replies stays unknown: broken (reported once)"
    ]


def test_a_failure_is_logged_once_for_each_server(caplog: pytest.LogCaptureFixture) -> None:
    with _silent() as one, _silent() as other, pytest.MonkeyPatch.context() as patch:
        patch.setattr(upstream_client, "PATIENCE", SHORT)
        patch.setattr(upstream_client, "REST", 0.0)
        again = [_recognise(one), _settled] * 3
        _run(*again, _recognise(other), _ask(other, server="vllm"), _settled)
    lines = [(record.levelno, record.getMessage()) for record in caplog.records]
    # all paths are asked at the same time, so that any of them may be the first to fail
    path = re.compile("|".join(map(re.escape, IDENTITY_PATHS)))
    message = "no answer to PATH: nothing came within 0.05 s (reported once)"
    assert [(level, path.sub("PATH", line)) for level, line in lines] == [
        (logging.WARNING, f"think: {upstream} could not be probed: {message}")
        for upstream in (one, other)
    ]


def _where() -> Probe[list[str]]:
    here = [threading.current_thread().name]
    yield ProbeRequest("/1")
    return [*here, threading.current_thread().name]


@pytest.mark.parametrize(("size", "beside"), [(AT_ONCE, False), (AT_ONCE + 1, True)])
def test_a_probe_that_carries_a_long_request_runs_beside_the_loop(
    server: ByPathServer, size: int, beside: bool
) -> None:
    ask = partial(fetch, _at(server), {})
    threads = _run(lambda _: run_probe(_where(), ask, size))
    assert (threads == [[threading.main_thread().name] * 2]) is not beside


@pytest.mark.parametrize(
    ("headers", "sent"),
    [
        ({"authorization": "Bearer a", "x-api-key": "b"}, {"authorization": "Bearer a"}),
        ({"x-api-key": "b"}, {"authorization": "Bearer b"}),
        ({"x-api-key": ""}, {}),
        ({"cookie": "c"}, {}),
    ],
)
def test_a_clients_key_lets_it_in(headers: dict[str, str], sent: dict[str, str]) -> None:
    assert credentials(headers) == sent


def test_the_manual_tells_how_long_a_silent_server_is_waited_for() -> None:
    section = OPTIONS.read_text().partition("### What the addon asks a server\n")[2]
    text = " ".join(section.partition("###")[0].split())
    assert f"wait {upstream_client.PATIENCE:g} s in all" in text
    assert f"after {upstream_client.REST:g} s" in text
    assert f"{upstream_client.TERM / 60:g} minutes have passed" in text
    assert all(f"`{path}`" in text or f"GET {path}`" in text for path in IDENTITY_PATHS)


def _pieces(upstream: Upstream, met: bool = True) -> Step:
    async def ask(client: UpstreamClient) -> object:
        if met:
            client.register_server(upstream)
        return await client.prompt_pieces(upstream, {}, VLLM, lambda _: SMALL)

    return ask


def test_the_tokens_of_a_prompt_are_requested_when_somebody_looks(server: ByPathServer) -> None:
    server.rows["/tokenize"] = OPENED
    assert _run(_pieces(_at(server))) == [[b"<|im_start|>", b"<think>", b"\n"]]


def test_a_server_of_a_loaded_file_is_not_probed(server: ByPathServer) -> None:
    server.rows["/tokenize"] = OPENED
    assert _run(_pieces(_at(server), met=False)) == [None]
    assert server.paths() == []


@pytest.mark.parametrize("gone", [True, False])
def test_tokens_that_do_not_come_say_nothing_of_the_server(
    gone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long prompt may take long, and clients' requests are none the worse for it."""
    monkeypatch.setattr(upstream_client, "PATIENCE_OF_READERS", SHORT)
    with _silent() as silent:
        at = _gone() if gone else silent
        servers = KnownServers()
        rows = _run(_pieces(at), _says_nothing_of(at), servers=servers)
    assert rows == [None, False]


def _says_nothing_of(upstream: Upstream) -> Step:
    async def look(client: UpstreamClient) -> bool:
        return upstream in client._rests_until

    return look


@pytest.mark.parametrize(
    ("answer", "ends", "again"),
    [
        (Says({"success": True}), True, True),
        (Says({"success": False, "message": "no active completion for this id"}), True, True),
        (Says({"success": False, "message": "reasoning control not enabled"}), False, True),
        (NOT_FOUND, False, False),
    ],
)
def test_a_server_that_cannot_end_a_thought_gets_one_request(
    server: ByPathServer, answer: Says, ends: bool, again: bool
) -> None:
    servers, at = KnownServers(), _at(server)
    server.rows["/v1/chat/completions/control"] = answer
    assert _run(lambda one: one.end_thought(at, {}, SMALL, "chatcmpl-1"), servers=servers) == [ends]
    wanted = {"id": "chatcmpl-1", "action": "reasoning_end", "model": "small"}
    assert [json.loads(sent.body) for sent in server.requests] == [wanted]
    assert servers.takes_field(at, SMALL, CONTROL) is again
