"""Messages of a request's JSON, whatever its dialect and however wrong."""

import pytest

from converter.core.model.raw_messages import (
    all_messages,
    begun_message,
    content_of,
    content_parts,
    content_texts,
    entries_of,
    fingerprint_of,
    map_messages,
    map_parts,
    messages_of,
    prompt_texts,
    role_of,
    shared_count,
    strings_of,
    texts_in,
    with_messages,
)
from tests.support.rows import rows_of

ROWS = rows_of(__file__)

TURN = {"role": "user", "content": "Hi"}
IN_PARTS = {"role": "user", "content": [{"type": "text", "text": "Hi", "cache_control": {}}]}
ODD: list[object] = ROWS["odd"]


@pytest.mark.parametrize("name", ["messages", "input"])
def test_messages_stand_under_one_of_two_names(name: str) -> None:
    assert messages_of({name: [TURN]}) == [TURN]
    assert not messages_of({name: "Hi"})
    assert [*all_messages({name: [IN_PARTS]})] == [IN_PARTS]
    assert [*all_messages({name: "Hi"})] == [TURN]


def test_a_reply_goes_on_from_the_models_own_last_message() -> None:
    begun = {"role": "assistant", "content": "Well,"}
    assert begun_message({"messages": [TURN, begun]}) is begun
    assert begun_message({"messages": [begun, TURN]}) is None
    assert begun_message({}) is None


def test_the_texts_of_a_content_are_plain_or_in_parts() -> None:
    parts = [{"type": "text", "text": "a"}, "b", {"text": 7}, {"type": "text", "text": ""}]
    assert [*content_texts({"content": parts})] == ["a", ""]
    assert [*content_texts(TURN)] == ["Hi"]
    assert [*content_texts({"reasoning": "hm"})] == []


def test_each_part_of_a_content_is_changed_at_its_index() -> None:
    parts = [{"type": "text", "text": "a"}, "b"]
    message = {"role": "user", "content": parts}
    assert content_parts(message) == parts
    assert map_parts(message, str) == {**message, "content": [*map(str, parts)]}
    without: list[object] = [TURN, 7, {"content": []}]
    assert [map_parts(each, str) for each in without] == without
    assert not any(map(content_parts, without))


def test_a_call_is_the_message_itself_or_stands_in_one_of_two_fields() -> None:
    call, block = {"function": {"name": "f"}}, {"type": "tool_use", "name": "f"}
    message = {"role": "assistant", "tool_calls": [call, 7], "content": [block, "Hi"]}
    assert [*entries_of(message)] == [message, call, block]
    assert [*entries_of(TURN)] == [TURN]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("in 2024", "in 2025", True),
        ("on 2024-01-05 at 9:10", "on 2025-12-31 at 10:11", True),
        ("a Monday", "a Tuesday", True),
        ("port 12024", "port 12025", False),
        ("x-anthropic-billing-header: a\nHi", "x-anthropic-billing-header: b\nHi", True),
        ("the x-anthropic-billing-header: a", "the x-anthropic-billing-header: b", False),
    ],
)
def test_a_message_is_matched_without_what_moves(one: str, other: str, same: bool) -> None:
    first, then = ({"role": "user", "content": text} for text in (one, other))
    assert (fingerprint_of(first) == fingerprint_of(then)) is same


def test_a_prompt_has_the_system_text_of_either_field() -> None:
    for name in ("system", "instructions"):
        assert prompt_texts({name: "be short", "input": [TURN]})["the system text"] == "be short"


def test_a_message_is_matched_by_its_text_and_not_by_its_form() -> None:
    assert fingerprint_of(TURN) == fingerprint_of(IN_PARTS)
    assert shared_count([TURN, IN_PARTS], [IN_PARTS, TURN, TURN]) == 2
    assert shared_count([TURN], [{"role": "user", "content": "Ho"}]) == 0


def test_the_prompt_is_listed_in_the_order_of_templates() -> None:
    body = {
        "messages": [TURN],
        "system": "Be brief.",
        "tools": [{"type": "function", "function": {"name": "f"}}],
    }
    assert [*prompt_texts(body)] == ["tool f", "the system text", "message 0 (user)"]


@pytest.mark.parametrize("odd", ODD)
def test_odd_messages_raise_nothing(odd: object) -> None:
    assert isinstance(fingerprint_of(odd), str)
    assert isinstance(role_of(odd), str)
    assert content_of(odd) is None or isinstance(odd, dict)
    assert isinstance([*texts_in(odd)], list)
    assert isinstance([*content_texts(odd), *entries_of(odd)], list)
    assert prompt_texts({"messages": [odd], "tools": [odd]}).keys()


def test_strings_are_listed_in_their_order_and_as_deep_as_wanted() -> None:
    value = {"a": "1", "b": ["2", {"c": "3"}], "d": "4"}
    assert [*strings_of(value)] == ["1", "2", "3", "4"]
    assert [*strings_of(value, 1)] == ["1", "4"]


@pytest.mark.parametrize("name", ["messages", "input"])
def test_each_message_is_changed_at_its_index(name: str) -> None:
    body = {"model": "m", name: [TURN, 7]}
    changed = map_messages(body, lambda each: {**TURN, "content": "Ho"} if each == TURN else 7)
    assert changed == {"model": "m", name: [{**TURN, "content": "Ho"}, 7]}
    assert body[name] == [TURN, 7]


@pytest.mark.parametrize("body", [{}, {"messages": [TURN]}, {"messages": 7}, {"input": "Hi"}])
def test_a_request_of_which_nothing_changes_is_itself(body: dict[str, object]) -> None:
    assert map_messages(body, lambda message: message) is body


@pytest.mark.parametrize(
    ("body", "field"),
    [({"messages": [1], "a": 2}, "messages"), ({"input": [1], "a": 2}, "input"), ({}, "messages")],
)
def test_other_messages_stand_where_a_request_holds_them(
    body: dict[str, object], field: str
) -> None:
    assert with_messages(body, (3,)) == {**body, field: [3]}
