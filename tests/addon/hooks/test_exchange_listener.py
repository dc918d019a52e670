"""The addon's answers to our layers: errors in the dialect, early heads, late text."""

import gc
import json

import pytest
from mitmproxy.http import Response
from mitmproxy.proxy.mode_specs import ProxyMode

from converter.addon.hooks.exchange_listener import ExchangeListener
from converter.addon.hooks.tap import Tap
from tests.support.addon_flows import (
    CHAT,
    EVENT_STREAM,
    MESSAGES,
    ask,
    begin,
    request,
    running,
    streaming,
    wait,
)
from think_addon import ThinkAddon

STREAM = {"stream": True, "messages": []}


def listener(addon: ThinkAddon) -> ExchangeListener:
    return addon._listener


@pytest.mark.parametrize("path", [CHAT, MESSAGES])
def test_a_server_that_is_not_there_is_named(path: str) -> None:
    with running() as (addon, _):
        flow = ask(addon, request(path))
        answer = listener(addon).make_error(flow, "[Errno 111] Connect call failed ('x', 1)")
        assert answer
        assert (answer.status_code, answer.headers["content-type"]) == (502, "application/json")
        message = json.loads(answer.content or b"")["error"]["message"]
        assert message == "no model server at http://localhost:8000: connection refused"


def test_a_server_that_hung_up_at_once_is_worth_another_try() -> None:
    with running() as (addon, _):
        flow = ask(addon, request(MESSAGES))
        answer = listener(addon).make_error(flow, "server closed connection")
        assert answer
        assert answer.status_code == 529
        assert json.loads(answer.content or b"")["error"]["type"] == "overloaded_error"


def test_what_is_not_ours_is_left_to_mitmproxy_by_a_forward_proxy() -> None:
    with running() as (addon, _):
        flow = ask(addon, request("/v1/unknown"))
        flow.client_conn.proxy_mode = ProxyMode.parse("regular")
        assert listener(addon).make_error(flow, "server closed connection") is None
        assert listener(addon).early_head(flow) is None


def test_before_one_server_all_that_fails_is_an_error_in_json() -> None:
    with running() as (addon, _):
        answer = listener(addon).make_error(ask(addon, request("/v1/models")), "no answer")
        assert answer
        assert "message" in json.loads(answer.content or b"")["error"]


def test_the_clients_host_is_taken_once() -> None:
    with running() as (addon, _):
        flow = request(CHAT)
        listener(addon).hosts[flow] = "here"
        begin(addon, flow)
        assert flow not in listener(addon).hosts


def test_a_host_that_nobody_asks_for_is_forgotten_with_its_flow() -> None:
    """So is that of each CONNECT."""
    with running() as (addon, _):
        flow = request(CHAT)
        listener(addon).hosts[flow] = "here"
        assert len(listener(addon).hosts) == 1
        del flow
        gc.collect()
        assert len(listener(addon).hosts) == 0


def test_silence_is_as_long_as_the_option_says() -> None:
    with running(ping="7") as (addon, _):
        assert listener(addon).seconds_of_silence == 7


def test_a_stream_begins_early_only_when_somebody_wants_it() -> None:
    with running() as (addon, _):
        assert listener(addon).early_head(ask(addon, streaming())) is None
    with running(ping="10,early") as (addon, _):
        assert listener(addon).early_head(ask(addon, request(MESSAGES))) is None
        assert listener(addon).early_head(ask(addon, request(CHAT))) is None
        for flow in (ask(addon, streaming()), ask(addon, request(CHAT, STREAM))):
            head = listener(addon).early_head(flow)
            assert head
            assert isinstance(head.stream, Tap)
            assert head.headers["content-type"].startswith(EVENT_STREAM)
            assert "content-length" not in head.headers
            assert head.stream.ping()


def test_a_late_error_has_the_servers_message() -> None:
    with running(ping="10,early") as (addon, _):
        flow = ask(addon, streaming())
        head = listener(addon).early_head(flow)
        assert head
        assert isinstance(head.stream, Tap)
        flow.response = Response.make(400, b'{"error": {"message": "too long"}}')
        sent = b"".join(listener(addon).last_pieces(flow, head.stream))
        assert sent.startswith(b"event: error\n")
        assert b"status 400: too long" in sent


def test_a_whole_reply_that_became_a_stream_goes_on_as_one() -> None:
    with running(ping="10,early") as (addon, _):
        flow = ask(addon, streaming())
        head = listener(addon).early_head(flow)
        assert head
        assert isinstance(head.stream, Tap)
        flow.response = Response.make(200, b"data: x\n\n", {"content-type": EVENT_STREAM})
        assert listener(addon).last_pieces(flow, head.stream) == [b"data: x\n\n"]


@pytest.mark.parametrize("path", [CHAT, MESSAGES, "/v1/responses", f"{MESSAGES}/count_tokens"])
def test_a_request_that_is_too_large_is_answered_in_its_dialect(path: str) -> None:
    with running(limits=["request_mb=1"]) as (addon, _):
        flow = request(path)
        begin(addon, flow)
        assert listener(addon).allows_size(flow, 1024 * 1024)
        assert not listener(addon).allows_size(flow, 1024 * 1024 + 1)
        assert not listener(addon).allows_size(flow, 5)  # the rest of it
        wait(addon.request(flow))
        assert flow.response
        assert flow.response.status_code == 413
        error = json.loads(flow.response.content or b"")["error"]
        assert "more than 1 megabytes; think_limits=request_mb=" in error["message"]


def test_a_request_that_is_not_ours_may_be_of_any_size() -> None:
    with running(limits=["request_mb=1"]) as (addon, _):
        flow = request("/api/blobs/sha256")
        begin(addon, flow)
        assert listener(addon).allows_size(flow, 10**12)


def test_without_a_limit_a_request_may_be_of_any_size() -> None:
    with running(limits=["request_mb=0"]) as (addon, _):
        flow = request(CHAT)
        begin(addon, flow)
        assert listener(addon).allows_size(flow, 10**12)
