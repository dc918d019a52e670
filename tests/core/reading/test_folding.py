"""Thoughts as folded blocks of text, and the turns that come back without them."""

import pytest

from converter.addon.exchange import read_request, settings
from converter.addon.exchange.awaited_reply import AwaitedReply
from converter.addon.exchange.exchange import Exchange, begin
from converter.core.dialects.table import OPENAI_CHAT, Form
from converter.core.model.events import Event, Finish, Opaque, Text, Thinking, ThinkingEnd, ToolCall
from converter.core.reading.folding import CLOSER, OPENER, ThoughtFolder
from converter.core.wire import json_text
from tests.support.clients import read_openai_stream
from tests.support.frames import END, ROLE, delta, stream

STOP, CALL = Finish("stop"), ToolCall(0, "a", "b", "{}")
FOLD = f"{OPENER}deep{CLOSER}"


def fold(*events: Event) -> str:
    stage = ThoughtFolder(0)
    out = [emitted for event in events for emitted in stage.feed(event)] + stage.close()
    return "".join(event.text for event in out if isinstance(event, Text))


@pytest.mark.parametrize(
    ("events", "folded"),
    [
        ([Thinking("de"), Thinking("ep"), ThinkingEnd(), Text("x"), STOP], f"{FOLD}x"),
        ([Thinking("deep"), Text("x"), STOP], f"{FOLD}x"),
        ([Thinking("deep"), CALL, STOP], FOLD),
        ([Thinking("deep"), STOP], FOLD),
        ([Thinking("deep")], FOLD),
        ([Text("x"), Thinking("deep"), ThinkingEnd(), Text("y")], f"x{FOLD}y"),
        ([Thinking("deep"), Opaque("openai", {}, {}), Thinking("er")], f"{OPENER}deeper{CLOSER}"),
        ([Text("x"), STOP], "x"),
    ],
)
def test_a_thought_is_a_folded_block_in_its_order(events: list[Event], folded: str) -> None:
    assert fold(*events) == folded


def exchange(*fields: str) -> Exchange:
    chosen = settings.read({"fields": list(fields)})
    exchange_begun = begin("POST", "/v1/chat/completions", {}, chosen, "1", reverse=True)
    assert exchange_begun
    return exchange_begun


THOUGHT = delta(reasoning_content="deep")


@pytest.mark.parametrize(
    "frames",
    [stream("<think>deep</think>", "x"), [ROLE, THOUGHT, delta(content="x"), *END]],
    ids=["tags", "native"],
)
def test_a_chat_client_may_get_thoughts_as_text(frames: list[bytes]) -> None:
    body = json_text.write({"stream": True, "messages": []})
    awaited = AwaitedReply(read_request.read_in_dialect(exchange("text"), body))
    rewriter = awaited.rewriter(Form.STREAM)
    out = [piece for frame in frames for piece in rewriter.feed(frame)] + rewriter.close()
    seen = read_openai_stream(b"".join(out))
    assert (seen.text, seen.thinking) == (f"{FOLD}x", "")


def test_its_request_goes_out_without_them() -> None:
    turn = {"role": "assistant", "content": f"{FOLD}x"}
    body = json_text.write({"messages": [turn]})
    for fields, sent in (("text", "x"), ("reasoning", turn["content"])):
        request = read_request.read_in_dialect(exchange(fields), body)
        messages = request.body["messages"]
        assert isinstance(messages, list)
        assert (messages[0]["content"], request.body_changed) == (sent, fields == "text")
    assert request.exchange.client_dialect is OPENAI_CHAT
