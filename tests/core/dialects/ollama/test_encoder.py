"""Replies of Ollama's API, written: of every server's, and read again."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from converter.addon.exchange import read_request, settings
from converter.addon.exchange.awaited_reply import AwaitedReply
from converter.addon.exchange.exchange import Exchange
from converter.addon.exchange.rewriting import rewriter_of
from converter.addon.servers.profiles import by_name
from converter.addon.transcript import reply
from converter.core.dialects.ollama import OLLAMA
from converter.core.dialects.table import DIALECTS, OPENAI_CHAT, Dialect, Form
from converter.core.dialects.wire_form import ReplyContext
from converter.core.model.conversation import TextBlock, ThinkingBlock, ToolUse
from converter.core.model.events import (
    Event,
    Failure,
    Own,
    Start,
    Text,
    Thinking,
    ThinkingEnd,
    ToolCall,
)
from tests.support import endpoints
from tests.support.frames import DONE, USAGE, delta, finish, stream

SETTINGS = settings.read()
CALL = {"index": 0, "id": "c1", "function": {"name": "look", "arguments": '{"at": "sky"}'}}
SENT = b"".join(
    [
        delta(role="assistant", content=""),
        *(delta(content=text) for text in ("<think>h", "m</think>", "So")),
        delta(tool_calls=[CALL]),
        finish("tool_calls"),
        USAGE,
        DONE,
    ]
)


def _through(
    sent: bytes, client: Dialect, form: Form, server: Dialect, came: Form, size: int = 0
) -> bytes:
    through = rewriter_of(SETTINGS, client, came, form, server=server)
    cut = [sent[begin : begin + (size or len(sent))] for begin in range(0, len(sent), size or 9**9)]
    out = [*(emitted for piece in cut for emitted in through.feed(piece)), *through.close()]
    assert through.failure == ""
    return b"".join(out)


def _lines(out: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


@pytest.mark.parametrize("form", Form)
def test_a_mended_reply_of_an_ollama_keeps_the_form_of_its_endpoint(form: Form) -> None:
    head = {"model": "small", "created_at": "2026-01-01T00:00:00Z"}
    last = {"done": True, "done_reason": "stop"}
    texts: list[dict[str, object]] = [
        {"response": "<think>hm</think>So"},
        {"message": {"role": "assistant", "content": "<think>hm</think>So"}},
    ]
    for fields in texts:
        sent = json.dumps({**head, **fields, **last}).encode()
        lines = _lines(_through(sent, OLLAMA, form, OLLAMA, form))
        assert all(("response" in line) is ("response" in fields) for line in lines)
        assert all(("message" in line) is ("message" in fields) for line in lines)
        emitted = [line.get("message", line) for line in lines]
        assert "".join(line.get("thinking", "") for line in emitted) == "hm"


def test_a_sign_of_life_fits_both_forms_before_an_ollamas_first_line() -> None:
    through = rewriter_of(SETTINGS, OLLAMA, Form.STREAM, Form.STREAM, server=OLLAMA)
    [line] = _lines(b"".join(through.ping()))
    assert (line["response"], line["message"]["content"]) == ("", "")


@pytest.mark.parametrize("size", [0, 1, 7])
def test_a_stream_is_lines_of_which_the_last_counts(size: int) -> None:
    lines = _lines(_through(SENT, OLLAMA, Form.STREAM, OPENAI_CHAT, Form.STREAM, size))
    messages = [line["message"] for line in lines]
    assert all(message["role"] == "assistant" for message in messages)
    assert "".join(message.get("thinking", "") for message in messages) == "hm"
    assert "".join(message["content"] for message in messages) == "So"
    (call,) = (call for message in messages for call in message.get("tool_calls", []))
    assert call["function"] == {"index": 0, "name": "look", "arguments": {"at": "sky"}}
    assert [line["done"] for line in lines] == [False] * (len(lines) - 1) + [True]
    last = {name: lines[-1][name] for name in ("done_reason", "prompt_eval_count", "eval_count")}
    assert last == {"done_reason": "stop", "prompt_eval_count": 7, "eval_count": 5}


def test_a_whole_reply_is_one_object() -> None:
    (body,) = _lines(_through(SENT, OLLAMA, Form.WHOLE, OPENAI_CHAT, Form.STREAM))
    message = body["message"]
    assert (message["thinking"], message["content"], body["done"]) == ("hm", "So", True)
    assert [call["function"]["name"] for call in message["tool_calls"]] == ["look"]


@pytest.mark.parametrize("other", [*DIALECTS, OLLAMA], ids=repr)
@pytest.mark.parametrize("came", Form)
@pytest.mark.parametrize("form", Form)
def test_it_goes_to_and_from_every_dialect(other: Dialect, came: Form, form: Form) -> None:
    there = _through(SENT, other, came, OPENAI_CHAT, Form.STREAM)
    client = _through(there, OLLAMA, form, other, came)
    back = _through(client, other, came, OLLAMA, form)
    for out in (client, back):
        (turn,) = reply.read(out).turns
        assert [type(part) for part in turn.parts] == [ThinkingBlock, TextBlock, ToolUse]


@pytest.mark.parametrize("form", Form)
def test_the_fast_path_writes_the_same(form: Form, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = b"".join(stream("<think>", *("hm ",) * 40, "</think>", *("so ",) * 40))
    fast = _through(sent, OLLAMA, form, OPENAI_CHAT, Form.STREAM)
    monkeypatch.setenv("THINK_FAST", "false")
    through = rewriter_of(settings.read(), OLLAMA, Form.STREAM, form, server=OPENAI_CHAT)
    assert b"".join(through.whole(sent)) == fast


def _written(form: Form, events: Sequence[Event]) -> tuple[list[dict[str, Any]], list[str]]:
    encoder = OLLAMA.wire.encoder(ReplyContext(model="small", created_at=1), form is Form.WHOLE)
    out = [*encoder.feed(events), *encoder.close()]
    return _lines(b"".join(out)), encoder.notes


@pytest.mark.parametrize("form", Form)
def test_nothing_follows_an_error(form: Form) -> None:
    lines, _ = _written(form, [Start("1", "m"), Failure("broke off"), Text("more")])
    assert lines == [{"error": "broke off"}]


def test_text_behind_an_open_call_comes_before_the_error() -> None:
    call = ToolCall(0, "a", "f", '{"x": 1')
    lines, _ = _written(Form.STREAM, [Start("1", "m"), call, Text("So."), Failure("broke off")])
    assert [line.get("message", {}).get("content") for line in lines] == ["So.", None]
    assert lines[-1] == {"error": "broke off"}


@pytest.mark.parametrize("form", Form)
def test_blanks_around_a_thought_go_and_two_thoughts_are_parted(form: Form) -> None:
    thoughts: list[Event] = [Thinking("\nhm\n"), ThinkingEnd(), Thinking("so")]
    events = [*thoughts, Text("\n\n"), Text("Yes"), Text("\n")]
    lines, _ = _written(form, [Start("1", "m"), *events])
    emitted = [line["message"] for line in lines]
    assert "".join(message.get("thinking", "") for message in emitted) == "hm\n\nso"
    assert "".join(message["content"] for message in emitted) == "\n\nYes\n"
    lines, _ = _written(form, [Text("\n\n"), ToolCall(0, "c", "look", "{}", ends=True)])
    assert not any(line["message"]["content"] for line in lines)


def test_a_call_that_was_cut_is_left_out_with_a_note() -> None:
    lines, notes = _written(Form.STREAM, [ToolCall(0, "c", "look", '{"at": "s')])
    assert not any("tool_calls" in line["message"] for line in lines)
    assert notes == ["1 call(s) left out: their arguments were cut"]


def test_durations_are_those_that_the_server_measured() -> None:
    timings = {"timings": {"prompt_ms": 2.5, "predicted_ms": 10}}
    lines, _ = _written(Form.WHOLE, [Start("1", "m", Own("any", timings)), Text("So")])
    emitted = [lines[0][f"{name}_duration"] for name in ("prompt_eval", "eval", "total")]
    assert emitted == [2_500_000, 10_000_000, 12_500_000]
    assert lines[0]["created_at"] == "1970-01-01T00:00:01.000000000Z"


def test_durations_come_with_a_streams_last_head() -> None:
    timings = Own("any", {"timings": {"predicted_ms": 10}})
    events: list[Event] = [Start("1", "m"), Text("So"), Start("1", "m", timings)]
    lines, _ = _written(Form.STREAM, events)
    assert (lines[-1]["done"], lines[-1]["eval_duration"]) == (True, 10_000_000)


@pytest.mark.parametrize("streamed", [False, True])
def test_a_generated_reply_says_response(streamed: bool) -> None:
    exchange = Exchange(endpoints.MESSAGES, SETTINGS, client_dialect=OLLAMA)
    body = json.dumps({"model": "small", "prompt": "Why?", "stream": streamed}).encode()
    request = read_request.read(exchange, body).translate(by_name("llama.cpp"), parses=False)
    assert request.body["messages"] == [{"role": "user", "content": "Why?"}]
    out = AwaitedReply(request).rewriter(Form.STREAM).whole(SENT)
    lines = _lines(b"".join(out))
    assert "".join(line["response"] for line in lines) == "So"
    assert "".join(line.get("thinking", "") for line in lines) == "hm"
    assert (len(lines) > 1) is streamed


@pytest.mark.parametrize("form", Form)
def test_a_call_that_nobody_can_read_is_no_call_with_less(form: Form) -> None:
    deep = '{"path": "/data", "dry_run": ' + "[" * 20_000 + "]" * 20_000 + "}"
    call = {"index": 0, "id": "c1", "function": {"name": "remove", "arguments": deep}}
    sent = b"".join([delta(tool_calls=[call]), finish("tool_calls"), DONE])
    through = rewriter_of(SETTINGS, OLLAMA, Form.STREAM, form, server=OPENAI_CHAT)
    out = b"".join(through.whole(sent))
    assert b"tool_calls" not in out
    assert through.failure or any("left out" in note for note in through.notes)
