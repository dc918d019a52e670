"""Earlier calls: ids as a model's template needs them, arguments that are objects."""

from typing import Any

import pytest

from converter.addon.servers.earlier_calls import with_ids_of_model, with_object_arguments
from tests.support.rows import rows_of

ROWS = rows_of(__file__)

MODEL = "moonshotai/Kimi-K2.7-Code"


def call(id_: str, name: str = "bash") -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": "{}"}}


def turn(*calls: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": [*calls]}


def result(id_: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id_, "content": "x"}


def ids(*messages: dict[str, Any]) -> list[str]:
    written: Any = with_ids_of_model({"model": MODEL, "messages": [*messages]})
    sent: list[str] = []
    for message in written["messages"]:
        sent += [each["id"] for each in message.get("tool_calls", ())]
        sent += [message["tool_call_id"]] if "tool_call_id" in message else []
    return sent


def test_ids_of_others_become_the_names_with_a_count() -> None:
    sent = ids(
        turn(call("toolu_1")), result("toolu_1"), turn(call("call_b", "read")), result("call_b")
    )
    assert sent == ["functions.bash:0", "functions.bash:0", "functions.read:1", "functions.read:1"]


def test_parallel_calls_have_their_own_results_whatever_their_order() -> None:
    sent = ids(turn(call("a"), call("b", "read")), result("b"), result("a"))
    assert sent == ["functions.bash:0", "functions.read:1", "functions.read:1", "functions.bash:0"]


def test_calls_that_share_an_id_have_their_results_in_order() -> None:
    sent = ids(turn(call("a"), call("a", "read")), result("a"), result("a"))
    assert sent[2:] == ["functions.bash:0", "functions.read:1"]


def test_an_id_that_comes_again_in_a_later_turn_is_that_turns() -> None:
    sent = ids(turn(call("a")), result("a"), turn(call("a", "read")), result("a"))
    assert sent == ["functions.bash:0", "functions.bash:0", "functions.read:1", "functions.read:1"]


def test_the_models_own_ids_stay_and_no_id_comes_twice() -> None:
    own = "functions.bash:1"
    sent = ids(turn(call("a")), result("a"), turn(call(own)), result(own), turn(call("c")))
    assert sent == [*["functions.bash:0"] * 2, *[own] * 2, "functions.bash:2"]
    assert ids(turn(call(own)), result(own), turn(call("b"))) == [own, own, "functions.bash:2"]


def test_a_longer_history_begins_with_the_same_ids() -> None:
    turns = [turn(call("a"), call("b")), result("a"), result("b"), turn(call("c")), result("c")]
    assert ids(*turns)[: len(ids(*turns[:3]))] == ids(*turns[:3])


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [{"role": "user", "content": "hi"}],
        [turn(call("functions.bash:0")), result("functions.bash:0")],
        [{"role": "assistant", "tool_calls": None}, {"role": "tool"}, "odd"],
        [{"role": "assistant", "tool_calls": [{"id": "a", "type": "custom"}, 5]}],
    ],
)
def test_a_history_that_needs_nothing_is_the_same_object(messages: list[object]) -> None:
    body = {"model": MODEL, "messages": messages}
    assert with_ids_of_model(body) is body


@pytest.mark.parametrize(("model", "sent"), ROWS["the models name decides the form"])
def test_the_models_name_decides_the_form(model: str | None, sent: str) -> None:
    body = {"model": model, "messages": [turn(call("toolu_1")), result("toolu_1"), "odd"]}
    written: Any = with_ids_of_model(body)
    assert written["messages"][0]["tool_calls"][0]["id"] == sent
    assert written["messages"][1]["tool_call_id"] == sent


def test_short_ids_stay() -> None:
    body = {"model": "mistral", "messages": [turn(call("AbCdEf123")), {"tool_calls": [5]}]}
    assert with_ids_of_model(body) is body


@pytest.mark.parametrize(
    ("written", "sent"), ROWS["a call in a history has an object as arguments"]
)
def test_a_call_in_a_history_has_an_object_as_arguments(written: object, sent: str | None) -> None:
    call = {"id": "a", "function": {"name": "f", "arguments": written}}
    message = {"role": "assistant", "tool_calls": [call, 5]}
    changed: Any = with_object_arguments(message)
    assert (changed is message) == (sent is None)
    assert changed["tool_calls"][0]["function"]["arguments"] == (sent or written)


def test_arguments_are_written_anew_for_a_reader_that_takes_less() -> None:
    call = {"function": {"arguments": '{"a": "\\ud83d", "a": 1e999}'}}
    changed: Any = with_object_arguments({"tool_calls": [call]}, anew=True)
    assert changed["tool_calls"][0]["function"]["arguments"] == '{"a":null}'
