import json

import pytest

from converter.core.dialects.responses.errors import (
    FINAL_CODES,
    error_body,
    error_of_kind,
    error_reply,
    failure,
)

TOO_LONG = "request (20 tokens) exceeds the available context size (10 tokens)"


def test_an_error_has_the_apis_shape() -> None:
    assert error_body("no", 400, "input.0.content") == {
        "error": {
            "message": "no",
            "type": "invalid_request_error",
            "param": "input[0].content",
            "code": None,
        }
    }


@pytest.mark.parametrize(
    ("status", "expected"),
    [(400, 400), (401, 401), (404, 404), (413, 400), (422, 400), (429, 429), (500, 400), (502, 400), (503, 503), (529, 503), (200, 400)],
)  # fmt: skip
def test_what_does_not_heal_is_not_requested_again(status: int, expected: int) -> None:
    assert error_reply(status, b"{}")[0] == expected


def test_the_servers_text_is_kept() -> None:
    status, body = error_reply(500, b'{"error": {"message": "template"}}')
    assert (status, body["error"]["message"]) == (400, "the server answered with status 500: template")  # type: ignore[index]  # fmt: skip
    assert error_reply(400, b"")[1]["error"]["message"] == "the server answered with status 400 and no message"  # type: ignore[index]  # fmt: skip


def test_a_prompt_too_long_has_the_only_code_that_codex_compacts_on() -> None:
    body = json.dumps({"error": {"message": TOO_LONG}}).encode()
    status, answer = error_reply(400, body)
    assert (status, answer["error"]["code"]) == (400, "context_length_exceeded")  # type: ignore[index]
    assert failure(TOO_LONG)["code"] == "context_length_exceeded"


@pytest.mark.parametrize(
    "message",
    [
        "max_output_tokens=900000 cannot be greater than max_model_len=65536",
        "max_completion_tokens is too large: 900000.This model supports at most 4096 completion tokens.",
    ],
)
def test_a_reply_too_long_by_itself_is_no_cause_to_compact(message: str) -> None:
    _, answer = error_reply(400, json.dumps({"error": {"message": message}}).encode())
    error = answer["error"]
    assert isinstance(error, dict)
    assert (error["code"], error["param"]) == ("integer_above_max_value", "max_output_tokens")
    assert error["message"].startswith(
        "input length and `max_tokens` exceed context limit: 0 + 900"
    )
    assert failure(message) == {"code": "invalid_prompt", "message": error["message"]}


@pytest.mark.parametrize(
    ("kind", "status", "code"),
    [
        ("", 0, "server_error"),
        ("api_error", 502, "server_error"),
        ("api_error", 500, "invalid_prompt"),
        ("invalid_request_error", 0, "invalid_prompt"),
        ("", 400, "invalid_prompt"),
        ("", 429, "rate_limit_exceeded"),
    ],
)
def test_a_failure_inside_a_stream_has_its_code(kind: str, status: int, code: str) -> None:
    assert failure("no", kind, status)["code"] == code
    assert (code in FINAL_CODES) == (code == "invalid_prompt")


@pytest.mark.parametrize(
    ("kind", "status", "type_name"),
    [
        ("invalid_request_error", 400, "invalid_request_error"),
        ("api_error", 502, "server_error"),
        ("not_found_error", 404, "invalid_request_error"),
    ],
)
def test_an_error_of_ours_is_one_of_the_api(kind: str, status: int, type_name: str) -> None:
    assert error_of_kind("no", kind, status)["error"]["type"] == type_name  # type: ignore[index]
