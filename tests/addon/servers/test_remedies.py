"""Remedies for errors that come back for every request."""

import json

import pytest

from converter.addon.servers import remedies
from converter.core.dialects.error_words import server_message

UNKNOWN = [
    (404, "The model `claude-x` does not exist."),  # vLLM 0.32
    (404, 'model "claude-x" not found, try pulling it first'),  # Ollama 0.5
    (400, "Invalid model name passed in model=claude-x. model_not_found"),  # LiteLLM 1.108
    (404, "No such model: claude-x"),
]


@pytest.mark.parametrize(("status", "message"), UNKNOWN)
def test_a_model_that_is_not_served_is_seen(status: int, message: str) -> None:
    assert remedies.is_unknown_model(status, message)
    assert not remedies.is_unknown_model(500, message)


@pytest.mark.parametrize(
    "message",
    ["Not Found", "This model's maximum context length is 4096 tokens", "image model is loading"],
)
def test_other_errors_are_none_of_a_model(message: str) -> None:
    assert not remedies.is_unknown_model(404, message)
    assert not remedies.is_unknown_model(400, message)


def test_the_models_that_are_served_are_named_with_a_line_to_copy() -> None:
    remedy = remedies.model_remedy("claude-x", ["qwen", "a\nb", "it's"])
    assert "the server serves qwen: ask for" in remedy
    assert "--set 'think_models=*=qwen'" in remedy
    assert "and 3 more" in remedies.model_remedy("x", [f"m{number}" for number in range(8)])
    assert remedies.model_remedy("x", []) == remedies.model_remedy("qwen", ["qwen"]) == ""


@pytest.mark.parametrize(
    "error",
    [
        {"error": {"message": "It is gone.", "type": "NotFoundError", "code": 404}},
        {"error": "It is gone."},
        {"object": "error", "message": "It is gone.", "code": 404},
        {"detail": "It is gone."},
        {"detail": [{"msg": "It is gone"}]},
        "",
    ],
)
def test_an_error_keeps_its_shape(error: object) -> None:
    body = json.dumps(error).encode() if error else b"<html>gone"
    changed = remedies.with_remedy(body, "start it")
    assert server_message(changed).endswith("start it")
    if isinstance(error, dict):
        value = json.loads(changed)
        assert value.keys() >= error.keys()
        assert "It is gone" in server_message(changed)
        assert ". Remedy: start it" in server_message(changed)
