"""One exchange: its proper end, whatever the server does, and no long silence."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from mitmproxy import flow as mitmproxy_flow
from mitmproxy.http import HTTPFlow, Response

from converter.addon.layers import promises
from converter.addon.layers.guard import ResponseData
from converter.addon.layers.promises import BodyBuffer
from converter.addon.layers.stream_turns import UnfinishedHook
from tests.support.proxy_core import END, HEAD, Core, Marker, Says, chunk


def test_beyond_the_limit_nothing_more_of_a_body_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(promises, "BODY_LIMIT", 10)
    buffer = BodyBuffer()  # type: ignore[no-untyped-call]  # theirs
    buffer += b"ababababab"
    assert (bytes(buffer), buffer.fault) == (b"ababababab", "")
    for _ in range(100):
        buffer += b"abc"
    assert bytes(buffer) == b"ababababababc"
    assert buffer.fault.startswith("reply too long: more than ")
    buffer.clear()  # type: ignore[no-untyped-call]  # theirs
    buffer += b"a"
    assert (bytes(buffer), buffer.fault) == (b"a", "")


ABORTED = b"<held><abort: "


def streaming(core: Core, function: Marker | None = None) -> Marker:
    """A stream of which one chunk has come."""
    function = function or Marker()
    core.streams_with(function)
    core.ask()
    core.answer(HEAD)
    core.answer(chunk(b"a"))
    assert core.received().endswith(b"" if function.silent else chunk(b"<a>"))
    return function


def broken(core: Core, how: str) -> None:
    """The server breaks its stream off."""
    if how == "closed":
        core.server_closes()
    elif how == "in a chunk":
        core.answer(b"5\r\nab")
        core.server_closes()
    else:
        core.answer(how.encode())


@pytest.mark.parametrize("how", ["closed", "zz\r\n", "1\r\nab\r\n", "-1\r\n"])
def test_a_stream_that_breaks_off_ends_properly(how: str) -> None:
    with Core() as core:
        streaming(core)
        broken(core, how)
        sent = core.received()
        assert ABORTED in sent
        assert sent.endswith(END)
        assert core.named[-1] == "error"
        assert core.client not in core.closed


def test_an_empty_frame_of_http_2_is_no_end() -> None:
    with Core() as core:
        function = streaming(core)
        list(core.layer.event_to_child(core.layer.streams[1], ResponseData(1, b"")))
        core.answer(chunk(b"b") + END)
        assert function.calls == [b"a", b"b", b""]


def test_data_before_the_break_is_sent() -> None:
    with Core() as core:
        streaming(core)
        broken(core, "in a chunk")
        before, _, rest = core.received().partition(chunk(b"<ab>"))
        assert before == b""
        assert ABORTED in rest


def test_the_error_hook_comes_after_the_last_bytes() -> None:
    with Core() as core:
        streaming(core)
        sent: list[bytes] = []
        core.hooks["error"] = lambda _: sent.append(core.received())
        core.server_closes()
        assert ABORTED in sent[0]
        assert core.received() == END


@pytest.mark.parametrize("streams", [True, False])
def test_a_connection_that_closes_after_a_fault_is_reported_once(streams: bool) -> None:
    with Core() as core:
        core.streams_with(Marker() if streams else False)
        core.hold = "error"
        core.ask()
        core.answer(HEAD + chunk(b"a") + b"zz\r\n")
        core.server_closes()
        core.release()
        assert core.named.count("error") == 1
        assert core.client not in core.closed
        core.ask()
        assert len(core.servers) == 2


def test_after_a_broken_stream_the_next_request_is_answered() -> None:
    with Core() as core:
        streaming(core)
        core.server_closes()
        core.received()
        streaming(core)
        core.answer(END)
        assert core.received() == chunk(b"<end>") + END
        assert len(core.servers) == 2


def test_a_client_that_leaves_is_sent_nothing() -> None:
    with Core() as core:
        streaming(core)
        core.client_leaves()
        assert core.received() == b""
        assert core.flows[0].error
        assert core.servers[0] in core.closed


def test_a_stream_of_another_addon_is_left_to_mitmproxy() -> None:
    with Core() as core:
        core.streams_with(lambda data: data.upper())
        core.ask()
        core.answer(HEAD + chunk(b"a"))
        assert core.received().endswith(chunk(b"A"))
        core.server_closes()
        assert core.received() == b""
        assert core.client in core.closed


def test_a_missing_server_is_reported_in_the_dialect() -> None:
    with Core() as core:
        core.refuse = "[Errno 111] Connect call failed"
        core.ask()
        sent = core.received()
        assert sent.startswith(b"HTTP/1.1 502 Bad Gateway\r\ncontent-type: a/json\r\n")
        assert sent.endswith(b"{[Errno 111] Connect call failed}")
        assert core.client not in core.closed
        response = core.flows[0].response
        assert response
        assert response.status_code == 502


def test_a_server_that_came_up_answers_the_same_client() -> None:
    with Core() as core:
        core.refuse = "refused"
        core.ask()
        core.ask()
        assert core.received().count(b"{refused}") == 2
        core.refuse = ""
        core.ask()
        core.answer(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\na")
        assert core.received().endswith(b"\r\n\r\na")


def test_what_is_not_ours_gets_the_page_of_mitmproxy() -> None:
    with Core(Says(fails=False)) as core:
        core.refuse = "refused"
        core.ask()
        assert b"<h1>502 Bad Gateway</h1>" in core.received()
        assert core.client in core.closed


@pytest.mark.parametrize("part", [b"", b"HTTP/1.1 200 OK\r\nx", HEAD + chunk(b"a")])
def test_a_whole_reply_that_breaks_off_is_an_error(part: bytes) -> None:
    with Core() as core:
        core.ask()
        if part:
            core.answer(part)
        core.server_closes()
        assert core.received().startswith(b"HTTP/1.1 502 ")
        assert core.named[-1] == "error"


def test_headers_that_mitmproxy_refuses_are_reported_in_the_dialect() -> None:
    with Core() as core:
        core.ask()
        core.answer(BAD_HEAD)
        assert b"\r\ncontent-type: a/json\r\n" in core.received()


def test_a_reply_beyond_the_limit_is_reported_in_the_dialect() -> None:
    with Core(body_size_limit="3") as core:
        core.ask()
        core.answer(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n")
        assert b"body_size_limit.}" in core.received()


def test_a_request_beyond_the_limit_is_left_to_mitmproxy() -> None:
    with Core(body_size_limit="1") as core:
        core.ask()
        assert core.received().startswith(b"HTTP/1.1 413 ")


def test_a_flow_that_a_person_kills_just_ends() -> None:
    def kill(flow: HTTPFlow) -> None:
        flow.error = mitmproxy_flow.Error(mitmproxy_flow.Error.KILLED_MESSAGE)

    with Core() as core:
        core.hooks["request"] = kill
        core.ask()
        assert core.received() == b""
        assert core.client in core.closed


def test_the_clients_own_host_is_noted_before_mitmproxy_replaces_it() -> None:
    with Core() as core:
        sent: list[object] = []
        core.hooks["requestheaders"] = lambda flow: sent.append(
            (core.listener.hosts[flow], flow.request.host_header)
        )
        core.ask()
        assert sent == [("x", "127.0.0.1:8000")]


def test_a_request_that_is_streamed_reaches_its_server() -> None:
    with Core() as core:
        core.hooks["requestheaders"] = lambda flow: setattr(flow.request, "stream", True)
        core.ask()
        assert core.sent[-1] == b"{}"
        core.answer(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\na")
        assert core.received().endswith(b"\r\n\r\na")


def test_a_request_that_is_streamed_to_nobody_gets_the_page_of_mitmproxy() -> None:
    with Core() as core:
        core.hooks["requestheaders"] = lambda flow: setattr(flow.request, "stream", True)
        core.refuse = "refused"
        core.ask()
        assert core.received().startswith(b"HTTP/1.1 502 ")


def test_while_the_reply_comes_no_ping_goes_out(clock: list[float]) -> None:
    with Core() as core:
        streaming(core)
        clock[0] += 9
        core.answer(chunk(b"b"))
        clock[0] += 2
        core.tick()
        assert core.received() == chunk(b"<b>")
        assert core.timers[-1].delay == pytest.approx(8, abs=0.1)


def test_where_no_ping_may_stand_none_goes_out(clock: list[float]) -> None:
    with Core() as core:
        streaming(core, Marker(silent=True))
        clock[0] += 10
        core.tick()
        assert core.received() == b""


@pytest.mark.parametrize("early", [None, True], ids=["late", "no stream function"])
def test_before_the_head_nothing_goes_out(early: Any, clock: list[float]) -> None:
    with Core(Says(starts_early=early)) as core:
        core.ask()
        clock[0] += 10
        core.tick()
        assert core.received() == b""


def test_with_early_start_the_stream_begins_in_silence(clock: list[float]) -> None:
    with Core(Says(starts_early=Marker())) as core:
        core.ask()
        for _ in range(2):
            clock[0] += 10
            core.tick()
        assert core.received().endswith(b"\r\n\r\n" + chunk(b"<ping>") * 2)
        streaming_late = Marker()
        core.streams_with(streaming_late)
        core.answer(HEAD + chunk(b"a"))
        core.answer(chunk(b"b") + END)
        assert core.received() == chunk(b"<a>") + chunk(b"<b>") + chunk(b"<end>") + END
        assert core.named == ["requestheaders", "request", "responseheaders", "response"]


BAD_HEAD = HEAD.replace(b"transfer-encoding", b"content-length: 1\r\ntransfer-encoding")
FAILURES: dict[str, tuple[bytes, bytes]] = {
    "a status": (b"HTTP/1.1 400 Bad\r\ncontent-length: 3\r\n\r\nno!", b"<late: 400 no!>"),
    "nothing": (b"", b"<held><abort: server closed connection>"),
    "bad headers": (BAD_HEAD, ABORTED),
}


@pytest.mark.parametrize(("answer", "sent"), FAILURES.values(), ids=FAILURES)
def test_a_failure_after_an_early_start_is_reported_in_the_stream(
    answer: bytes, sent: bytes, clock: list[float]
) -> None:
    with Core(Says(starts_early=Marker())) as core:
        core.ask()
        clock[0] += 10
        core.tick()
        core.received()
        if answer:
            core.answer(answer)
        else:
            core.server_closes()
        reported = core.received()
        assert sent in reported
        assert reported.endswith(END)


def test_what_was_sent_is_stored_where_bodies_are(clock: list[float]) -> None:
    with Core(store_streamed_bodies=True) as core:
        streaming(core)
        clock[0] += 10
        core.tick()
        core.answer(chunk(b"b") + END)
        assert core.flows[0].response
        assert core.flows[0].response.raw_content == b"<a><ping><b><end>"


def test_reads_during_a_hook_wait_for_it() -> None:
    with Core() as core:
        core.streams_with(Marker())
        core.hold = "responseheaders"
        core.ask()
        core.answer(HEAD + chunk(b"a"))
        core.answer(chunk(b"b"))
        assert core.received() == b""
        core.release()
        core.answer(chunk(b"c"))
        sent = core.received()
        assert sent.endswith(chunk(b"<a>") + chunk(b"<b>") + chunk(b"<c>"))


def test_a_break_during_a_hook_waits_for_it() -> None:
    with Core() as core:
        core.streams_with(Marker())
        core.hold = "responseheaders"
        core.ask()
        core.answer(HEAD + chunk(b"a"))
        core.server_closes()
        core.release()
        sent = core.received()
        assert chunk(b"<a>") in sent
        assert ABORTED in sent
        assert sent.endswith(END)


def test_of_a_request_that_is_too_long_the_beginning_is_held_and_the_hook_answers() -> None:
    def answer(flow: HTTPFlow) -> None:
        flow.response = Response.make(413, b"too large")

    with Core(Says(longest_request=10)) as core:
        core.hooks["request"] = answer
        core.ask(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 24\r\n\r\n12345678")
        core.ask(b"12345678")
        core.ask(b"12345678")
        assert core.received().endswith(b"\r\n\r\ntoo large")
        assert core.flows[0].request.raw_content == b"12345678"
        assert core.sent == []
        core.hooks.clear()
        core.ask()  # the connection is as good as before
        assert core.sent


def test_a_whole_reply_that_is_too_long_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(promises, "BODY_LIMIT", 100)
    with Core() as core:
        core.ask()
        core.answer(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n" + b"x" * 90)
        assert core.received() == b""
        core.answer(b"x" * 20)
        assert b"{reply too long: " in core.received()
        assert core.servers[-1] in core.closed


def test_of_a_stream_that_is_kept_only_the_first_bytes_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(promises, "BODY_LIMIT", 100)
    for function in (Marker(), True):
        with Core(store_streamed_bodies=True) as core:
            core.streams_with(function)
            core.ask()
            core.answer(HEAD)
            for _ in range(50):
                core.answer(chunk(b"x" * 10))
            assert len(core.received()) > 500
            core.answer(END)
            assert core.flows[0].response
            assert 100 < len(core.flows[0].response.raw_content or b"") < 130


@pytest.mark.parametrize(
    ("then", "sent"),
    [
        (lambda core: core.answer(chunk(b"c")), [chunk(b"<c>")]),
        (lambda core: core.answer(END), [chunk(b"<end>"), END]),
        (Core.server_closes, [ABORTED, END]),
    ],
    ids=["data", "the end", "a break"],
)
def test_a_long_call_runs_beside_the_loop_and_later_events_wait_for_it(
    then: Callable[[Core], object], sent: list[bytes]
) -> None:
    async def long() -> None:
        with Core() as core:
            function = streaming(core)
            function.is_long = True
            core.hold = "think_unfinished_hook"
            core.answer(chunk(b"b"))
            then(core)
            assert core.received() == b""
            (hook,) = core.held
            assert isinstance(hook, UnfinishedHook)
            await hook.task
            function.is_long = False
            core.release()
            received = core.received()
            assert received.startswith(chunk(b"<b>"))
            assert sent[0] in received
            assert received.endswith(sent[-1])
            assert function.beside_calls == [b"b"]

    asyncio.run(long())


def test_a_long_end_runs_beside_the_loop_once() -> None:
    async def long() -> None:
        with Core() as core:
            function = streaming(core)
            function.is_long = True
            core.hold = "think_unfinished_hook"
            core.answer(END)
            (hook,) = core.held
            assert isinstance(hook, UnfinishedHook)
            await hook.task
            core.release()
            assert core.received() == chunk(b"<end>") + END
            assert function.calls == [b"a", b""]
            assert core.named[-1] == "response"

    asyncio.run(long())
