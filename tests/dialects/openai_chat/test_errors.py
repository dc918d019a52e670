"""Errors in OpenAI's shape."""

import json

import pytest

from converter.dialects.openai_chat.errors import error_body


@pytest.mark.parametrize(
    ("kind", "status", "type_", "code"),
    [
        ("api_error", 502, "server_error", 502),
        ("invalid_request_error", 400, "invalid_request_error", 400),
        ("request_too_large", 413, "invalid_request_error", 413),
        ("", 0, "server_error", None),
    ],
)
def test_an_error_tells_words_type_and_code(
    kind: str, status: int, type_: str, code: int | None
) -> None:
    error = {"message": "no", "type": type_, "param": None, "code": code}
    assert json.loads(error_body("no", kind, status)) == {"error": error}
