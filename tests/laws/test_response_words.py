"""What a server said in a reply of the Responses API, read in the plainest way."""

import json
from typing import Any

import pytest

from converter.core.dialects.table import RESPONSES, Form
from laws.heard import Piece, ServerWords
from laws.server_words import listen
from tests.support.frames import data

THOUGHT = {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "why"}]}
MESSAGE = {"type": "message", "id": "msg", "content": [{"type": "output_text", "text": "so"}]}
CALL = {"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": '{"a":1}'}
ENDED = {"object": "response", "status": "completed", "usage": {"output_tokens": 5}}


def heard(*events: dict[str, Any]) -> ServerWords:
    return listen(b"".join(map(data, events)), Form.STREAM, RESPONSES)


def delta(kind: str, name: str, words: str, **fields: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}.delta", "item_id": name, "delta": words, **fields}


def done(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "response.output_item.done", "item": item}


STREAM = [
    delta("reasoning_summary_text", "rs", "why"),
    delta("reasoning_text", "rs", "why"),
    delta("output_text", "msg", "so"),
    {"type": "response.output_item.added", "item": {**CALL, "arguments": ""}},
    delta("function_call_arguments", "fc", '{"a":1}'),
    *[done(item) for item in (THOUGHT, MESSAGE, CALL)],
    {"type": "response.completed", "response": {**ENDED, "output": []}},
]


def test_a_stream_says_what_the_whole_response_says() -> None:
    streamed = heard(*STREAM)
    body = json.dumps({**ENDED, "output": [THOUGHT, MESSAGE, CALL]}).encode()
    whole = listen(body, Form.WHOLE, RESPONSES)
    for said in (streamed, whole):
        spoken = [piece for piece in said.choice().pieces if piece.kind != "call"]
        assert [(piece.kind, piece.text) for piece in spoken] == [
            ("thinking", "why"),
            ("text", "so"),
        ]
        (call,) = said.choice().calls.values()
        assert call == {"id": "c", "name": "f", "arguments": '{"a":1}'}
        assert (said.choice().finish, said.usage["output_tokens"], said.complete) == ("tool_calls", 5, True)  # fmt: skip


def test_items_that_no_delta_told_are_heard_when_they_are_done() -> None:
    said = heard(*[done(item) for item in (THOUGHT, MESSAGE, CALL)])
    assert [piece.kind for piece in said.choice().pieces] == ["thinking", "text", "call"]
    assert not said.complete


def test_items_of_one_number_are_one() -> None:
    said = heard(*(delta("output_text", name, name, output_index=0) for name in ("a", "b")))
    assert said.choice().pieces == [Piece("text", "a"), Piece("text", "b")]


@pytest.mark.parametrize(
    ("fields", "finish"),
    [
        ({"incomplete_details": {"reason": "max_output_tokens"}}, "length"),
        ({"incomplete_details": {"reason": "content_filter"}}, "content_filter"),
        ({"incomplete_details": None}, "stop"),
    ],
)
def test_the_reason_is_the_finish(fields: dict[str, Any], finish: str) -> None:
    ended = {"type": "response.incomplete", "response": {**ENDED, "output": [], **fields}}
    assert heard(ended).choice().finish == finish


@pytest.mark.parametrize(
    "event",
    [
        {"type": "error", "error": {"message": "no"}},
        {"type": "response.failed", "response": {**ENDED, "error": {"message": "no"}}},
    ],
)
def test_a_failure_is_none_to_be_complete(event: dict[str, Any]) -> None:
    said = heard(delta("output_text", "msg", "so"), event)
    assert said.error
    assert not said.complete


def test_what_has_another_shape_is_unread() -> None:
    assert heard({"type": "response.completed"}).unread == 1
