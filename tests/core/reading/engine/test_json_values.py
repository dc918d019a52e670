"""Where JSON begins and ends in an answer."""

from converter.core.reading.engine.json_values import JsonValues
from converter.core.reading.engine.states import State


def test_a_reply_that_may_be_a_call_is_json_from_its_head() -> None:
    values = JsonValues(wanted=False)
    values.look(State.HEAD, offered=True)
    assert values.waits
    assert values.begins(' {"a"', 5) == 1
    assert values.begins('a {"a"', 6) is None
    values.look(State.ANSWERING, offered=True)
    assert not values.waits


def test_an_answer_that_is_to_be_json_may_begin_it_anywhere() -> None:
    values = JsonValues(wanted=True)
    values.look(State.ANSWERING, offered=False)
    assert values.begins('So: {"a"', 8) == 4
    assert values.firsts == "[{"


def test_a_value_ends_at_its_last_bracket() -> None:
    values = JsonValues(wanted=False)
    assert values.ends("}") is None
    values.begin()
    assert values.ends('{"a": "}') is None
    assert values.ends('"} b') == 2
