"""Calls within thoughts."""

import pytest

from converter.core.reading.engine.thought_calls import ThoughtCalls
from converter.core.reading.tool_calls.head import Expectations

NOW = '<tool_call>{"name": "now", "arguments": {}}</tool_call>'


def _thought_calls(*thoughts: str) -> ThoughtCalls:
    calls = ThoughtCalls(Expectations({"now": {}}, "call_x_"))
    for thought in thoughts:
        for character in thought:
            calls.feed(character)
        calls.end_thought()
    return calls


def test_the_last_call_of_a_thought_counts() -> None:
    (call,) = _thought_calls(f"I look.\n{NOW}").take_calls(answered=True)
    assert (call.name, call.arguments, call.id) == ("now", "{}", "call_x_0")


def test_a_draft_counts_only_where_the_reply_says_nothing_else() -> None:
    assert _thought_calls(f"{NOW}\nor not").take_calls(answered=True) == []
    assert len(_thought_calls(f"{NOW}\nor not").take_calls(answered=False)) == 1


def test_a_thought_that_ends_amid_a_call_has_drafts_before_it() -> None:
    begun = NOW[: -len("}}</tool_call>")]
    assert _thought_calls(f"{NOW}\n{begun}").take_calls(answered=True) == []


def test_the_same_call_twice_is_one() -> None:
    calls = _thought_calls(NOW, NOW)
    assert len(calls.take_calls(answered=False)) == 1
    assert calls.forms == ["hermes"]


@pytest.mark.parametrize(
    ("other", "count"), [('{"b": 2, "a": 1.0}', 1), ('{"a": true, "b": 2}', 2)]
)
def test_so_is_one_that_means_the_same(other: str, count: int) -> None:
    each = [NOW.replace("{}", arguments) for arguments in ('{"a": 1, "b": 2}', other)]
    assert len(_thought_calls(*each).take_calls(answered=False)) == count


def test_a_form_whose_models_do_not_call_in_thoughts_counts_only_alone() -> None:
    text = '[TOOL_CALLS][{"name": "now", "arguments": {}}]'
    assert _thought_calls(text).take_calls(answered=True) == []
    assert len(_thought_calls(text).take_calls(answered=False)) == 1
