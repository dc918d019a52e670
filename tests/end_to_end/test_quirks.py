"""What real servers write otherwise than the textbook: an Anthropic client sees none of it."""

import json
import re
from threading import Event
from typing import Any

import pytest

from converter.core.reply.reply_end import CUT_SHORT
from tests.support.by_path_server import CHAT, MESSAGES, ByPathServer, Says
from tests.support.clients import Client, Live, question
from tests.support.frames import DONE, HEAD, TOKENS, data, stream
from tests.support.quirk_streams import DEEP_HELLO, QUIRKS, Quirk, choice, ended, frame
from tests.support.recorded import load, names
from tests.support.sdk_types import judged_message, judged_stream

pytestmark = pytest.mark.slow

pytest_plugins = ["tests.support.front"]

FINISH = re.compile(rb'"finish_reason": ?"')
"""A choice's end, which every server names; some recordings of Ollama's JSON mode have none."""


def said(message: dict[str, Any]) -> list[tuple[str, object]]:
    return [
        (block["type"], block["input" if block["type"] == "tool_use" else block["type"]])
        for block in message["content"]
    ]


def check(message: dict[str, Any], quirk: Quirk) -> None:
    assert said(message) == quirk.blocks
    assert (message["stop_reason"], message["stop_sequence"]) == quirk.stop
    assert {name: message["usage"].get(name) for name in quirk.usage} == quirk.usage
    ids = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("name", QUIRKS)
def test_a_quirk_is_not_seen_in_a_stream(front: Client, model: ByPathServer, name: str) -> None:
    """Each quirk has a model of its own: what one model does wrong is remembered of it."""
    model.rows[CHAT] = Says(steps=QUIRKS[name].steps)
    reader = judged_stream(front.ask(MESSAGES, question(stream=True, model=name)).body)
    assert not reader.error
    check(reader.message, QUIRKS[name])


@pytest.mark.parametrize("name", sorted(QUIRKS.keys() - {"a closer without an opener, streamed"}))
def test_a_quirk_of_a_stream_is_not_seen_in_a_whole_message(
    front: Client, model: ByPathServer, name: str
) -> None:
    model.rows[CHAT] = Says(steps=QUIRKS[name].steps)
    check(judged_message(front.ask(MESSAGES, question(stream=False)).body), QUIRKS[name])


def test_a_closer_without_an_opener_ends_a_thought_of_a_whole_reply(
    front: Client, model: ByPathServer
) -> None:
    """Of vLLM with the R1 template, which opens the thought in the prompt, and no reasoning parser."""
    message = {"role": "assistant", "content": "deep\n</think>\n\nHello"}
    model.rows[CHAT] = Says(
        {
            **HEAD,
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": TOKENS,
        }
    )
    told = judged_message(front.ask(MESSAGES, question(stream=False)).body)
    assert said(told) == [("thinking", "deep"), ("text", "\n\nHello")]


def test_an_error_object_and_done_with_a_status_of_200_is_an_error(
    front: Client, model: ByPathServer, streamed: bool
) -> None:
    """Of vLLM, for a grammar that it cannot read."""
    broken = {
        "error": {
            "message": "Invalid grammar",
            "type": "BadRequestError",
            "param": None,
            "code": 400,
        }
    }
    model.rows[CHAT] = Says(steps=[data(broken), DONE])
    answer = front.ask(MESSAGES, question(streamed))
    body = judged_stream(answer.body).error if streamed else json.loads(answer.body)
    assert "Invalid grammar" in body["error"]["message"]
    assert streamed or answer.status >= 400


def test_pings_arrive_before_the_first_event(front: Client, model: ByPathServer) -> None:
    """Of llama.cpp, while it reads a long prompt: a client is to see that somebody is there."""
    go_on = Event()
    model.rows[CHAT] = Says(steps=[b": ping\n\n", go_on, *stream("<think>deep</think>Hello")])
    try:
        live = Live(front.send(MESSAGES, question(stream=True)))
        assert live.until(b"\n\n").startswith(b":")
    finally:
        go_on.set()
    assert said(judged_stream(live.rest()).message) == DEEP_HELLO


def test_calls_without_ids_have_ids_of_their_own_in_each_reply(
    front: Client, model: ByPathServer, streamed: bool
) -> None:
    """A conversation holds them all, and in it a result must find its call."""
    entries = [
        {"index": index, "function": {"name": "look", "arguments": "{}"}} for index in range(2)
    ]
    steps = [frame(choice(tool_calls=entries), id=f"chatcmpl-{reply}") for reply in range(2)]
    model.rows[CHAT] = [Says(steps=[step, *ended("tool_calls")]) for step in steps]
    bodies = [front.ask(MESSAGES, question(streamed)).body for _ in range(2)]
    messages = [
        judged_stream(body).message if streamed else judged_message(body) for body in bodies
    ]
    ids = [block["id"] for message in messages for block in message["content"]]
    assert len(set(ids)) == 4, ids


def test_the_model_that_is_told_is_the_one_that_was_asked_for(
    front: Client, model: ByPathServer, streamed: bool
) -> None:
    """llama.cpp answers to any name with its own. Claude Code 2.1.197 sends no thoughts of another
    model back.
    """
    model.rows[CHAT] = Says(steps=stream("<think>deep</think>Hello"))
    body = front.ask(MESSAGES, question(streamed, model="claude-own")).body
    message = judged_stream(body).message if streamed else judged_message(body)
    assert message["model"] == "claude-own"


@pytest.mark.parametrize("name", names())
def test_a_recording_reads_alike_in_both_forms(
    front: Client, model: ByPathServer, name: str
) -> None:
    """Real replies of llama.cpp, as an Anthropic client sees them."""
    recording = load(name)
    if recording.status != 200:
        return
    headers = {"content-type": "text/event-stream" if recording.streamed else "application/json"}
    model.rows[CHAT] = Says(recording.body, headers=headers)
    streamed = front.ask(MESSAGES, question(stream=True)).body
    answer = front.ask(MESSAGES, question(stream=False))
    cut = not FINISH.search(recording.body)
    assert (answer.status != 200) == cut, answer.body
    if cut:
        assert CUT_SHORT.encode() in answer.body
        assert CUT_SHORT.encode() in streamed.partition(b"event: error")[2]
        return
    whole = judged_message(answer.body)
    assert judged_stream(streamed).message == whole
    assert whole["content"]
