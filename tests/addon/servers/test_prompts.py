"""Tools written as text, for a server that takes no tools."""

import json
from typing import Any

import pytest

from converter.addon.servers.prompts import (
    CALL_STYLES,
    HERMES,
    CallStyle,
    call_style_of,
    describe_tools,
)
from converter.core.model.events import Event, ToolCall, joined
from converter.core.reading.tool_calls.head import Expectations
from tests.support.call_engine import call_engine
from tests.support.rows import rows_of

ROWS = rows_of(__file__)

TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}
USER_TURN = {"role": "user", "content": "Is it warm in Oslo?"}
CALL = {
    "id": "c1",
    "type": "function",
    "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'},
}
CALLED = {"role": "assistant", "content": "I look.", "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "5 degrees"}


def sent(*messages: object, **fields: object) -> dict[str, Any]:
    body = describe_tools({"model": "m", "messages": list(messages), "tools": [TOOL], **fields})
    assert body is not None
    return body


def system(**fields: object) -> str:
    return str(sent(USER_TURN, **fields)["messages"][0]["content"])


def test_tools_are_written_into_the_system_turn_and_gone_from_the_request() -> None:
    body = sent(USER_TURN, tool_choice="auto", parallel_tool_calls=True, temperature=0)
    assert set(body) == {"model", "messages", "temperature"}
    first, second = body["messages"]
    assert first["role"] == "system"
    assert json.dumps(TOOL) in first["content"].splitlines()
    assert '<tool_call>\n{"name": "the tool", "arguments": ' in first["content"]
    assert second == USER_TURN


@pytest.mark.parametrize("role", ["system", "developer"])
@pytest.mark.parametrize("content", ["Be brief.", [{"type": "text", "text": "Be brief."}]])
def test_they_stand_behind_what_the_system_turn_says(role: str, content: object) -> None:
    first = sent({"role": role, "content": content}, USER_TURN)["messages"][0]
    assert first["role"] == role
    assert first["content"].startswith("Be brief.\n\n# Tools\n")


def test_earlier_calls_and_results_become_text() -> None:
    assert sent(USER_TURN, "no message", CALLED, RESULT)["messages"][1:] == [
        USER_TURN,
        {
            "role": "assistant",
            "content": "I look.\n<tool_call>\n"
            '{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>',
        },
        {"role": "user", "content": "<tool_response>\n5 degrees\n</tool_response>"},
    ]


def test_results_in_a_row_and_the_text_behind_them_are_one_turn() -> None:
    last = sent(CALLED, RESULT, RESULT, {"role": "user", "content": "So?"})["messages"][-1]
    one = "<tool_response>\n5 degrees\n</tool_response>"
    assert last == {"role": "user", "content": f"{one}\n{one}\nSo?"}


def test_answers_in_a_row_stay_turns_of_their_own() -> None:
    reply = {"role": "assistant", "content": "I look."}
    assert sent(USER_TURN, reply, reply)["messages"][1:] == [USER_TURN, reply, reply]


def test_a_turn_with_an_image_stays_as_it_is() -> None:
    image = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}
    assert sent(USER_TURN, image)["messages"][1:] == [USER_TURN, image]


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ('{"a": 1}', {"a": 1}),
        ({"a": 1}, {"a": 1}),
        ("", {}),
        ("no JSON", {"arguments": "no JSON"}),
        ("[1]", {"arguments": "[1]"}),
        (None, {}),
    ],
)
def test_arguments_of_any_kind_are_written(arguments: object, wanted: object) -> None:
    call = {"function": {"name": "f", "arguments": arguments}}
    message = sent({"role": "assistant", "content": None, "tool_calls": [call, "x"]})["messages"][1]
    assert json.loads(message["content"].split("\n")[1])["arguments"] == wanted


@pytest.mark.parametrize(("fields", "ending"), ROWS["the requested use of calls is written"])
def test_the_requested_use_of_calls_is_written(fields: dict[str, object], ending: str) -> None:
    assert system(**fields).endswith(ending)


def test_where_no_call_is_wanted_no_tools_are_written_but_the_history_is_text() -> None:
    body = sent(USER_TURN, CALLED, RESULT, tool_choice="none")
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    assert "tools" not in body


@pytest.mark.parametrize(
    "body", [{}, {"messages": []}, {"messages": [], "tools": []}, {"messages": 1, "tools": [TOOL]}]
)
def test_a_request_without_tools_is_left_alone(body: dict[str, object]) -> None:
    assert describe_tools(body) is None


@pytest.mark.parametrize(("model", "family"), ROWS["the models name tells the family"])
def test_the_models_name_tells_the_family(model: str, family: str) -> None:
    assert call_style_of(model).name == family


@pytest.mark.parametrize("family", [*CALL_STYLES, HERMES], ids=lambda family: family.name)
def test_what_a_family_writes_is_read_as_its_calls(family: CallStyle) -> None:
    """The words in the prompt are an example of what the parser knows under the same name."""
    arguments = {"city": "Oslo", "note": "a\nb"}
    parser = call_engine(Expectations({"get_weather": {}}))
    events: list[Event] = joined(
        [*parser.feed(family.write_call("get_weather", arguments)), *parser.flush()]
    )
    (call,) = events
    assert isinstance(call, ToolCall)
    assert json.loads(call.arguments) == arguments
    assert [call.form for call in parser.calls.read if call.whole] == [family.name]
