"""Turns in an order that a chat template takes: all texts stay, in their order."""

from typing import Any

import pytest

from converter.addon.servers.refused_turns import (
    with_alternating_turns,
    with_continuation,
    with_one_begun_turn,
    with_one_system_turn,
    without_thought_behind_prefill,
)
from converter.core.dialects.openai_chat.request_writer import INLINE_SYSTEM
from tests.support.rows import rows_of

ROWS = rows_of(__file__)

type Turn = dict[str, Any]
ASK: Turn = {"role": "user", "content": "q"}
BEGUN: Turn = {"role": "assistant", "content": "{"}
CALL: Turn = {"role": "assistant", "content": None, "tool_calls": [{"id": "c"}]}
LATER = INLINE_SYSTEM.format("B")


def system(text: str, role: str = "system") -> Turn:
    return {"role": role, "content": text}


def test_a_prefill_goes_out_with_thinking_off() -> None:
    request = {"messages": [ASK, BEGUN], "chat_template_kwargs": {"x": 1, "enable_thinking": True}}
    changed = without_thought_behind_prefill(request)
    kwargs: Any = changed["chat_template_kwargs"]
    assert (kwargs["x"], kwargs["enable_thinking"], kwargs["thinking"]) == (1, False, False)
    assert changed["messages"] == request["messages"]


def test_a_prefill_is_marked_as_to_be_continued() -> None:
    changed = with_continuation({"messages": [ASK, BEGUN]})
    assert (changed["continue_final_message"], changed["add_generation_prompt"]) == (True, False)


@pytest.mark.parametrize("turns", [[], [ASK], [ASK, CALL], ["no message"]])
@pytest.mark.parametrize(
    "change", [without_thought_behind_prefill, with_continuation, with_one_begun_turn]
)
def test_a_request_that_ends_otherwise_stays_the_same(turns: list[Any], change: Any) -> None:
    body = {"messages": turns}
    assert change(body) is body


def test_turns_that_are_to_go_on_are_one() -> None:
    changed = with_one_begun_turn({"messages": [ASK, BEGUN, BEGUN, BEGUN]})
    assert changed["messages"] == [ASK, {"role": "assistant", "content": "{\n\n{\n\n{"}]
    named = {**BEGUN, "name": "n"}
    body = {"messages": [ASK, named, BEGUN]}
    assert with_one_begun_turn(body) is body


@pytest.mark.parametrize(("turns", "sent"), ROWS["one system turn stands at the head"])
def test_one_system_turn_stands_at_the_head(turns: list[Turn], sent: list[Turn]) -> None:
    changed = with_one_system_turn({"messages": turns})
    assert changed["messages"] == sent
    assert with_one_system_turn(changed) is changed


def test_turns_stay_in_the_field_that_holds_them() -> None:
    changed = with_alternating_turns({"input": [ASK, ASK]})
    assert changed == {"input": [{"role": "user", "content": "q\n\nq"}]}


def test_user_and_model_take_turns() -> None:
    changed = with_alternating_turns(
        {"messages": [system("A"), ASK, ASK, BEGUN, BEGUN, system("B"), ASK]}
    )
    assert changed["messages"] == [
        system("A"),
        {"role": "user", "content": "q\n\nq"},
        {"role": "assistant", "content": "{\n\n{"},
        {"role": "user", "content": f"{LATER}\n\nq"},
    ]
    assert with_alternating_turns(changed) is changed
