"""Errors in OpenAI's shape."""

import pytest

from converter.core.dialects.error_words import NO_MESSAGE
from converter.core.dialects.openai_chat.errors import error_body, error_reply


@pytest.mark.parametrize(
    ("kind", "status", "type_", "code"),
    [
        ("api_error", 502, "server_error", 502),
        ("invalid_request_error", 400, "invalid_request_error", 400),
        ("request_too_large", 413, "invalid_request_error", 413),
        ("", 0, "server_error", None),
    ],
)
def test_an_error_has_text_type_and_code(
    kind: str, status: int, type_: str, code: int | None
) -> None:
    error = {"message": "no", "type": type_, "param": None, "code": code}
    assert error_body("no", kind, status) == {"error": error}


@pytest.mark.parametrize(
    ("status", "body", "message", "type_"),
    [
        (502, b"<h1>Bad Gateway</h1>", "Bad Gateway", "server_error"),
        (404, b"", "the server answered with status 404 and no message", "not_found_error"),
        (400, b'{"object": "error", "message": "no"}', "no", "invalid_request_error"),
        (422, b'{"detail": "no"}', "no", "invalid_request_error"),
        (500, b'{"error": "no"}', "no", "server_error"),
        (429, b'{"error": {"message": null}}', NO_MESSAGE, "rate_limit_error"),
    ],
)
def test_an_answer_that_is_no_error_object_becomes_one(
    status: int, body: bytes, message: str, type_: str
) -> None:
    answer = error_reply(status, body)
    assert answer
    error = answer[1]["error"]
    assert isinstance(error, dict)
    assert (answer[0], error["message"], error["type"]) == (status, message, type_)


def test_an_error_object_and_a_redirect_go_on_as_they_came() -> None:
    assert error_reply(400, b'{"error": {"message": "no", "mine": 1}}') is None
    assert error_reply(307, b"<html>") is None
