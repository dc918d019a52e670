"""Servers' reports about a model, in the shape of each server."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.core.dialects.model_facts import ModelFacts, created_at, facts_of, read, with_facts
from tests.support.strategies import law

LLAMA_PROPS = {
    "default_generation_settings": {"n_ctx": 8192},
    "modalities": {"vision": True, "audio": False},
    "chat_template_caps": {"supports_tools": False},
}
STUDIO = {"id": "m", "type": "vlm", "capabilities": ["tool_use"], "max_context_length": 131072}
STUDIO_V1 = {
    "key": "m",
    "type": "llm",
    "max_context_length": 131072,
    "loaded_instances": [{"id": "m", "config": {"context_length": 4096}}],
    "capabilities": {"vision": False, "trained_for_tool_use": True, "reasoning": {"default": "on"}},
}
GATEWAY = {
    "id": "m",
    "context_length": 9000,
    "architecture": {"input_modalities": ["text", "image"]},
    "top_provider": {"max_completion_tokens": 500},
    "supported_parameters": ["tools", "reasoning"],
}
SHOWN = {"capabilities": ["completion", "tools"], "model_info": {"qwen3.context_length": 40960}}
CASES: dict[str, tuple[dict[str, object], ModelFacts]] = {
    "llama.cpp": ({"/props": LLAMA_PROPS}, ModelFacts(8192, calls_tools=False, sees=True)),
    "vLLM and NIM": (
        {"/v1/models": {"data": [{"id": "m", "max_model_len": 4096}]}},
        ModelFacts(4096),
    ),
    "SGLang": (
        {
            "/v1/models": {"data": [{"id": "m", "max_model_len": 4096}]},
            "/get_model_info": {"model_path": "org/m", "has_image_understanding": False},
        },
        ModelFacts(4096, sees=False),
    ),
    "SGLang 0.5.23": (
        {
            "/v1/models": {"data": [{"id": "m", "max_model_len": 4096}]},
            "/model_info": {
                "reasoning_parser": "qwen3",
                "tool_call_parser": None,
                "has_image_understanding": False,
            },
        },
        ModelFacts(4096, sees=False, parsers=("reasoning parser: qwen3", "tool-call parser: none")),
    ),
    "LM Studio, not loaded": (
        {"/api/v0/models": {"data": [STUDIO]}},
        ModelFacts(calls_tools=True, sees=True),
    ),
    "LM Studio, loaded": (
        {"/api/v0/models": {"data": [STUDIO | {"loaded_context_length": 4096}]}},
        ModelFacts(4096, calls_tools=True, sees=True),
    ),
    "LM Studio's newer API": (
        {"/api/v1/models": {"models": [STUDIO_V1]}},
        ModelFacts(4096, thinks=True, calls_tools=True, sees=False),
    ),
    "Ollama": (
        {"/api/ps": {"models": [{"name": "m", "context_length": 4096}]}, "/api/show": SHOWN},
        ModelFacts(4096, thinks=False, calls_tools=True, sees=False),
    ),
    "Ollama 0.34": (
        {"/api/show": SHOWN | {"thinking": {"values": ["low", "high"], "default": "low"}}},
        ModelFacts(thinks=True, calls_tools=True, sees=False),
    ),
    "llama.cpp of autumn 2026": (
        {"/v1/models": {"data": [{"id": "m", "architecture": {"input_modalities": ["text"]}}]}},
        ModelFacts(sees=False),
    ),
    "a gateway": (
        {"/v1/models": {"data": [GATEWAY]}},
        ModelFacts(9000, 500, thinks=True, calls_tools=True, sees=True),
    ),
    "nothing": ({"/v1/models": {"data": [{"id": "m"}]}, "/props": None}, ModelFacts()),
    "a window trained for": (
        {"/v1/models": {"data": [{"id": "m", "meta": {"n_ctx_train": 65536}}]}},
        ModelFacts(),
    ),
}


@pytest.mark.parametrize(("listed", "facts"), CASES.values(), ids=CASES)
def test_each_server_is_taken_at_its_word(listed: dict[str, object], facts: ModelFacts) -> None:
    assert read(listed, "m") == facts


def test_no_model_speaks_for_another() -> None:
    others = [{"id": "x", "max_model_len": 1}, {"id": "y", "capabilities": ["vision"]}]
    assert read({"/v1/models": {"data": others}}, "m") == ModelFacts()
    assert read({"/v1/models": {"data": others}}, "y") == ModelFacts(sees=True)


def test_the_only_model_is_meant_by_another_name() -> None:
    assert read({"/v1/models": {"data": [{"id": "x", "n_ctx": 8}]}}, "m") == ModelFacts(8)


@pytest.mark.parametrize("size", [True, 0, -1, "4096", 4096.5, None], ids=repr)
def test_what_is_no_size_is_no_window(size: object) -> None:
    assert facts_of({"id": "m", "max_model_len": size}) == ModelFacts()


_NAMES = st.sampled_from(
    ["data", "id", "n_ctx", "capabilities", "input_modalities", "type", "modalities"]
)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["m", "vision", "vlm"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=4),
    max_leaves=12,
)


@law(200)
@given(value=_JSON, path=st.sampled_from(["/v1/models", "/props", "/api/show"]))
def test_whatever_a_server_says_a_fact_is_of_its_kind(value: object, path: str) -> None:
    facts = read({path: json.loads(json.dumps(value))}, "m")
    assert facts.window is None or facts.window > 0
    assert {type(each) for each in (facts.thinks, facts.calls_tools, facts.sees)} <= {
        bool,
        type(None),
    }


def test_facts_are_reported_in_a_line() -> None:
    facts = ModelFacts(40_960, 8_192, thinks=True, sees=False)
    assert facts.line == (
        "a window of 40,960 tokens, thinks: yes, sees pictures: no, longest reply: 8,192 tokens"
    )
    assert ModelFacts().line == ""


def _with_facts(entry: object) -> object:
    listed = with_facts(json.dumps({"object": "list", "data": [entry]}).encode())
    return listed and listed["data"]


def test_a_list_gets_the_names_that_agents_read() -> None:
    vllm = {"id": "m", "max_model_len": 4096}
    assert _with_facts(vllm) == [{**vllm, "context_length": 4096}]
    studio = {**STUDIO, "loaded_context_length": 4096}
    assert _with_facts(studio) == [
        {
            **studio,
            "context_length": 4096,
            "supported_parameters": ["tools"],
            "input_modalities": ["text", "image"],
        }
    ]


def test_what_is_reported_already_or_unknown_stays_as_it_is() -> None:
    assert _with_facts({"id": "m"}) is None
    assert _with_facts(GATEWAY) == [{**GATEWAY, "max_output_tokens": 500}]
    for body in (b"", b"[1]", b'"no"', b'{"data": [1, null]}', b'{"models": []}'):
        assert with_facts(body) is None


def test_a_model_of_unknown_date_is_of_the_epoch() -> None:
    assert created_at({"created": 1_700_000_000}) == "2023-11-14T22:13:20Z"
    for created in (None, "yesterday", True, 0, -1, 10**15, 10**30):
        assert created_at({"created": created}) == "1970-01-01T00:00:00Z"
