"""A reply of the Responses API in other pieces."""

import json
from typing import Any

import pytest

from converter.core.dialects.table import RESPONSES, Form
from laws.recut import recut_words
from laws.refold import fold, unfold
from laws.server_words import frames, listen, value_of

RESPONSE: dict[str, Any] = {
    "id": "resp_1",
    "object": "response",
    "status": "completed",
    "output": [
        {"type": "reasoning", "id": "rs", "summary": [], "content": [{"type": "reasoning_text", "text": "why"}]},
        {"type": "message", "id": "msg", "content": [{"type": "output_text", "text": "so it is"}]},
        {"type": "web_search_call", "id": "ws", "status": "completed"},
        {"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": "{}"},
    ],
    "usage": {"output_tokens": 5},
}  # fmt: skip


def test_a_response_unfolds_and_folds_back() -> None:
    stream = unfold(json.dumps(RESPONSE).encode(), RESPONSES, list)
    assert json.loads(fold(stream, RESPONSES)) == RESPONSE
    said = listen(stream, Form.STREAM, RESPONSES).choice()
    assert (said.joined("thinking"), said.joined("text")) == ("why", "so it is")
    assert [call["name"] for call in said.calls.values()] == ["f"]


@pytest.mark.parametrize("cut", [list, lambda words: [words]], ids=["characters", "joined"])
def test_words_are_cut_anew_and_nothing_else_changes(cut: Any) -> None:
    stream = unfold(json.dumps(RESPONSE).encode(), RESPONSES, lambda words: [words[:3], words[3:]])
    recut = recut_words(stream, cut)
    deltas = [
        event["delta"]
        for frame in frames(recut)
        if (event := value_of(frame) or {}).get("type") == "response.output_text.delta"
    ]
    assert deltas == cut("so it is")
    heard = [listen(body, Form.STREAM, RESPONSES).choice() for body in (stream, recut)]
    assert heard[0].joined("thinking", "text") == heard[1].joined("thinking", "text")
    assert fold(recut, RESPONSES) == fold(stream, RESPONSES)


def test_a_stream_that_never_began_folds_into_nothing() -> None:
    assert json.loads(fold(b"data: {}\n\n", RESPONSES)) == {}
