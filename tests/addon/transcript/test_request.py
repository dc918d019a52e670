"""Requests of both dialects as a person reads them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.addon.transcript import request, text
from converter.addon.transcript.turns import ShownTurn, Transcript
from converter.core.model.conversation import TextBlock
from tests.support.rows import rows_of
from tests.support.strategies import law
from tests.support.transcript_samples import REQUESTS, text_of

ROWS = rows_of(__file__)


def read(**body: Any) -> Transcript:
    return request.read(json.dumps(body).encode())


def turn(**message: Any) -> ShownTurn:
    (read_turn,) = read(messages=[message]).turns
    return read_turn


@pytest.mark.parametrize(("message", "expected"), ROWS["a turn is read"])
def test_a_turn_is_read(message: dict[str, Any], expected: ShownTurn) -> None:
    assert turn(**message) == expected


@pytest.mark.parametrize(("body", "settings"), ROWS["settings are shown in a line"])
def test_settings_are_shown_in_a_line(body: dict[str, Any], settings: dict[str, object]) -> None:
    assert read(**body).settings == settings
    assert list(read(**body).settings) == list(settings)


def test_the_system_turn_of_messages_comes_first() -> None:
    body = {
        "system": [{"type": "text", "text": "Be kind."}],
        "messages": [{"role": "user", "content": "Hi"}],
    }
    assert read(**body).turns == (
        ShownTurn("system", (TextBlock("Be kind."),)),
        ShownTurn("user", (TextBlock("Hi"),)),
    )


@pytest.mark.parametrize(
    ("body", "rest"),
    [(b"garbage \xff", "garbage \\xff"), (b"[1, 2]", "[1, 2]"), (b'{"cut": ', '{"cut": ')],
)
def test_what_is_no_request_is_the_rest(body: bytes, rest: str) -> None:
    assert request.read(body) == Transcript(rest=(rest,))


def test_an_empty_body_asks_nothing() -> None:
    assert request.read(b"") == Transcript()


@law(300)
@given(st.binary(max_size=40))
def test_garbage_raises_nothing(body: bytes) -> None:
    text.write(request.read(body))


def _strings(value: object) -> list[str]:
    """The words of every content in a request: where a person writes and a model answers."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [word for entry in value for word in _strings(entry)]
    if isinstance(value, dict):
        return [word for entry in value.values() for word in _strings(entry)]
    return []


@law(400)
@given(REQUESTS)
def test_nothing_of_a_request_is_lost(body: dict[str, Any]) -> None:
    """Every letter of every string that a message holds as its content is in the transcript, but
    for marks of thinking.
    """
    transcript = request.read(json.dumps(body).encode())
    messages = body["messages"] if isinstance(body["messages"], list) else []
    shown = text_of(transcript)
    for message in messages:
        if isinstance(message, dict) and message.get("role") == "user":
            content = message["content"]
            for word in _strings(
                [block if isinstance(block, str) else "" for block in content]
                if isinstance(content, list)
                else content
            ):
                assert word in shown or json.dumps(word, ensure_ascii=False)[1:-1] in shown
