"""Errors for Anthropic clients."""

import json

import pytest

from converter.core.dialects.anthropic.errors import TYPES, error_body, error_reply
from tests.support.rows import rows_of

ROWS = rows_of(__file__)


def _sent(status: int, body: bytes) -> tuple[int, str, str]:
    sent, error = error_reply(status, body)
    assert error["type"] == "error"
    inner = error["error"]
    assert isinstance(inner, dict)
    return sent, inner["type"], inner["message"]


STATUSES = {
    400: (400, "invalid_request_error"),
    401: (401, "authentication_error"),
    402: (402, "billing_error"),
    403: (403, "permission_error"),
    404: (404, "not_found_error"),
    413: (413, "request_too_large"),
    422: (422, "invalid_request_error"),
    429: (429, "rate_limit_error"),
    500: (500, "api_error"),
    503: (529, "overloaded_error"),
    504: (504, "timeout_error"),
    529: (529, "overloaded_error"),
    502: (502, "api_error"),
}


@pytest.mark.parametrize(("status", "expected"), STATUSES.items())
def test_a_status_has_its_type(status: int, expected: tuple[int, str]) -> None:
    assert _sent(status, b'{"error":{"message":"m","type":"BadRequestError"}}') == (*expected, "m")


MESSAGES = ROWS["messages"]


@pytest.mark.parametrize(("body", "message"), MESSAGES.values(), ids=MESSAGES)
def test_the_servers_text_is_kept_wherever_it_puts_them(body: bytes, message: str) -> None:
    assert _sent(500, body)[2] == message


def test_a_long_page_is_shown_in_part() -> None:
    assert len(_sent(500, b"<p>" + b"word " * 10_000)[2]) <= 400


def test_a_status_that_is_no_error_is_a_bad_gateway() -> None:
    assert _sent(302, b"moved") == (502, "api_error", "the server answered with status 302: moved")


def test_a_status_that_is_no_error_is_reported_once() -> None:
    assert _sent(302, b"")[2].count("302") == 1


@pytest.mark.parametrize("kind", [*TYPES.values(), "api_error"])
def test_a_kind_of_the_api_is_kept(kind: str) -> None:
    assert error_body("m", kind) == {"type": "error", "error": {"type": kind, "message": "m"}}


@pytest.mark.parametrize("kind", ["BadRequestError", "", "server_error"])
def test_another_kind_is_an_api_error(kind: str) -> None:
    assert error_body("m", kind) == {
        "type": "error",
        "error": {"type": "api_error", "message": "m"},
    }


OVERFLOWS = {
    "llama.cpp": "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it",
    "vLLM": "This model's maximum context length is 4096 tokens. However, you requested 5200 tokens (5000 in the messages, "
    "200 in the completion).",
    "newer vLLM": "This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens.",
    "SGLang": "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
}


@pytest.mark.parametrize("message", OVERFLOWS.values(), ids=OVERFLOWS)
def test_a_prompt_beyond_the_context_is_reported_so_that_claude_code_compacts(message: str) -> None:
    body = json.dumps({"error": {"message": message, "type": "BadRequestError"}}).encode()
    assert _sent(400, body) == (
        400,
        "invalid_request_error",
        "prompt is too long: 5000 tokens > 4096 maximum",
    )
