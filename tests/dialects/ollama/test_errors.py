"""Errors in the words of Ollama's API."""

import json

import pytest

from converter.dialects.ollama.errors import error_body, error_reply


def test_an_error_is_one_text() -> None:
    assert json.loads(error_body("busy", "api_error", 500)) == {"error": "busy"}


@pytest.mark.parametrize("code", [400, 404, 429, 500])
def test_a_servers_error_keeps_its_status_and_its_words(code: int) -> None:
    said = json.dumps({"error": {"message": "no such model", "code": code}}).encode()
    status, body = error_reply(code, said) or (0, b"")
    assert (status, json.loads(body)) == (code, {"error": "no such model"})


def test_an_error_of_the_dialect_goes_on_as_it_came() -> None:
    assert error_reply(404, b'{"error":"model \'x\' not found"}') is None


def test_an_answer_that_is_no_reply_is_a_bad_gateway() -> None:
    status, body = error_reply(302, b"") or (0, b"")
    assert status == 502
    assert "302" in json.loads(body)["error"]
