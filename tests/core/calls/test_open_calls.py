"""The call of a piece, by the table of names and ids."""

import pytest

from converter.core.calls.arguments import Arguments
from converter.core.calls.open_calls import Call, OpenCalls
from converter.core.model.events import ToolCall

SCHEMAS: dict[str, dict[str, object]] = {"get": {}, "get_weather": {}, "look": {}}
OPEN, WHOLE = '{"a": ', '{"a": 1}'


def begun(server_id: str, name: str, arguments: str) -> tuple[OpenCalls, Call]:
    """Return the calls with one at index 0, which has gone out if it has arguments."""
    calls, call = OpenCalls(SCHEMAS), Call(Arguments(), "tool_calls")
    calls.add(call)
    calls.register(call, ToolCall(0, server_id, name, ""))
    if arguments:
        call.index, call.name = 0, name
        call.arguments.feed(arguments)
    return calls, call


@pytest.mark.parametrize("server_id", ["", "a"], ids=["no id", "an id"])
@pytest.mark.parametrize("arguments", [OPEN, WHOLE], ids=["open", "whole"])
@pytest.mark.parametrize(
    ("name", "id_", "begins"),
    [
        ("", "", "never"),
        ("", "a", "never"),
        ("", "b", "behind a whole call"),
        ("look", "", "behind a whole call without an id"),
        ("look", "b", "behind a whole call, or one with an id"),
        ("get", "", "always"),
        ("get", "a", "always"),
        ("get", "b", "always"),
        ("look<|channel|>commentary", "", "behind a whole call without an id"),
    ],
)
def test_a_name_and_an_id_decide(
    name: str, id_: str, begins: str, arguments: str, server_id: str
) -> None:
    calls, call = begun(server_id, "look", arguments)
    id_ = server_id if id_ == "a" else id_
    whole, has_id = arguments == WHOLE, bool(server_id)
    expected = {
        "never": False,
        "always": True,
        "behind a whole call": whole,
        "behind a whole call without an id": whole and not has_id,
        "behind a whole call, or one with an id": whole or has_id,
    }[begins]
    assert (calls.find(ToolCall(0, id_, name, WHOLE)) is None) is expected
    assert calls.last_at_index(ToolCall(0, "", "", "")) is call


@pytest.mark.parametrize(
    ("pieces", "written"),
    [
        (["get", "_weather"], "get_weather"),
        (["get_w", "get_weather"], "get_weather"),
        (["look", "<|channel|>commentary"], "look<|channel|>commentary"),
    ],
)
def test_a_name_goes_on_while_nothing_else_came(pieces: list[str], written: str) -> None:
    first, second = pieces
    calls, call = begun("a", first, "")
    event = ToolCall(0, "", second, "")
    assert calls.find(event) is call
    calls.register(call, event)
    assert call.server_name == written


def test_an_id_names_a_call_that_stands_at_no_index_any_more() -> None:
    calls, call = begun("a", "look", OPEN)
    other = Call(Arguments(), "tool_calls")
    calls.add(other)
    calls.register(other, ToolCall(0, "b", "get", ""))
    assert calls.find(ToolCall(0, "a", "", "1}")) is call
    assert calls.find(ToolCall(5, "a", "", "1}")) is call
    assert calls.find(ToolCall(5, "a", "look", WHOLE)) is None
