"""Messages of a request's JSON, whatever its dialect and however wrong."""

import pytest

from converter.core.model.raw_messages import (
    alike,
    content_of,
    known_by,
    messages_of,
    role_of,
    strings_of,
    texts_in,
    texts_of,
    with_each,
    with_messages,
)

ASKED = {"role": "user", "content": "Hi"}
IN_PARTS = {"role": "user", "content": [{"type": "text", "text": "Hi", "cache_control": {}}]}
ODD: list[object] = [
    None,
    7,
    "Hi",
    [],
    {},
    {"role": 7, "content": 7},
    {"content": [None, {"text": 7}]},
]


@pytest.mark.parametrize("name", ["messages", "input"])
def test_messages_stand_under_one_of_two_names(name: str) -> None:
    assert messages_of({name: [ASKED]}) == [ASKED]
    assert not messages_of({name: "Hi"})


def test_a_message_is_known_by_its_words_and_not_by_its_form() -> None:
    assert known_by(ASKED) == known_by(IN_PARTS)
    assert alike([ASKED, IN_PARTS], [IN_PARTS, ASKED, ASKED]) == 2
    assert alike([ASKED], [{"role": "user", "content": "Ho"}]) == 0


def test_words_that_move_are_not_known() -> None:
    reminded = "<system-reminder>10:30</system-reminder>\nHi"
    assert known_by({"role": "user", "content": reminded}) == known_by(ASKED)


def test_a_thought_is_told_from_text() -> None:
    message = {"role": "assistant", "reasoning_content": "a", "content": [{"text": "b"}]}
    assert sorted(texts_in(message)) == [(False, "b"), (True, "a")]


def test_the_prompt_is_told_in_the_order_of_templates() -> None:
    body = {
        "messages": [ASKED],
        "system": "Be brief.",
        "tools": [{"type": "function", "function": {"name": "f"}}],
    }
    assert [*texts_of(body)] == ["tool f", "the system text", "message 0 (user)"]


@pytest.mark.parametrize("odd", ODD)
def test_odd_messages_raise_nothing(odd: object) -> None:
    assert isinstance(known_by(odd), str)
    assert isinstance(role_of(odd), str)
    assert content_of(odd) is None or isinstance(odd, dict)
    assert isinstance([*texts_in(odd)], list)
    assert texts_of({"messages": [odd], "tools": [odd]}).keys()


def test_strings_are_told_in_their_order_and_as_deep_as_wanted() -> None:
    value = {"a": "1", "b": ["2", {"c": "3"}], "d": "4"}
    assert [*strings_of(value)] == ["1", "2", "3", "4"]
    assert [*strings_of(value, 1)] == ["1", "4"]


@pytest.mark.parametrize("name", ["messages", "input"])
def test_each_message_is_changed_at_its_place(name: str) -> None:
    body = {"model": "m", name: [ASKED, 7]}
    changed = with_each(body, lambda message: {**ASKED, "content": "Ho"} if message == ASKED else 7)
    assert changed == {"model": "m", name: [{**ASKED, "content": "Ho"}, 7]}
    assert body[name] == [ASKED, 7]


@pytest.mark.parametrize("body", [{}, {"messages": [ASKED]}, {"messages": 7}, {"input": "Hi"}])
def test_a_request_of_which_nothing_changes_is_itself(body: dict[str, object]) -> None:
    assert with_each(body, lambda message: message) is body


@pytest.mark.parametrize(
    ("body", "field"),
    [({"messages": [1], "a": 2}, "messages"), ({"input": [1], "a": 2}, "input"), ({}, "messages")],
)
def test_other_messages_stand_where_a_request_holds_them(
    body: dict[str, object], field: str
) -> None:
    assert with_messages(body, (3,)) == {**body, field: [3]}
