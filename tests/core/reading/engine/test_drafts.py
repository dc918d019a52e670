"""Calls within thoughts."""

from converter.core.reading.engine.drafts import Drafts
from converter.core.reading.tool_calls.reading import Expectations

NOW = '<tool_call>{"name": "now", "arguments": {}}</tool_call>'


def _drafts(*thoughts: str) -> Drafts:
    drafts = Drafts(Expectations({"now": {}}, "call_x_"))
    for thought in thoughts:
        for character in thought:
            drafts.feed(character)
        drafts.end()
    return drafts


def test_the_last_thing_that_a_thought_says_counts() -> None:
    (call,) = _drafts(f"I look.\n{NOW}").take(answered=True)
    assert (call.name, call.arguments, call.id) == ("now", "{}", "call_x_0")


def test_a_draft_counts_only_where_the_reply_says_nothing_else() -> None:
    assert _drafts(f"{NOW}\nor not").take(answered=True) == []
    assert len(_drafts(f"{NOW}\nor not").take(answered=False)) == 1


def test_a_thought_that_ends_amid_a_call_has_drafts_before_it() -> None:
    begun = NOW[: -len("}}</tool_call>")]
    assert _drafts(f"{NOW}\n{begun}").take(answered=True) == []


def test_the_same_call_twice_is_one() -> None:
    drafts = _drafts(NOW, NOW)
    assert len(drafts.take(answered=False)) == 1
    assert drafts.forms == ["hermes"]


def test_a_form_whose_models_do_not_call_in_thoughts_counts_only_alone() -> None:
    text = '[TOOL_CALLS][{"name": "now", "arguments": {}}]'
    assert _drafts(text).take(answered=True) == []
    assert len(_drafts(text).take(answered=False)) == 1
