from typing import Any

import pytest

from converter.core.dialects.openai_chat.request_writer import write
from converter.core.dialects.request_settings import RequestSettings
from converter.core.dialects.responses.request_reader import (
    ECHOED,
    UNNOTED_FIELDS,
    echoed_fields,
    read,
)
from converter.core.dialects.server_fields import SERVER_FIELDS
from converter.core.model.conversation import (
    Conversation,
    RequestError,
    Sampling,
    TextBlock,
    ThinkingSwitch,
    ToolUse,
    Turn,
)
from converter.core.wire.checked import Fields
from tests.support.rows import rows_of

ROWS = rows_of(__file__)
FUNCTION = {"type": "function", "name": "f", "parameters": {"type": "object"}}
MCP = {"type": "namespace", "name": "mcp__m", "description": "d", "tools": [FUNCTION]}
CODEX = ROWS["codex"]
"""As Codex 0.169 asks."""


def read_fields(**fields: Any) -> Conversation:
    conversation, _ = read({"model": "m", "input": "hi", **fields})
    return conversation


def test_a_text_is_a_users_message() -> None:
    assert read_fields() == Conversation("m", (Turn("user", (TextBlock("hi"),)),))


def test_a_request_of_codex_becomes_one_that_every_template_takes() -> None:
    conversation, context = read(CODEX)
    body, _ = write(conversation, RequestSettings())
    assert body["messages"] == [
        {"role": "system", "content": "a\n\nb"},
        {"role": "user", "content": "c\n\nd"},
    ]
    assert [tool["function"]["name"] for tool in body["tools"]] == ["f", "mcp__m__f"]  # type: ignore[attr-defined]
    assert body.keys() == {"model", "messages", "tools", "tool_choice", "stream", "stream_options"}
    assert context.wants_encrypted
    assert context.is_codex
    assert not read({"model": "m", "input": "hi"})[1].is_codex
    assert conversation.notes == ("tools left out, which a chat server does not know: web_search",)


def test_lm_studios_check_is_a_request_like_any_other() -> None:
    body, _ = write(read_fields(input="", max_output_tokens=1), RequestSettings())
    assert (body["messages"], body["max_tokens"]) == ([{"role": "user", "content": ""}], 1)


def test_instructions_are_the_system_text() -> None:
    assert read_fields(instructions="be brief").system == ("be brief",)


@pytest.mark.parametrize(
    ("reasoning", "switch", "effort"),
    [
        (None, None, None),
        ({}, None, None),
        ({"summary": "auto"}, None, None),
        ({"effort": "none"}, ThinkingSwitch("disabled"), None),
        ({"effort": "minimal"}, ThinkingSwitch("adaptive"), "low"),
        ({"effort": "ultra"}, ThinkingSwitch("adaptive"), "ultra"),
    ],
)
def test_the_effort_says_whether_to_think(reasoning: Any, switch: object, effort: object) -> None:
    conversation = read_fields(reasoning=reasoning)
    assert (conversation.thinking, conversation.effort) == (switch, effort)


def test_a_schema_keeps_its_name_and_strictness() -> None:
    form = {"type": "json_schema", "name": "n", "schema": {"type": "object"}, "strict": True}
    body, _ = write(read_fields(text={"format": form}), RequestSettings())
    assert body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "n", "schema": {"type": "object"}, "strict": True},
    }


def test_json_without_a_schema_is_requested_as_such() -> None:
    body, _ = write(read_fields(text={"format": {"type": "json_object"}}), RequestSettings())
    assert body["response_format"] == {"type": "json_object"}


def test_limits_and_sampling_are_read() -> None:
    conversation = read_fields(max_output_tokens=5, temperature=0.5, top_p=0.9, top_k=3, user="u", parallel_tool_calls=False)  # fmt: skip
    assert (conversation.max_tokens, conversation.user_id) == (5, "u")
    assert conversation.sampling == Sampling(0.5, 0.9, 3)
    assert not conversation.parallel_tool_use


@pytest.mark.parametrize(
    ("choice", "read_as", "names"), ROWS["the tool choice is read in every form"]
)
def test_the_tool_choice_is_read_in_every_form(
    choice: object, read_as: object, names: list[str]
) -> None:
    conversation = read_fields(tools=[FUNCTION, MCP], tool_choice=choice)
    assert conversation.tool_choice == read_as
    assert [tool.name for tool in conversation.tools] == names


def test_tools_that_come_with_the_input_are_offered() -> None:
    search = {"type": "tool_search", "execution": "client", "description": "d"}
    items = [
        {"type": "additional_tools", "role": "developer", "tools": [search]},
        {"role": "user", "content": "a"},
        {"type": "tool_search_call", "call_id": "c", "execution": "client", "arguments": {}},
        {"type": "tool_search_output", "call_id": "c", "tools": [MCP]},
        {"type": "function_call", "call_id": "d", "name": "f", "namespace": "mcp__m", "arguments": "{}"},
    ]  # fmt: skip
    conversation = read_fields(input=items)
    assert [tool.name for tool in conversation.tools] == ["tool_search", "mcp__m__f"]
    assert conversation.turns[-1].blocks[-1] == ToolUse("d", "mcp__m__f", "{}")


def test_the_history_that_a_memory_completed_stands_for_the_input() -> None:
    items = [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]
    conversation, _ = read({"model": "m", "previous_response_id": "resp_1"}, items)
    assert len(conversation.turns) == 2


@pytest.mark.parametrize(
    ("fields", "path"), ROWS["what cannot be answered is refused with its path"]
)
def test_what_cannot_be_answered_is_refused_with_its_path(
    fields: dict[str, Any], path: str
) -> None:
    with pytest.raises(RequestError) as raised:
        read_fields(**fields)
    assert raised.value.path == path


def test_a_request_that_says_nothing_has_the_apis_defaults() -> None:
    sent = echoed_fields(Fields({}))
    assert sent.items() >= ECHOED.items()
    assert sent["reasoning"] == {"effort": None, "summary": None}
    assert sent["text"] == {"format": {"type": "text"}}
    assert sent["store"] is True


def test_what_the_request_says_is_repeated() -> None:
    sent = echoed_fields(
        Fields({"store": False, "text": {"verbosity": "low"}, "top_p": 0.5, "tools": None})
    )
    assert (sent["store"], sent["top_p"], sent["tools"]) == (False, 0.5, [])
    assert sent["text"] == {"format": {"type": "text"}, "verbosity": "low"}


pytestmark = pytest.mark.slow

ROWS = rows_of(__file__)


def test_fields_of_local_servers_go_to_the_server() -> None:
    fields = {"chat_template_kwargs": {"a": 1}, "stop": ["x"], "seed": 1}
    conversation = read_fields(**fields)
    assert conversation.extensions == fields
    assert conversation.notes == ()


@pytest.mark.parametrize(
    ("fields", "beginning"),
    [
        ({"surprise": 1}, "fields left out, which a chat server does not know: surprise"),
        ({"top_logprobs": 3}, "fields left out, which a chat server does not know: top_logprobs"),
        ({"truncation": "auto"}, "truncation left out"),
        ({"reasoning": {"effort": "wild"}}, "reasoning.effort left out: 'wild'"),
        ({"tool_choice": {"type": "file_search"}}, "tool_choice 'file_search' left out"),
        ({"input": [{"type": "mcp_list_tools"}]}, "items left out"),
    ],
)
def test_what_is_left_out_is_named(fields: dict[str, Any], beginning: str) -> None:
    (note,) = read_fields(**fields).notes
    assert note.startswith(beginning)


def test_a_field_that_means_nothing_here_means_nothing_to_servers() -> None:
    assert not UNNOTED_FIELDS & SERVER_FIELDS


def test_a_history_that_a_memory_completed_is_not_left_out() -> None:
    body = {"model": "m", "input": "Hi", "previous_response_id": "resp_1", "conversation": None}
    conversation, _ = read(body, [{"role": "user", "content": "Hi"}])
    assert conversation.notes == ()
