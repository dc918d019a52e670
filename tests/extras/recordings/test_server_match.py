"""The match of a request with a recorded one."""

import json
from typing import Any

import pytest

from tests.extras.recordings.test_server import ask, serving
from tests.support.made_recordings import question, recorded, recording

ODD: list[tuple[dict[str, Any], bool]] = [
    (question(temperature=0.5), True),
    (question(model="other"), True),
    (question(stream=False), False),
    (question("Bye"), False),
    (question(tools=[{"type": "function"}]), False),
    ({}, False),
]


@pytest.mark.parametrize(("body", "fits"), ODD)
def test_messages_tools_and_form_must_fit_and_the_rest_need_not(
    body: dict[str, Any], fits: bool
) -> None:
    with serving(recording()) as server:
        status, fields = ask(server, body)
    assert status == (200 if fits else 404)
    assert fits or json.loads(fields)["error"]["message"].startswith(
        "no recording answers this request, POST /v1/chat"
    )


@pytest.mark.parametrize("body", [b"", b"{", b"[1]", b"\xff", b"null"])
def test_a_body_that_is_no_request_gets_an_answer(body: bytes) -> None:
    with serving(recording()) as server:
        assert ask(server, body)[0] == 404


def test_the_ids_of_earlier_tool_calls_need_not_fit() -> None:
    def turn(name: str) -> dict[str, Any]:
        return question() | {"messages": [{"role": "tool", "tool_call_id": name, "content": "4"}]}

    with serving(recording(body=turn("a"))) as server:
        assert ask(server, turn("b"))[0] == 200


@pytest.mark.parametrize("fields", [{"input": "Bye"}, {"instructions": "Be brief."}, {"input": []}])
def test_what_a_responses_request_asks_must_fit_as_well(fields: dict[str, Any]) -> None:
    body, path = {"model": "small", "input": "Hi"}, "/v1/responses"
    request = recorded(body, path)
    with serving(recording(request=request, sent_request=request)) as server:
        assert ask(server, body, path)[0] == 200
        assert ask(server, body | fields, path)[0] == 404


def test_what_no_recording_holds_need_not_fit() -> None:
    def turn(**fields: object) -> dict[str, Any]:
        part = {"type": "text", "text": "Hi", **fields}
        return question() | {"messages": [{"role": "user", "content": [part]}]}

    with serving(recording(body=turn())) as server:
        assert ask(server, turn(cache_control={"type": "ephemeral"}))[0] == 200
