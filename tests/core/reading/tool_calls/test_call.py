"""A call in the making: its name, and arguments that are balanced only when it was whole."""

import pytest

from converter.core.model.events import ToolCall
from converter.core.reading.tool_calls.call import Call


class Made:
    def __init__(self) -> None:
        self.events: list[ToolCall] = []
        self.refusals = 0
        self.call = Call({"now": {"type": "object"}}, self.events.append, self._refuse, 3, "id")

    def _refuse(self) -> None:
        self.refusals += 1

    @property
    def arguments(self) -> str:
        return "".join(event.arguments for event in self.events)


@pytest.mark.parametrize("written", ["now", " now\n", "functions.now", "functions.now:0", "now:12"])
def test_a_name_may_carry_what_models_add(written: str) -> None:
    made = Made()
    assert made.call.named(written)
    assert (made.call.name, made.refusals) == ("now", 0)
    assert made.call.schema == {"type": "object"}


@pytest.mark.parametrize("written", ["", "Now", "now2", "tool.later", "functions."])
def test_any_other_name_refuses_the_call(written: str) -> None:
    made = Made()
    assert not made.call.named(written)
    made.call.open()
    made.call.key("a")
    made.call.complete()
    assert (made.events, made.refusals, made.call.done) == ([], 1, False)


def test_a_call_is_told_in_pieces_its_name_once() -> None:
    made = Made()
    made.call.named("now")
    made.call.open()
    made.call.key('a"')
    made.call.say("1")
    made.call.key("b")
    made.call.say('"x"')
    assert not made.call.done
    made.call.complete()
    assert made.call.done
    assert made.events[0] == ToolCall(3, "id", "now", "")
    assert {(event.id, event.name, event.index) for event in made.events[1:]} == {("", "", 3)}
    assert made.arguments == '{"a\\"": 1, "b": "x"}'


def test_arguments_before_the_name_are_held() -> None:
    made = Made()
    made.call.begin()
    made.call.say('{"a": 1')
    assert made.events == []
    made.call.named("now")
    made.call.complete()
    assert made.arguments == '{"a": 1}'


def test_a_call_without_arguments_has_an_empty_object() -> None:
    made = Made()
    made.call.named("now")
    made.call.complete()
    assert made.arguments == "{}"
