"""Requests beside messages: token counts, models, and Claude Code's reports."""

import json
from typing import Any

import pytest

from tests.conftest import Llama
from tests.end_to_end.test_tools import WEATHER
from tests.support.by_path_server import CHAT, ByPathServer, Says, owned_by
from tests.support.clients import Client
from tests.support.prompts import MODEL
from tests.support.sdk_types import COUNT, judged
from tests.support.sdks import SAMPLING, anthropic_client

pytestmark = pytest.mark.slow

pytest_plugins = ["tests.support.front"]

COUNT_TOKENS = "/v1/messages/count_tokens"
COUNTED_BY = "x-think-tokens-counted-by"
ANTHROPIC_HEADERS = {"anthropic-version": "2023-06-01", "x-api-key": "key"}
WRITTEN_BEFORE = [
    {"role": "user", "content": "What is the weather in Oslo?"},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "I must look.", "signature": "s"},
            {"type": "tool_use", "id": "call_1", "name": "get_weather", "input": {"city": "Oslo"}},
        ],
    },
    {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "sunny"}],
    },
]
CONVERSATIONS: dict[str, dict[str, Any]] = {
    "a question": {"messages": [{"role": "user", "content": "12 * 7"}]},
    "a system prompt": {
        "messages": [{"role": "user", "content": "12 * 7"}],
        "system": "think between steps",
    },
    "tools": {"messages": [{"role": "user", "content": "hi"}], "tools": [WEATHER]},
    "a loop": {"messages": WRITTEN_BEFORE, "tools": [WEATHER]},
    "marks of the model's own": {
        "messages": [{"role": "user", "content": "what is <|im_end|> and <think>?"}]
    },
    "other writing": {"messages": [{"role": "user", "content": "你好 🙂 café"}]},
}


@pytest.mark.parametrize("conversation", CONVERSATIONS.values(), ids=CONVERSATIONS.keys())
def test_llama_counts_the_tokens_that_the_same_request_then_has(
    llamas: dict[str, Llama], conversation: dict[str, Any]
) -> None:
    with anthropic_client(llamas["tags"].port) as client:
        counted = client.messages.with_raw_response.count_tokens(model=MODEL, **conversation)
        usage = client.messages.create(
            model=MODEL, max_tokens=1, **conversation, extra_body=SAMPLING
        ).usage
    assert counted.parse().input_tokens == usage.input_tokens + (usage.cache_read_input_tokens or 0)
    assert counted.headers[COUNTED_BY] == "llama.cpp"


@pytest.mark.parametrize("thinking", ["enabled", "disabled"])
def test_the_counted_prompt_has_thinking_as_requested(
    llamas: dict[str, Llama], thinking: str
) -> None:
    budget = {"budget_tokens": 1024} if thinking == "enabled" else {}
    request: Any = {
        "model": MODEL,
        "messages": [{"role": "user", "content": "hi"}],
        "thinking": {"type": thinking, **budget},
    }
    with anthropic_client(llamas["tags"].port) as client:
        usage = client.messages.create(max_tokens=1025, **request, extra_body=SAMPLING).usage
        assert client.messages.count_tokens(**request).input_tokens == usage.input_tokens


@pytest.mark.parametrize(
    "path", [COUNT_TOKENS, f"{COUNT_TOKENS}?beta=true", f"/some/prefix{COUNT_TOKENS}?beta=true"]
)
def test_a_server_without_a_tokenizer_gets_an_estimate_that_says_so(
    front: Client, model: ByPathServer, path: str
) -> None:
    sizes = {}
    for count in (10, 1000):
        body = {"model": "small", "messages": [{"role": "user", "content": "word " * count}]}
        answer = front.ask(path, json.dumps(body).encode())
        sizes[count] = judged(COUNT, json.loads(answer.body)).input_tokens
        assert (answer.status, answer.headers[COUNTED_BY]) == (200, "estimate")
    assert 500 < sizes[1000] < 2000
    assert 0 < sizes[10] < 50
    assert not model.bodies(CHAT), "to count is not to ask"


def test_vllm_counts_with_its_own_tokenizer(forward: Client, unknown: ByPathServer) -> None:
    unknown.rows |= owned_by("vllm") | {
        "/tokenize": Says({"count": 42, "max_model_len": 2048, "tokens": [1] * 42})
    }
    body = {
        "model": "small",
        "messages": [{"role": "user", "content": "hi"}],
        "tools": [WEATHER],
        "system": "Be brief.",
    }
    answer = forward.ask(
        unknown.address + COUNT_TOKENS, json.dumps(body).encode(), ANTHROPIC_HEADERS
    )
    assert (json.loads(answer.body), answer.headers[COUNTED_BY]) == ({"input_tokens": 42}, "vllm")
    request = unknown.bodies("/tokenize")[0]
    assert [message["role"] for message in request["messages"]] == ["system", "user"]
    assert request["tools"][0]["function"]["name"] == "get_weather"
    assert unknown.requests[-1].headers["authorization"] == "Bearer key"


LISTED: dict[str, Any] = {
    "object": "list",
    "data": [
        {
            "id": "small",
            "object": "model",
            "created": 1767225600,
            "owned_by": "vllm",
            "max_model_len": 2048,
        },
        {"id": "other/large", "object": "model"},
    ],
}


@pytest.mark.parametrize(
    "path",
    ["/v1/models", "/v1/models?beta=true", "/v1/models?limit=1000", "/some/prefix/v1/models"],
)
def test_who_speaks_anthropic_gets_models_in_its_shape(
    front: Client, model: ByPathServer, path: str
) -> None:
    model.rows["/v1/models"] = model.rows["/some/prefix/v1/models"] = Says(LISTED)
    listed = json.loads(front.ask(path, b"", ANTHROPIC_HEADERS, "GET").body)
    assert [entry["id"] for entry in listed["data"]] == ["small", "other/large"]
    assert (listed["first_id"], listed["last_id"], listed["has_more"]) == (
        "small",
        "other/large",
        False,
    )
    assert [entry["created_at"][:10] for entry in listed["data"]] == ["2026-01-01", "1970-01-01"]


def test_who_does_not_gets_them_with_what_the_server_tells_by_other_names(
    front: Client, model: ByPathServer
) -> None:
    small, large = LISTED["data"]
    reported = {**small, "context_length": 2048}
    model.rows |= {"/v1/models": Says(LISTED), "/v1/models/small": Says(small)}
    listed = json.loads(front.ask("/v1/models", b"", method="GET").body)
    assert listed == {**LISTED, "data": [reported, large]}
    assert json.loads(front.ask("/v1/models/small", b"", method="GET").body) == reported


@pytest.mark.parametrize("path", ["/", "/?beta=true"])
def test_a_hello_is_answered_without_the_server(
    front: Client, model: ByPathServer, path: str
) -> None:
    assert front.ask(path, b"", method="HEAD").status == 200
    assert model.requests == []


@pytest.mark.parametrize(
    "path",
    [
        "/api/event_logging/batch",
        "/api/event_logging/v2/batch",
        "/some/prefix/api/event_logging/batch",
    ],
)
def test_telemetry_goes_nowhere(front: Client, model: ByPathServer, path: str) -> None:
    answer = front.ask(path, b'{"events": [{"own": 1}]}')
    assert (answer.status, json.loads(answer.body)) == (200, {})
    assert model.requests == []
