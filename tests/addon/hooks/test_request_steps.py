"""Requests, from the client to the server or to an answer, by the addon's hooks."""

import json
import logging
import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from mitmproxy.http import Response

from converter.addon.aside import AT_ONCE, BODY_THREAD
from converter.addon.exchange.exchange import Kind
from converter.addon.hooks import request_steps
from converter.addon.hooks.request_steps import STEPS, PendingRequest, Step
from converter.addon.keep.flow_record import RUNNING_RECORDS
from converter.addon.memory.known_turns import SHORT, KnownTurns
from converter.addon.probes.upstream_client import UpstreamClient
from converter.addon.servers.unread_replies import COMPLETION_PATH, RENDERED
from converter.core.model.memory import AwayError, Memory
from converter.core.wire import json_text
from tests.support.addon_flows import (
    BASIC,
    CHAT,
    MESSAGES,
    answer,
    ask,
    begin,
    request,
    response,
    running,
)
from tests.support.frames import USAGE, stream, whole
from think_addon import ThinkAddon


@pytest.mark.parametrize("path", [CHAT, MESSAGES])
def test_uncompressed_replies_are_requested(path: str) -> None:
    with running() as (addon, _):
        assert (
            ask(addon, request(path, accept_encoding="gzip, br")).request.headers["accept-encoding"]
            == "identity"
        )


def test_a_chat_request_is_not_changed_otherwise() -> None:
    with running() as (addon, _):
        flow = ask(addon, request(CHAT, b"<think>{", x_api_key="k", content_type="x/y"))
        assert flow.request.raw_content == b"<think>{"
        assert (
            flow.request.path,
            flow.request.headers["x-api-key"],
            flow.request.headers["content-type"],
        ) == (CHAT, "k", "x/y")


@pytest.mark.parametrize("prefix", ["", "/a/b"])
def test_a_messages_request_becomes_a_chat_completion(prefix: str) -> None:
    with running() as (addon, _):
        sent = ask(addon, request(f"{prefix}{MESSAGES}?beta=true", content_type="x/y")).request
        assert sent.path == f"{prefix}{CHAT}"
        assert json.loads(sent.raw_content or b"")["messages"] == [
            {"role": "user", "content": "Hi"}
        ]
        assert sent.headers["content-length"] == str(len(sent.raw_content or b""))
        assert sent.headers["content-type"] == "application/json"


@pytest.mark.parametrize("key", ["same", "other"])
def test_a_next_turn_goes_out_as_if_it_were_the_first(key: str) -> None:
    turns = [("user", "a" * SHORT), ("assistant", "b"), ("user", "c"), ("assistant", "d")]
    messages = [{"role": role, "content": [{"type": "text", "text": text}]} for role, text in turns]
    bodies = [{**BASIC, "messages": messages[: at + 1]} for at in range(4)]
    with running() as (addon, _):
        sent = [
            ask(addon, request(MESSAGES, json.dumps(body).encode(), x_api_key=name)).request
            for body, name in zip(bodies, ["same", "same", key, key], strict=True)
        ]
    for body, one in zip(bodies, sent, strict=True):
        with running() as (addon, _):
            alone = ask(addon, request(MESSAGES, json.dumps(body).encode())).request
            assert one.raw_content == alone.raw_content


def _talked(path: str, forgets: bool) -> list[bytes]:
    """Return what the server is sent in three turns of a client that drops thoughts."""
    messages = [{"role": "user", "content": "a" * SHORT}]
    sent = list[bytes]()
    with running(memory="memory:") as (addon, _):
        for turn in range(3):
            if forgets:
                addon._requests._turns = KnownTurns()
            body = {**BASIC, "model": "GLM-4.7", "messages": messages}
            flow = ask(addon, request(path, body))
            sent.append(flow.request.raw_content or b"")
            answer(addon, flow, response(), whole(f"<think>thought {turn}</think>words {turn}"))
            reply = {"role": "assistant", "content": f"words {turn}"}
            messages = [*messages, reply, {"role": "user", "content": "more"}]
    return sent


@pytest.mark.parametrize("path", [CHAT, MESSAGES])
def test_thoughts_are_put_back_into_a_next_turn_as_into_the_first(path: str) -> None:
    sent = _talked(path, forgets=False)
    assert [b"thought 1" in body for body in sent] == [False, False, True]
    assert [json.loads(body) for body in sent] == [*map(json.loads, _talked(path, forgets=True))]


_TOOL = {"type": "function", "function": {"name": "f", "strict": True, "parameters": {}}}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"tools": "told"},
        {"prompt": "tags"},
        {"fields": ["text"]},
        {"native": ["messages", "responses"]},
    ],
)
@pytest.mark.parametrize("model", ["GLM-4.7", "Kimi-K2-Thinking", "small"])
@pytest.mark.parametrize("path", [CHAT, MESSAGES, "/v1/responses", "/api/chat"])
def test_nobody_changes_a_value_that_the_next_request_shares(
    path: str, model: str, options: dict[str, object]
) -> None:
    tool = _TOOL if path in (CHAT, "/api/chat") else {**_TOOL, "name": "f", "input_schema": {}}
    tool = {**tool, "type": "custom"} if path == MESSAGES else tool
    calls = [{"id": "call", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    called = {"role": "assistant", "content": "", "tool_calls": calls} if path == CHAT else None
    reply = {"role": "assistant", "content": "words"}
    turns = [{"role": "user", "content": "\\ud83d" + "a" * SHORT}, called or reply]
    turns += [{"role": "tool", "tool_call_id": "call", "content": "1"}] if called else []
    with running(memory="memory:", **options) as (addon, _):
        for _turn in range(3):
            messages = {"input" if path == "/v1/responses" else "messages": turns}
            flow = ask(addon, request(path, {**BASIC, "model": model, "tools": [tool], **messages}))
            assert flow.response is None
            answer(addon, flow, response(), whole("<think>a thought</think>words"))
            turns = [*turns, reply, {"role": "user", "content": "more"}]
        kept = [each.request for each in addon._requests._turns._kept]
    assert kept
    for entry in kept:
        for first, end, value in entry.members.values():
            assert value == json.loads(entry.data[first:end])
        for each in entry.lists.values():
            spans = [(each.begin + first, each.begin + end) for first, end in each.spans]
            assert each.values == [json.loads(entry.data[first:end]) for first, end in spans]


@pytest.mark.parametrize(("key", "status"), [("mine", None), ("other", 400)])
def test_a_reply_that_is_kept_belongs_to_its_key(key: str, status: int | None) -> None:
    body = {"model": "small", "input": "Hi"}
    with running() as (addon, _):
        flow = ask(addon, request("/v1/responses", body, x_api_key="mine"))
        answer(addon, flow, response(), whole("b"))
        assert flow.response
        kept = json.loads(flow.response.content or b"")["id"]
        goes_on = {**body, "previous_response_id": kept}
        refused = ask(addon, request("/v1/responses", goes_on, x_api_key=key)).response
        assert (refused and refused.status_code) == status


@pytest.mark.parametrize("path", [CHAT, MESSAGES])
@pytest.mark.parametrize(("length", "kept"), [(1, 0), (SHORT, 1)])
def test_a_short_request_is_not_kept(path: str, length: int, kept: int) -> None:
    with running() as (addon, _):
        ask(
            addon, request(path, {**BASIC, "messages": [{"role": "user", "content": "a" * length}]})
        )
        assert len(addon._requests._turns._kept) == kept


@pytest.mark.parametrize("path", [CHAT, MESSAGES, "/v1/responses", "/api/chat"])
@pytest.mark.parametrize(
    ("text", "times", "in_a_thread"), [("word " * 400, 100, False), ("hi", 5000, True)]
)
def test_a_long_request_of_few_messages_is_read_and_written_in_the_loop(
    path: str, text: str, times: int, in_a_thread: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    works = []

    def submit(work: Callable[[], object]) -> Future[object]:
        works.append(work)
        return ThreadPoolExecutor.submit(BODY_THREAD, work)

    monkeypatch.setattr(BODY_THREAD, "submit", submit)
    messages = [{"role": "user", "content": text}] * times
    with running() as (addon, _):
        others = Memory(store=addon._requests._store, owner="another")
        others.keep("kept", b"a" * (AT_ONCE + 1))
        flow = ask(addon, request(path, {**BASIC, "messages": messages, "input": messages}))
        sent = json.loads(flow.request.content or b"")["messages"]
    assert "".join(str(each["content"]) for each in sent).count(text) == times
    assert bool(works) is in_a_thread


@pytest.mark.parametrize("path", [CHAT, MESSAGES])
def test_a_request_goes_without_thoughts_where_the_memory_is_away(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys: list[str] = []

    def away(_: object, key: str) -> bytes:
        keys.append(key)
        raise AwayError("gone")

    monkeypatch.setattr(Memory, "get", away)
    messages = [{"role": role, "content": "a"} for role in ("user", "assistant", "user")]
    with running(memory=f"sqlite:{tmp_path / 'replies'}") as (addon, _):
        for model in ("small", "GLM-4.7"):
            flow = ask(addon, request(path, {**BASIC, "model": model, "messages": messages}))
            assert flow.response is None
            assert json.loads(flow.request.content or b"")["messages"] == messages
            assert len(keys) == (model != "small")
        addon._requests._store.close()


def test_a_long_request_for_a_counterpart_is_read_in_a_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads, reading = [], json_text.read

    def read(body: bytes) -> object:
        threads.append(threading.current_thread())
        return reading(body)

    monkeypatch.setattr(json_text, "read", read)
    with running() as (addon, _):
        flow = ask(addon, request("/api/embed", {"model": "m", "input": ["a"] * AT_ONCE}))
        assert len(json.loads(flow.request.content or b"")["input"]) == AT_ONCE
    assert threads
    assert threading.main_thread() not in threads


def test_a_compressed_request_is_read_and_sent_uncompressed() -> None:
    with running() as (addon, _):
        flow = request(MESSAGES)
        flow.request.headers["content-encoding"] = "gzip"
        flow.request.content = json.dumps(BASIC).encode()
        assert b"small" not in (flow.request.raw_content or b"")
        sent = ask(addon, flow).request
        assert "content-encoding" not in sent.headers
        assert json.loads(sent.raw_content or b"")["model"] == "small"


@pytest.mark.parametrize("path", [MESSAGES, CHAT, "/v1/conversations"])
def test_a_compressed_request_may_hold_no_more_than_others(path: str) -> None:
    for limit, status in ((1, 413), (0, None)):
        with running(limits=[f"request_mb={limit}"]) as (addon, _):
            flow = request(path)
            flow.request.headers["content-encoding"] = "gzip"
            flow.request.content = json.dumps({**BASIC, "rest": "x" * (1 << 20)}).encode()
            assert len(flow.request.raw_content or b"") < 9999
            answered = ask(addon, flow).response
            assert (answered and answered.status_code) == status or path == "/v1/conversations"


KEYS = {
    "a key becomes a bearer token": ({"x_api_key": "k"}, "Bearer k"),
    "a bearer token is kept": ({"authorization": "Bearer t"}, "Bearer t"),
    "a bearer token wins": ({"x_api_key": "k", "authorization": "Basic b"}, "Basic b"),
    "no key is none": ({}, None),
}


@pytest.mark.parametrize(("headers", "expected"), KEYS.values(), ids=KEYS)
def test_credentials(headers: dict[str, str], expected: str | None) -> None:
    with running() as (addon, _):
        sent = ask(addon, request(MESSAGES, **headers)).request.headers
        assert (sent.get("authorization"), sent.get("x-api-key")) == (expected, None)


BROKEN = {
    "no JSON": (b"{", ""),
    "no object": (b"[]", ""),
    "nothing": (b"", ""),
    "no messages": ({**BASIC, "messages": []}, "messages"),
    "an unknown role": (
        {**BASIC, "messages": [{"role": "tool", "content": "a"}]},
        "messages.0.role",
    ),
    "deep nesting": (b'{"messages":' + b"[" * 100_000, ""),
}


@pytest.mark.parametrize(("body", "field"), BROKEN.values(), ids=BROKEN)
def test_a_request_that_breaks_the_format_is_refused_and_does_not_reach_the_server(
    body: object, field: str
) -> None:
    with running() as (addon, _):
        flow = ask(addon, request(MESSAGES, body))
        assert flow.response
        error = json.loads(flow.response.content or b"")
        assert (flow.response.status_code, error["type"], error["error"]["type"]) == (
            400,
            "error",
            "invalid_request_error",
        )
        assert field in error["error"]["message"]
        assert flow.request.path == MESSAGES


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"model": "m", "input": "a", "truncate": True, "keep_alive": 5}, "truncate, keep_alive"),
        ({"model": "m", "input": 5}, "input: Input should be a string or an array of strings"),
    ],
    ids=["dropped", "refused"],
)
def test_the_log_says_what_a_counterpart_does_not_take(
    body: object, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    with running() as (addon, _), caplog.at_level(logging.INFO):
        ask(addon, request("/api/embed", body))
    assert message in caplog.text


def test_a_client_that_leaves_while_the_request_is_prepared_breaks_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def left(*_: object) -> int:
        addon.error(flow)
        return 7

    monkeypatch.setattr(UpstreamClient, "count_tokens", left)
    with running() as (addon, _):
        flow = request(
            f"{MESSAGES}/count_tokens", {"model": "small", "messages": BASIC["messages"]}
        )
        ask(addon, flow)
        assert flow.response


@pytest.mark.parametrize(("counted", "who"), [(7, "vllm"), (None, "estimate")])
def test_a_count_names_its_counter(
    monkeypatch: pytest.MonkeyPatch, counted: int | None, who: str
) -> None:
    async def count(*_: object) -> int | None:
        return counted

    monkeypatch.setattr(UpstreamClient, "count_tokens", count)
    with running(server="vllm") as (addon, _):
        flow = ask(addon, request(f"{MESSAGES}/count_tokens", BASIC))
    assert flow.response
    assert flow.response.headers["x-think-tokens-counted-by"] == who


@pytest.mark.parametrize("path", [MESSAGES, "/v1/responses"])
def test_a_server_that_is_not_there_is_named_with_its_address(path: str) -> None:
    with socket.socket() as closed, running(server="auto") as (addon, _):
        closed.bind(("127.0.0.1", 0))  # nobody listens there, and nobody else can
        port = closed.getsockname()[1]
        flow = request(path, {**BASIC, "input": "hi"})
        flow.request.host, flow.request.port = "127.0.0.1", port
        ask(addon, flow)
        assert flow.response
        error = json.loads(flow.response.content or b"")["error"]
        assert (flow.response.status_code, error["message"]) == (
            502,
            f"no model server at http://127.0.0.1:{port}: connection refused",
        )


def _is_prompted(addon: ThinkAddon, body: dict[str, object], reply: str) -> bool:
    """Return True if the addon asks the model to think; the reply comes after that."""
    flow = ask(addon, request(CHAT, {**body, "messages": BASIC["messages"]}))
    sent = json.loads(flow.request.content or b"")
    answer(addon, flow, response(), whole(reply))
    return bool(sent["messages"] != BASIC["messages"])


WISHES: dict[str, object] = {"model": "small", "reasoning_effort": "high"}


def test_a_model_that_thinks_only_when_prompted_gets_the_prompt_each_time() -> None:
    with running(prompt="tags") as (addon, _):
        assert [_is_prompted(addon, WISHES, "<think>a</think>b") for _ in range(2)] == [True] * 2


def test_a_model_that_thinks_by_itself_is_not_prompted() -> None:
    with running(prompt="tags") as (addon, _):
        assert not _is_prompted(addon, {"model": "small"}, "<think>a</think>b")
        assert not _is_prompted(addon, WISHES, "<think>a</think>b")


def test_a_reply_without_a_thought_teaches_nothing_of_the_model() -> None:
    with running(prompt="tags") as (addon, _):
        assert not _is_prompted(addon, {"model": "small"}, "b")
        assert _is_prompted(addon, WISHES, "b")


@pytest.mark.parametrize(("model", "wanted"), [("Kimi-K2.7", "functions.f:0"), ("m", "toolu_1")])
@pytest.mark.parametrize("path", [CHAT, MESSAGES])
def test_earlier_calls_have_the_ids_that_the_model_needs(
    path: str, model: str, wanted: str
) -> None:
    call: dict[str, object] = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "x"}
    turns: list[dict[str, object]] = [
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    if path == CHAT:
        call = {"type": "function", "id": "toolu_1", "function": {"name": "f", "arguments": "{}"}}
        turns = [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "toolu_1", "content": "x"},
        ]
    body = {**BASIC, "model": model, "messages": [{"role": "user", "content": "Hi"}, *turns]}
    with running() as (addon, _):
        sent = ask(addon, request(path, body)).request
    _, calling, answered = json.loads(sent.raw_content or b"")["messages"]
    assert (calling["tool_calls"][0]["id"], answered["tool_call_id"]) == (wanted, wanted)


def test_the_server_gets_its_own_name_of_a_model() -> None:
    with running(models=["gpt-*=small"]) as (addon, _):
        for name, served in (("gpt-4o", "small"), ("other", "other")):
            flow = ask(addon, request(CHAT, {**BASIC, "model": name}))
            assert json.loads(flow.request.content or b"")["model"] == served


@pytest.mark.parametrize(
    ("memory", "replies", "shared"),
    [("memory:", 9, False), ("sqlite:{}", 9, True), ("sqlite:{}", 0, False)],
)
def test_lessons_are_shared_where_others_reach_them(
    memory: str, replies: int, shared: bool, tmp_path: Path
) -> None:
    options = {"memory": memory.format(tmp_path / "file"), "limits": [f"replies={replies}"]}
    with running(**options) as (addon, _):
        assert (addon._requests._upstream_client.lessons._store is not None) is shared
        assert ask(addon, request(CHAT)).response is None
        assert bool(addon._requests._upstream_client.lessons._readings) is shared


@pytest.mark.parametrize(
    ("path", "method", "options", "kind"),
    [
        (MESSAGES, "POST", {}, Kind.TRANSLATED),
        (f"{MESSAGES}/count_tokens", "POST", {}, Kind.COUNTED),
        (MESSAGES, "POST", {"native": ["messages"]}, Kind.NATIVE),
        (CHAT, "POST", {}, Kind.CHAT),
        ("/v1/models", "GET", {}, Kind.MODELS),
        ("/v1/conversations", "POST", {}, Kind.OWN),
        ("/api/embed", "POST", {}, Kind.COUNTERPART),
    ],
)
def test_an_exchange_takes_the_steps_of_its_kind(
    path: str, method: str, options: dict[str, object], kind: Kind
) -> None:
    taken = []

    def noted(step: Step) -> Step:
        async def take(pending: PendingRequest) -> Response | None:
            taken.append(step)
            return await step(pending)

        return take

    steps = tuple((noted(step), kinds) for step, kinds in STEPS)
    with running(**options) as (addon, _), pytest.MonkeyPatch.context() as patch:
        patch.setattr(request_steps, "STEPS", steps)
        ask(addon, request(path, {**BASIC, "input": "Hi"}, method))
    assert taken == [step for step, kinds in STEPS if kind in kinds]


STREAM = {**BASIC, "stream": True}
COUNTED = {"stream_options": {"include_usage": True}}


@pytest.mark.parametrize(
    ("body", "options", "sent"),
    [
        (STREAM, {}, COUNTED),
        (STREAM, {"server": "vllm"}, COUNTED),
        ({**STREAM, "stream_options": None}, {}, {"stream_options": None}),
        ({**STREAM, "stream_options": {}}, {}, {"stream_options": {}}),
        (BASIC, {}, {}),
        ({**BASIC, "stream": False}, {}, {}),
        (STREAM, {"usage": "off"}, {}),
        (STREAM, {"server": "llama.cpp"}, {}),
        ({**STREAM, "tools": [{"function": {"name": "f"}}]}, {"tools": "told"}, COUNTED),
    ],
)
@pytest.mark.parametrize("around", [b"", b" \n", b"\xef\xbb\xbf"])
def test_a_streams_counts_are_requested(
    body: dict[str, object], options: dict[str, str], sent: dict[str, object], around: bytes
) -> None:
    raw = around + json.dumps(body).encode()
    with running(**options) as (addon, _):
        request_sent = ask(addon, request(CHAT, raw)).request
    got = request_sent.raw_content or b""
    assert request_sent.headers["content-length"] == str(len(got))
    read = json.loads(got.decode("utf-8-sig"))
    assert {name: read[name] for name in read if name == "stream_options"} == sent
    assert "tools" in options or read == {**body, **sent}
    if sent is not COUNTED and "tools" not in options:
        assert got == raw


def test_a_server_that_refuses_the_counts_gets_no_request_for_them() -> None:
    with running() as (addon, _):
        flow = request(CHAT, STREAM)
        servers = addon._requests._upstream_client.servers
        begin(addon, flow)
        upstream = RUNNING_RECORDS[flow.id].upstream
        servers.learn_refusal(upstream, {**STREAM, **COUNTED}, frozenset({"field stream_options"}))
        assert ask(addon, flow).request.raw_content == json.dumps(STREAM).encode()


@pytest.mark.parametrize("refused", [True, False])
@pytest.mark.parametrize("path", [CHAT, MESSAGES])
def test_a_stream_that_is_held_for_a_whole_reply_asks_for_its_counts_where_they_are_taken(
    path: str, refused: bool
) -> None:
    with running(loops="end", server="vllm") as (addon, _):
        flow = request(path, BASIC)
        begin(addon, flow)
        if refused:
            servers = addon._requests._upstream_client.servers
            sent, traits = {**STREAM, **COUNTED}, frozenset({"field stream_options"})
            servers.learn_refusal(RUNNING_RECORDS[flow.id].upstream, sent, traits)
        sent = json.loads(ask(addon, flow).request.raw_content or b"")
    assert sent["stream"] is True
    assert ("stream_options" in sent) is not refused


@pytest.mark.parametrize("body", [STREAM, {**STREAM, **COUNTED}])
def test_counts_that_the_addon_requested_are_its_own(body: dict[str, object]) -> None:
    with running() as (addon, _):
        flow = ask(addon, request(CHAT, body))
        reply_body = b"".join(stream("<think>a</think>b"))
        pieces = answer(addon, flow, response("text/event-stream"), reply_body)
        assert pieces is not None
        assert (USAGE in pieces[0]) == ("stream_options" in body)


PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}


@pytest.mark.parametrize(
    ("content", "path"), [("hi", COMPLETION_PATH), ([PICTURE], CHAT)], ids=["text", "a picture"]
)
def test_an_unread_model_gets_a_text_completion_of_a_plain_request(
    content: object, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def prompt(*_: object) -> str:
        return "<|im_start|>hi"

    body = {"model": "m", "messages": [{"role": "user", "content": content}]}
    monkeypatch.setattr(UpstreamClient, "rendered_prompt", prompt)
    with running() as (addon, _):
        upstream = RUNNING_RECORDS[ask(addon, request(CHAT, body)).id].upstream
        servers = addon._requests._upstream_client.servers
        servers.learn_refusal(upstream, body, frozenset({RENDERED}))
        flow = ask(addon, request(CHAT, body))
    assert flow.request.path == path
    assert ("prompt" in json.loads(flow.request.text or "")) is (path == COMPLETION_PATH)
