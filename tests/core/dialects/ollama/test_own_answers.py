"""Requests of Ollama's clients beside replies: running and served models, their abilities."""

import json
from typing import Any

import pytest

from converter.core.dialects.dialect import OwnRequest
from converter.core.dialects.ollama.own_answers import COUNTERPARTS, answer, error_body, error_reply
from converter.core.model.conversation import RequestError
from converter.core.model.memory import Memory
from converter.core.wire.checked import Fields

LLAMA = {
    "id": "Qwen3-8B",
    "created": 1_700_000_000,
    "meta": {"n_ctx": 8192, "n_params": 8_190_735_360, "size": 5_000_000_000},
}
VLLM = {"id": "org/GLM-4.5V", "max_model_len": 65536, "capabilities": ["vision"]}


def answer_to(method: str, path: str, page: bool = False, **body: object) -> tuple[int, Any]:
    answer_to = OwnRequest(
        method, path, json.dumps(body).encode(), model_entries=(LLAMA, VLLM), wants_page=page
    )
    answered = answer(answer_to, Memory())
    assert answered
    return answered


def test_it_runs_and_says_which_api_it_speaks() -> None:
    assert answer_to("GET", "/") == (200, "Ollama is running")
    status, answer = answer_to("GET", "/api/version")
    assert (status, list(answer)) == (200, ["version"])
    assert all(part.isdecimal() for part in answer["version"].split("."))


def test_a_browser_gets_the_servers_own_page() -> None:
    assert answer(OwnRequest("GET", "/", wants_page=True), Memory()) is None


def test_models_are_listed_as_served() -> None:
    listed = answer_to("GET", "/api/tags")[1]["models"]
    assert [each["model"] for each in listed] == ["Qwen3-8B", "org/GLM-4.5V"]
    assert listed[0]["modified_at"] == "2023-11-14T22:13:20Z"
    assert listed[0]["details"]["family"] == "qwen3"
    assert listed[0]["details"]["parameter_size"] == "8.2B"
    assert listed[0]["digest"] != listed[1]["digest"], "clients take one digest for one model"
    loaded = answer_to("GET", "/api/ps")[1]["models"]
    assert [each["context_length"] for each in loaded] == [8192, 65536]


@pytest.mark.parametrize(
    ("name", "family", "length", "sees"),
    [
        ("Qwen3-8B", "qwen3", 8192, False),
        ("Qwen3-8B:latest", "qwen3", 8192, False),
        ("org/GLM-4.5V", "glm-4.5", 65536, True),
    ],
)
def test_a_model_is_shown_with_what_it_can(name: str, family: str, length: int, sees: bool) -> None:
    status, answer = answer_to("POST", "/api/show", model=name)
    assert status == 200
    assert answer["model_info"]["general.architecture"] == family
    assert answer["model_info"][f"{family}.context_length"] == length
    assert ("vision" in answer["capabilities"]) is sees
    assert {"completion", "tools", "thinking"} <= set(answer["capabilities"])
    assert answer["thinking"]["values"][:2] == [False, True]
    assert b"null" not in json.dumps(answer).encode()


def test_what_the_server_denies_or_never_reported_is_not_claimed() -> None:
    """`n_ctx_train` is what a model was made for, and no window that it was loaded with."""
    entry: dict[str, object] = {
        "id": "m",
        "meta": {"n_ctx_train": 65536},
        "capabilities": {"reasoning": False},
    }
    answer_to = OwnRequest("POST", "/api/show", b'{"model": "m"}', model_entries=(entry,))
    answered = answer(answer_to, Memory())
    assert answered
    assert isinstance(answered[1], dict)
    assert answered[1]["capabilities"] == ["completion", "tools"]
    assert "thinking" not in answered[1]
    assert answered[1]["parameters"] == ""


def test_a_model_that_is_not_served_is_refused() -> None:
    assert answer_to("POST", "/api/show", model="other") == (
        404,
        {"error": "model 'other' not found"},
    )


@pytest.mark.parametrize("path", ["/api/pull", "/api/create", "/api/delete"])
def test_nothing_can_be_managed_here(path: str) -> None:
    status, answer = answer_to("POST", path, model="x")
    assert (status, list(answer)) == (501, ["error"])


def test_an_error_is_one_text() -> None:
    assert error_body("busy", "api_error", 500) == {"error": "busy"}


@pytest.mark.parametrize("code", [400, 404, 429, 500])
def test_a_servers_error_keeps_its_status_and_its_text(code: int) -> None:
    error = json.dumps({"error": {"message": "no such model", "code": code}}).encode()
    status, body = error_reply(code, error) or (0, {})
    assert (status, body) == (code, {"error": "no such model"})


def test_an_error_of_the_dialect_goes_on_as_it_came() -> None:
    assert error_reply(404, b'{"error":"model \'x\' not found"}') is None


def test_an_answer_that_is_no_reply_is_a_bad_gateway() -> None:
    status, body = error_reply(302, b"") or (0, {})
    assert status == 502
    assert "302" in str(body["error"])


EMBED, OLDER = COUNTERPARTS["/api/embed"], COUNTERPARTS["/api/embeddings"]
REPLY = {
    "model": "m",
    "data": [{"index": 1, "embedding": [0.5]}, {"index": 0, "embedding": [0.25, -1e-05]}],
    "usage": {"prompt_tokens": 3},
}


def test_the_server_gets_a_request_for_vectors_of_the_same_texts() -> None:
    answer_to = {"model": "m", "input": ["a", "b"], "truncate": True, "keep_alive": 5}
    own = {"model": "m", "input": ["a", "b"], "encoding_format": "float"}
    assert EMBED.request(Fields(answer_to)) == own
    assert EMBED.request(Fields({**answer_to, "dimensions": 64})) == {**own, "dimensions": 64}
    assert OLDER.request(Fields({"model": "m", "prompt": "a"})) == {**own, "input": "a"}


def test_vectors_come_in_the_order_of_the_texts() -> None:
    expected = {"model": "m", "embeddings": [[0.25, -1e-05], [0.5]], "prompt_eval_count": 3}
    assert EMBED.reply(Fields(REPLY), 7) == expected | {"total_duration": 7}
    assert OLDER.reply(Fields(REPLY), 7) == {"embedding": [0.25, -1e-05]}


@pytest.mark.parametrize("took", [0, -1])
def test_a_time_that_nobody_knows_is_left_out(took: int) -> None:
    assert "total_duration" not in EMBED.reply(Fields(REPLY), took)


@pytest.mark.parametrize("fields", [{}, {"model": "m"}, {"input": "a"}, {"model": 1, "input": "a"}])
def test_a_request_without_text_or_model_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises(RequestError):
        EMBED.request(Fields(fields))


@pytest.mark.parametrize("reply", [{}, {"data": {}}, {"data": [{}]}, {"data": [1]}])
def test_an_answer_without_vectors_is_none(reply: dict[str, object]) -> None:
    with pytest.raises(RequestError):
        EMBED.reply(Fields(reply), 7)
