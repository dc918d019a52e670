"""Replies, from the server to the client, by the addon's hooks."""

import gc
import gzip
import json
import re
import weakref
import zlib
from collections.abc import Callable
from typing import cast

import pytest
from mitmproxy.flow import Error
from mitmproxy.http import HTTPFlow
from mitmproxy.net import encoding

from converter.addon import http_messages
from converter.addon.hooks.tap import Tap
from converter.addon.keep.flow_record import RUNNING_RECORDS
from converter.addon.servers.profiles import by_name
from converter.core.wire.bounds import BODY_LIMIT
from tests.support.addon_flows import (
    BASIC,
    CHAT,
    EVENT_STREAM,
    JSON,
    MESSAGES,
    THINKING,
    answer,
    ask,
    exchanged,
    request,
    response,
    running,
    streaming,
    wait,
)
from tests.support.frames import DONE, ROLE, data, delta, finish, text, whole
from think_addon import ThinkAddon

BODY = whole("<think>a</think>b")
STREAM = b"".join(THINKING)
THOUGHT = {"type": "thinking", "thinking": "a", "signature": "think-addon"}


@pytest.mark.parametrize("path", [CHAT, MESSAGES, "/v1/responses", "/api/chat"])
def test_texts_are_freed_with_their_exchange_and_not_by_garbage_collection(path: str) -> None:
    body = {**BASIC, "stream": True} | ({"input": "Hi"} if path == "/v1/responses" else {})
    with running() as (addon, _):
        flow = ask(addon, request(path, body))
        record = weakref.ref(RUNNING_RECORDS[flow.id])
        gc.disable()
        try:
            assert answer(addon, flow, response(EVENT_STREAM), STREAM)
            assert record() is None
        finally:
            gc.enable()


def test_a_stream_is_rewritten_as_it_comes() -> None:
    with running() as (addon, _):
        flow = ask(addon, streaming(CHAT))
        flow.response = response(EVENT_STREAM)
        wait(addon.responseheaders(flow))
        tap = cast(Callable[[bytes], list[bytes]], flow.response.stream)
        assert tap(ROLE) == [ROLE]
        assert b'"reasoning_content":"a"' in b"".join(tap(text("<think>a")[0]))


@pytest.mark.parametrize("leaves", [False, True])
def test_a_broken_prompt_is_reported_of_a_client_that_leaves_at_the_last_event(
    caplog: pytest.LogCaptureFixture, leaves: bool
) -> None:
    caplog.set_level("INFO")
    with running() as (addon, _):
        for turns, hour in ((1, "13:05"), (3, "13:06")):
            turns_sent = [
                ("system", f"It is {hour}."),
                ("user", "Hi"),
                ("assistant", "b"),
                ("user", "?"),
            ]
            messages = [{"role": role, "content": text} for role, text in turns_sent[: 1 + turns]]
            flow = ask(addon, request(CHAT, {**BASIC, "stream": True, "messages": messages}))
            _streamed(addon, flow, leaves)
    [line] = [message for message in caplog.messages if "the cached prompt was broken" in message]
    assert "character 10: the date or the time; 37 of 40 tokens were read again" in line


def _streamed(addon: ThinkAddon, flow: HTTPFlow, leaves: bool) -> None:
    timings = {"prompt_n": 37, "cache_n": 3, "predicted_n": 2}
    counted = [ROLE, *text("b"), finish(), data({"choices": [], "timings": timings}), DONE]
    flow.response = response(EVENT_STREAM)
    wait(addon.responseheaders(flow))
    tap = cast(Callable[[bytes], list[bytes]], flow.response.stream)
    tap(b"".join(counted))
    if leaves:
        flow.error = Error("Client disconnected.")
        addon.error(flow)
        return
    tap(b"")
    wait(addon.response(flow))


def test_a_client_that_leaves_is_one_line_that_blames_nobody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    with running() as (addon, _):
        flow = ask(addon, request(MESSAGES, {**BASIC, "max_tokens": 9, "stream": True}))
        flow.response = response(EVENT_STREAM)
        wait(addon.responseheaders(flow))
        cast(Callable[[bytes], list[bytes]], flow.response.stream)(b"".join([ROLE, *text("b")]))
        flow.error = Error("Client disconnected.")
        addon.error(flow)
    lines = [line for line in caplog.messages if "disconnected" in line or "cut short" in line]
    assert len(lines) == 1
    assert re.match("reply: /v1/messages .*Client disconnected.$", lines[0])
    assert "Client disconnected" in flow.comment
    assert "cut short" not in flow.comment


def test_a_client_that_leaves_before_a_list_of_models_is_a_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    with running() as (addon, _):
        flow = ask(addon, request("/v1/models", b"", "GET"))
        flow.error = Error("Client disconnected.")
        addon.error(flow)
    assert [line for line in caplog.messages if "disconnected" in line] == [
        "think: GET /v1/models: Client disconnected."
    ]


@pytest.mark.parametrize("path", [CHAT, MESSAGES])
@pytest.mark.parametrize(
    ("status", "message", "remedy"),
    [
        (404, "The model `m` does not exist.", "--set 'think_models=*=qwen'"),
        (401, "Unauthorized", "THINK_KEY"),
        (404, "Not Found", ""),
    ],
)
def test_a_remedy_reaches_client_log_and_comment(
    path: str,
    status: int,
    message: str,
    remedy: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def models(*_: object) -> list[dict[str, object]]:
        return [{"id": "qwen"}]

    error = json.dumps({"error": {"message": message, "type": "Error"}}).encode()
    with running() as (addon, _):
        monkeypatch.setattr(addon._replies._upstream_client, "list_models", models)
        flow = ask(addon, request(path, {**BASIC, "max_tokens": 9}))
        answer(addon, flow, response(status=status), error)
    assert flow.response
    shown = json.loads(flow.response.content or b"")["error"]["message"]
    assert message.rstrip(".") in shown
    assert remedy in shown
    assert f"status {status}" in flow.comment
    assert any(remedy and remedy in line for line in caplog.messages) is bool(remedy)


@pytest.mark.parametrize(
    ("message", "is_due"), [("Client disconnected.", False), ("Server disconnected.", True)]
)
def test_a_server_that_has_gone_is_identified_anew(message: str, is_due: bool) -> None:
    with running() as (addon, _):
        flow = ask(addon, request(CHAT))
        servers, record = addon._replies._servers, RUNNING_RECORDS[flow.id]
        upstream = http_messages.upstream_of(flow, record.exchange)
        servers.learn_server(upstream, by_name("vllm"))
        flow.error = Error(message)
        addon.error(flow)
        assert servers.needs_recognition(upstream, 600, 600) is is_due


def test_a_script_that_is_loaded_anew_finishes_what_it_had_begun() -> None:
    with running() as (addon, _):
        flow, anew = ask(addon, request(MESSAGES)), ThinkAddon()
        assert answer(anew, flow, response(), BODY) is None
        assert flow.response
        assert json.loads(flow.response.content or b"")["content"][0] == THOUGHT


@pytest.mark.parametrize("kind", ["application/json", EVENT_STREAM])
def test_a_reply_that_another_addon_has_streamed_stays_as_it_went_out(kind: str) -> None:
    """Its head must: a client waits for the end that the head has announced."""
    with running() as (addon, _):
        flow = ask(addon, streaming() if kind == EVENT_STREAM else request(MESSAGES))
        flow.response = response(kind, transfer_encoding="chunked")
        wait(addon.responseheaders(flow))
        flow.response.stream = True
        before = flow.response.headers.copy()
        wait(addon.response(flow))
        assert (flow.response.status_code, flow.response.headers) == (200, before)
        assert "another addon has streamed" in flow.comment


def test_the_tap_never_returns_an_empty_piece_and_never_bytes() -> None:
    with running() as (addon, _):
        flow = ask(addon, streaming(CHAT))
        flow.response = response(EVENT_STREAM)
        wait(addon.responseheaders(flow))
        assert isinstance(flow.response.stream, Tap)
        chunks = [delta(content="<thi")[:9], delta(content="<thi")[9:], b": ping\n\n", b""]
        pieces = [flow.response.stream(chunk) for chunk in chunks]
        assert pieces[:2] == [[], []]
        assert all(isinstance(each, list) and all(each) for each in pieces)


def test_an_anthropic_client_that_requests_a_stream_gets_one() -> None:
    with running() as (addon, _):
        pieces = answer(addon, ask(addon, streaming()), response(EVENT_STREAM), STREAM)
        assert pieces
        frames = b"".join(pieces).split(b"\n\n")
        assert frames[0].startswith(b"event: message_start\n")
        assert frames[-2].startswith(b"event: message_stop\n")


HTTP_VERSIONS = {"HTTP/1.0": None, "HTTP/1.1": "chunked", "HTTP/2.0": None}


@pytest.mark.parametrize(("version", "chunked"), HTTP_VERSIONS.items())
@pytest.mark.parametrize("server", ["HTTP/1.0", "HTTP/1.1"])
def test_a_rewritten_stream_is_framed_as_the_clients_http_has_it(
    version: str, chunked: str | None, server: str
) -> None:
    with running() as (addon, _):
        client_flow = streaming(CHAT)
        client_flow.request.http_version = version
        flow = ask(addon, client_flow)
        flow.response = response(EVENT_STREAM, content_length="99")
        if server == "HTTP/1.1":
            flow.response.headers["transfer-encoding"] = "chunked"
        flow.response.http_version = server
        wait(addon.responseheaders(flow))
        assert flow.response.headers.get("transfer-encoding") == chunked
        assert "content-length" not in flow.response.headers


@pytest.mark.parametrize("path", [CHAT, "/v1/embeddings"])
def test_the_servers_connection_is_used_once_for_a_stream_unseen_by_the_client(path: str) -> None:
    with running() as (addon, _):
        flow, sent = ask(addon, request(path)), response(EVENT_STREAM, keep_alive="timeout=5")
        flow.response = sent
        wait(addon.responseheaders(flow))
        assert sent.headers["connection"] == "close"
        assert flow.response is not sent
        assert "connection" not in flow.response.headers


def test_the_servers_connection_is_kept_for_a_stream_of_one_that_keeps_it() -> None:
    with running() as (addon, _):
        flow, sent = ask(addon, request(CHAT)), response(EVENT_STREAM, server="uvicorn")
        flow.response = sent
        wait(addon.responseheaders(flow))
        assert "connection" not in sent.headers


def test_the_servers_connection_is_kept_for_a_whole_reply() -> None:
    with running() as (addon, _):
        flow, sent = ask(addon, request(CHAT)), response()
        answer(addon, flow, sent, BODY)
        assert flow.response is sent
        assert "connection" not in sent.headers


def test_a_whole_reply_is_rewritten_and_its_length_is_right() -> None:
    got = exchanged(request(CHAT), response(content_length=str(len(BODY)), x_vendor="v"), BODY)
    message = json.loads(got.content or b"")["choices"][0]["message"]
    assert message == {"role": "assistant", "content": "b", "reasoning_content": "a"}
    assert got.headers["content-length"] == str(len(got.raw_content or b""))
    assert (got.headers["content-type"], got.headers["x-vendor"], got.status_code) == (
        JSON,
        "v",
        200,
    )


PLAIN = {
    "a reply without thinking": (JSON, 200, whole("b")),
    "an error": (JSON, 500, b'{"error":{"message":"<think>a</think>"}}'),
}


@pytest.mark.parametrize(("content_type", "status", "body"), PLAIN.values(), ids=PLAIN)
def test_an_openai_client_gets_what_has_nothing_to_change_as_it_came(
    content_type: str, status: int, body: bytes
) -> None:
    got = exchanged(request(CHAT), response(content_type, status), body)
    assert (got.raw_content, got.status_code, dict(got.headers)) == (
        body,
        status,
        {"content-type": content_type},
    )


@pytest.mark.parametrize("content_type", ["", "text/plain", JSON])
def test_a_stream_by_another_name_is_recognised_by_how_it_begins(content_type: str) -> None:
    got = exchanged(streaming(CHAT), response(content_type), b"\n: ping\n\n" + STREAM)
    assert b'"reasoning_content":"a"' in (got.content or b"")
    assert (got.content or b"").endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize(("kind", "body"), [("text/html", b"<html>"), (JSON, b"")])
@pytest.mark.parametrize("send", [request, streaming])
def test_what_is_no_reply_is_an_error_for_an_openai_client(
    send: Callable[[str], HTTPFlow], kind: str, body: bytes
) -> None:
    got = exchanged(send(CHAT), response(kind), body)
    assert (got.status_code, got.headers["content-type"]) == (502, JSON)
    assert "server" in json.loads(got.content or b"")["error"]["message"]


def test_an_openai_client_that_requests_a_body_gets_one_of_a_stream() -> None:
    got = exchanged(request(CHAT), response(EVENT_STREAM), STREAM)
    [choice] = json.loads(got.content or b"")["choices"]
    assert choice["message"] == {"role": "assistant", "content": "b", "reasoning_content": "a"}
    assert (got.headers["content-type"], got.status_code) == (JSON, 200)


def test_an_anthropic_client_that_requests_a_message_gets_one_of_a_stream() -> None:
    got = exchanged(request(MESSAGES), response(EVENT_STREAM), STREAM)
    assert json.loads(got.content or b"")["content"] == [THOUGHT, {"type": "text", "text": "b"}]
    assert (got.headers["content-type"], got.status_code) == (JSON, 200)


def test_an_anthropic_client_that_requests_a_stream_gets_one_of_a_whole_reply() -> None:
    got = exchanged(streaming(), response(), BODY)
    assert (got.content or b"").startswith(b"event: message_start\n")
    assert got.headers["content-type"].startswith("text/event-stream")


ENCODINGS = ["gzip", "br", "zstd", "deflate"]


@pytest.mark.parametrize("path", [CHAT, MESSAGES])
@pytest.mark.parametrize("name", ENCODINGS)
def test_a_compressed_reply_is_rewritten_and_sent_uncompressed(path: str, name: str) -> None:
    got = exchanged(request(path), response(content_encoding=name), encoding.encode(BODY, name))
    assert "content-encoding" not in got.headers
    assert b'"a"' in (got.raw_content or b"")
    assert b"<think>" not in (got.raw_content or b"")


@pytest.mark.parametrize("name", ENCODINGS)
def test_a_compressed_reply_with_nothing_to_change_stays_compressed(name: str) -> None:
    packed = encoding.encode(whole("b"), name)
    got = exchanged(request(CHAT), response(content_encoding=name), packed)
    assert (got.raw_content, got.headers["content-encoding"]) == (packed, name)


@pytest.mark.slow
def test_a_compressed_reply_is_read_up_to_the_limit_of_any() -> None:
    """A hundred kilobytes may hold gigabytes."""
    packed = encoding.encode(whole("b" * (BODY_LIMIT + 1)), "zstd")
    got = exchanged(request(MESSAGES), response(content_encoding="zstd"), packed)
    assert (got.status_code, len(got.raw_content or b"") < 999) == (502, True)


@pytest.mark.parametrize("path", [CHAT, MESSAGES])
def test_a_compressed_stream_is_rewritten_when_it_is_all_there(path: str) -> None:
    flow = streaming(path)
    got = exchanged(flow, response(EVENT_STREAM, content_encoding="gzip"), gzip.compress(STREAM))
    assert "content-encoding" not in got.headers
    assert b"<think>" not in (got.raw_content or b"")
    assert b"thinking_delta" in (got.raw_content or b"") or b"reasoning_content" in (
        got.raw_content or b""
    )


@pytest.mark.parametrize("name", [*ENCODINGS, "x-unknown"])
def test_a_reply_that_is_not_compressed_as_it_says_is_read_as_it_is(name: str) -> None:
    got = exchanged(request(MESSAGES), response(content_encoding=name), BODY)
    assert json.loads(got.raw_content or b"")["content"][0] == THOUGHT
    assert "content-encoding" not in got.headers


def test_a_reply_cut_off_in_its_compression_is_an_error_for_an_anthropic_client() -> None:
    got = exchanged(request(MESSAGES), response(content_encoding="gzip"), gzip.compress(BODY)[:-20])
    assert (got.status_code, json.loads(got.content or b"")["type"]) == (502, "error")


def test_a_stream_declared_uncompressed_is_live() -> None:
    with running() as (addon, _):
        assert answer(
            addon,
            ask(addon, streaming()),
            response(EVENT_STREAM, content_encoding="identity"),
            STREAM,
        )


def test_deflate_without_its_header_is_read_as_well() -> None:
    packed = zlib.compress(BODY)[2:-4]
    got = exchanged(request(MESSAGES), response(content_encoding="deflate"), packed)
    assert json.loads(got.raw_content or b"")["content"][0] == THOUGHT


def test_calls_that_were_read_from_the_text_are_in_the_comment() -> None:
    tool = {"type": "function", "function": {"name": "now", "parameters": {}}}
    called = '<tool_call>{"name": "now", "arguments": {}}</tool_call>'
    with running() as (addon, _):
        flow = ask(addon, request(CHAT, {"model": "small", "messages": [], "tools": [tool]}))
        answer(addon, flow, response(), whole(called))
    assert flow.comment == "1 call read from text: hermes"
