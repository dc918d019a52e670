"""What real servers write otherwise than the textbook: an Anthropic client sees none of it."""

import re
from typing import Any

import pytest

from converter.core.reply.reply_end import CUT_SHORT
from tests.support.by_path_server import CHAT, MESSAGES, ByPathServer, Says
from tests.support.clients import Client, question
from tests.support.quirk_streams import QUIRKS, Quirk
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
