"""A conversation's id is the same in every turn."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.addon.exchange.conversation_id import conversation_id
from tests.support.rows import rows_of
from tests.support.strategies import law

ROWS = rows_of(__file__)

SYSTEM, FIRST = {"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}
TURN: dict[str, Any] = {"messages": [SYSTEM, FIRST]}
ID = conversation_id(TURN)
BILLING = "x-anthropic-billing-header: cc_version=2.1.197.a1; cch={};"
LATER = [
    {"role": "assistant", "content": "Hi.", "tool_calls": []},
    {"role": "user", "content": "More"},
    {"role": "tool", "content": "1", "tool_call_id": "a"},
    {"role": "system", "content": "late"},
    {"role": "developer", "content": "late"},
    None,
]


def test_the_id_is_short_hex() -> None:
    assert re.fullmatch("[0-9a-f]{16}", ID)


@law(100)
@given(
    st.lists(st.sampled_from(LATER), max_size=6),
    st.dictionaries(st.sampled_from(["model", "stream", "temperature"]), st.integers()),
)
def test_later_turns_and_settings_do_not_change_it(
    later: list[object], others: dict[str, int]
) -> None:
    assert conversation_id({**others, "messages": [SYSTEM, FIRST, *later]}) == ID


def parts(*texts: str) -> list[dict[str, object]]:
    return [
        {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}} for text in texts
    ]


@pytest.mark.parametrize("body", ROWS["the same text in another form is the same conversation"])
def test_the_same_text_in_another_form_is_the_same_conversation(body: dict[str, object]) -> None:
    assert conversation_id(body) == ID


def picture(data: str) -> dict[str, object]:
    return {
        "role": "user",
        "content": [
            {"type": "image_url", "image_url": {"url": data}, "cache_control": {"type": data}}
        ],
    }


DIFFERENT: list[dict[str, Any]] = [
    TURN,
    {},
    {"messages": [FIRST]},
    {"messages": [SYSTEM]},
    {"messages": [SYSTEM, {"role": "user", "content": "Be brief."}]},
    {"messages": [{"role": "system", "content": "Hello"}, FIRST]},
    {"messages": [{"role": "system", "content": "Be brief.Hello"}]},
    {"messages": [{"role": "user", "content": "Be brief."}, FIRST]},
    TURN | {"user": "me"},
    TURN | {"user": "you"},
    {"messages": [SYSTEM, picture("data:a")]},
    {"messages": [SYSTEM, picture("data:b")]},
]


def test_other_beginnings_are_other_conversations() -> None:
    assert len({conversation_id(body) for body in DIFFERENT}) == len(DIFFERENT)


def test_the_user_of_a_messages_request_counts_the_same() -> None:
    assert conversation_id(TURN | {"metadata": {"user_id": "me"}}) == conversation_id(
        TURN | {"user": "me"}
    )


def test_a_moved_cache_mark_changes_nothing() -> None:
    unmarked = [{"type": "image_url", "image_url": {"url": "data:a"}}]
    assert conversation_id({"messages": [picture("data:a")]}) == conversation_id(
        {"messages": [{"role": "user", "content": unmarked}]}
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.just("\ud83d"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["role", "content", "text", "a"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@law(300)
@given(st.dictionaries(st.sampled_from(["messages", "system", "user", "metadata"]), JSON))
def test_nothing_a_client_sends_makes_it_raise(body: dict[str, object]) -> None:
    assert len(conversation_id(body)) == 16
