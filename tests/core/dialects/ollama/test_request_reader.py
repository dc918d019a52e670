"""Requests of Ollama's API, read."""

from typing import Any

import pytest

from converter.core.dialects.ollama.request_reader import read
from converter.core.model.conversation import (
    Conversation,
    Data,
    Image,
    RequestError,
    TextBlock,
    ThinkingBlock,
    ThinkingSwitch,
    ToolResult,
    ToolUse,
    Turn,
)

MESSAGES = [{"role": "user", "content": "Why?"}]


def _read(**fields: object) -> Conversation:
    body: dict[str, Any] = {"model": "small", "messages": MESSAGES, **fields}
    return read(body)


def test_it_streams_unless_it_says_otherwise() -> None:
    assert _read().stream
    assert not _read(stream=False).stream


def test_options_go_where_a_server_takes_them_and_the_others_are_reported() -> None:
    request = _read(
        options={"num_predict": 9, "temperature": 0, "top_k": 3, "seed": 4, "num_ctx": 8192}
    )
    assert (request.max_tokens, request.sampling.temperature, request.sampling.top_k) == (9, 0, 3)
    assert request.extensions == {"seed": 4}
    assert request.notes == ("left out, because no server takes it with a request: num_ctx",)
    assert _read(options={"num_predict": -1}).max_tokens is None
    assert _read(options={"stop": ["a", ""]}).stop_sequences == ("a",)


@pytest.mark.parametrize(
    ("think", "switch", "effort"),
    [
        (None, None, None),
        (True, ThinkingSwitch("enabled"), None),
        (False, ThinkingSwitch("disabled"), None),
        ("high", ThinkingSwitch("enabled"), "high"),
    ],
)
def test_thinking_is_requested_in_its_terms(
    think: object, switch: ThinkingSwitch | None, effort: str | None
) -> None:
    request = _read(think=think)
    assert (request.thinking, request.effort) == (switch, effort)


def test_a_format_is_a_schema_or_any_json() -> None:
    assert _read(format={"type": "object"}).output_schema == {"type": "object"}
    assert _read(format="json").extensions == {"response_format": {"type": "json_object"}}
    assert _read(format="").output_schema is None


def test_results_find_their_calls_by_id_by_tool_and_by_order() -> None:
    names = ("look", "hear", "look")
    calls = [{"function": {"name": name, "arguments": dict[str, object]()}} for name in names]
    results: list[dict[str, object]] = [
        {"role": "tool", "content": "1", "tool_name": "hear"},
        {"role": "tool", "content": "2"},
        {"role": "tool", "content": "3", "tool_call_id": "mine"},
    ]
    thought = {"role": "assistant", "thinking": "hm", "content": "", "tool_calls": calls}
    request = _read(messages=[{"role": "system", "content": "Be."}, *MESSAGES, thought, *results])
    assert request.turns[0] == Turn("system", (TextBlock("Be."),))
    uses = tuple(ToolUse(f"call_{at + 1}", n, "{}") for at, n in enumerate(names))
    assert request.turns[2] == Turn("assistant", (ThinkingBlock("hm"), *uses))
    emitted = [block for turn in request.turns[3:] for block in turn.blocks]
    assert [each.tool_use_id for each in emitted if isinstance(each, ToolResult)] == [
        "call_2",
        "call_1",
        "mine",
    ]


def test_calls_without_ids_are_counted_through_the_conversation() -> None:
    call = {"function": {"name": "look", "arguments": dict[str, object]()}}
    messages = [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "content": "1"}]
    turns = _read(messages=[*messages, *messages]).turns
    assert [turn.blocks for turn in turns[::2]] == [
        (ToolUse("call_1", "look", "{}"),),
        (ToolUse("call_2", "look", "{}"),),
    ]


def test_fields_of_the_models_time_and_window_are_reported() -> None:
    request = _read(keep_alive=-1, truncate=True, shift=False, top_logprobs=2)
    assert request.notes == (
        "left out, because no server takes it with a request: top_logprobs, keep_alive, truncate",
    )


def test_pictures_are_of_the_kind_that_they_begin_as() -> None:
    (turn,) = _read(messages=[{"role": "user", "content": "", "images": ["/9j/4A", "AAAA"]}]).turns
    sources = [block.source for block in turn.blocks if isinstance(block, Image)]
    assert sources == [Data("image/jpeg", "/9j/4A"), Data("image/png", "AAAA")]


def test_a_prompt_is_a_conversation_of_one_turn() -> None:
    request = read({"model": "small", "prompt": "Why?", "system": "Be.", "raw": True})
    system, user = Turn("system", (TextBlock("Be."),)), Turn("user", (TextBlock("Why?"),))
    assert request.turns == (system, user)
    assert request.own == "generate"
    assert request.notes == ("left out, because no server takes it with a request: raw",)


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"think": "some"}, "think"),
        ({"messages": [{"role": "judge"}]}, "messages.0.role"),
        ({"messages": [{"role": "user", "images": [3]}]}, "messages.0.images.0"),
        ({"messages": "Hi"}, "messages"),
        ({"format": 3}, "format"),
    ],
)
def test_what_breaks_the_format_is_reported_with_its_path(
    fields: dict[str, object], path: str
) -> None:
    with pytest.raises(RequestError) as refused:
        _read(**fields)
    assert refused.value.path == path
