"""What each client gets for a server's error."""

import json
from collections.abc import Callable

import pytest

from converter.core.dialects.table import ANTHROPIC, OPENAI_CHAT
from converter.extras.recordings.recording import Recording
from laws.laws_of_errors import answer, error_4, error_7, error_8
from tests.support.recordings_of import recording

ERRORS = {
    "llama.cpp": (
        400,
        b'{"error":{"code":400,"message":"bad grammar","type":"invalid_request_error"}}',
    ),
    "a page": (502, b"<html><body>Bad gateway</body></html>"),
    "busy": (503, b'{"error":{"message":"Loading model","type":"unavailable_error","code":503}}'),
    "too long": (
        400,
        b'{"error":{"message":"the request exceeds the available context size (9 tokens > 4)"}}',
    ),
    "nothing": (500, b""),
}


LAWS = [error_4, pytest.param(error_7, marks=pytest.mark.slow), error_8]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", ERRORS)
def test_an_error_of_a_server_breaks_no_law(
    name: str, law: Callable[[Recording, int], None]
) -> None:
    status, body = ERRORS[name]
    law(recording(body, "application/json", status=status), 4)


def test_the_servers_own_client_gets_the_bytes_and_the_other_its_own_error() -> None:
    status, body = ERRORS["llama.cpp"]
    given = recording(body, "application/json", status=status)
    assert (answer(given, OPENAI_CHAT).status, answer(given, OPENAI_CHAT).body) == (400, body)
    made = json.loads(answer(given, ANTHROPIC).body)
    assert made["error"] == {"type": "invalid_request_error", "message": "bad grammar"}
