"""Calls within a thought: which count, and when."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.model.events import ToolCall
from converter.parsing.tool_calls.reading import Expectations
from converter.parsing.tool_calls.thought_calls import ThoughtCalls
from converter.wire.bounds import HELD_LIMIT
from tests.support.strategies import cut, law
from tests.support.tool_call_texts import TOOLS, WRITTEN

KNOWN = ["hermes", "qwen3-coder", "qwen3-coder, bare", "glm", "kimi", "minimax", "apertus"]
UNKNOWN = ["mistral-args", "llama", "cohere", "json", "fenced", "python", "deepseek"]
OSLO = ("get_weather", {"city": "Oslo"})
ROME = ("get_weather", {"city": "Rome"})
NOW = '<tool_call>{"name": "now", "arguments": {}}</tool_call>'
OTHER = '<tool_call>{"name": "get_weather", "arguments": {}}</tool_call>'


def read(
    *thoughts: str, answered: bool = False, asked: Expectations | None = None
) -> list[tuple[str, object]]:
    calls = ThoughtCalls(asked or Expectations(TOOLS))
    for thought in thoughts:
        calls.feed(thought)
        calls.end()
    return [(call.name, json.loads(call.arguments)) for call in calls.take(answered)]


@pytest.mark.parametrize("name", KNOWN)
def test_calls_of_forms_whose_models_call_in_thoughts_count(name: str) -> None:
    thought = f"I look.\n\n{WRITTEN[name].write([OSLO, ROME])}\n"
    assert read(thought) == read(thought, answered=True) == [OSLO, ROME]


@pytest.mark.parametrize("name", UNKNOWN)
def test_calls_of_other_forms_are_words(name: str) -> None:
    assert read(WRITTEN[name].write([OSLO])) == []


@pytest.mark.parametrize(
    ("thoughts", "answered", "wanted"),
    [
        ((f"I look.\n{NOW}",), True, ["now"]),
        ((f"{NOW}\n \n",), True, ["now"]),
        ((f"{NOW}\nbut no, that would be wrong.",), True, []),
        ((f"{NOW}\nThen I wait.",), False, ["now"]),
        ((f"{NOW}\nor rather\n{OTHER}",), True, ["get_weather"]),
        ((f"{NOW}\nor rather\n{OTHER}",), False, ["now", "get_weather"]),
        ((f"{NOW}", "Was that right?"), True, ["now"]),
        ((f"{NOW}, no.", f"{OTHER}"), True, ["get_weather"]),
        ((f"{NOW}\n{NOW}",), False, ["now"]),
        ((NOW, NOW), False, ["now"]),
        ((f"I write {NOW} here.",), False, []),
        ((f"`{NOW}` is it.",), False, []),
        ((f"```\n{NOW}\n```",), False, []),
        ((NOW[:-20],), False, []),
        ((f"{NOW[:30]}", f"{NOW[30:]}"), False, []),
    ],
)
def test_a_draft_is_no_call(thoughts: tuple[str, ...], answered: bool, wanted: list[str]) -> None:
    assert [name for name, _ in read(*thoughts, answered=answered)] == wanted


def test_calls_are_counted_anew_and_are_of_their_choice() -> None:
    calls = ThoughtCalls(Expectations(TOOLS, "call_x_", 2))
    calls.feed(f"[TOOL_CALLS]now[ARGS]{{}}\n{NOW}")
    assert calls.take(False) == [ToolCall(0, "call_x_0", "now", "{}", 2)]
    assert calls.forms == ["hermes"]


def test_with_one_call_asked_for_only_the_first_counts() -> None:
    assert read(f"{NOW}\n{OTHER}", asked=Expectations(TOOLS, most=1)) == [("now", {})]


def test_too_many_words_in_calls_are_no_calls_and_are_not_kept() -> None:
    calls = ThoughtCalls(Expectations(TOOLS))
    long = '<tool_call>{"name": "write_file", "arguments": {"content": "'
    for piece in (long, *["a" * 1000] * (HELD_LIMIT // 1000 + 100), '"}}</tool_call>', NOW):
        calls.feed(piece)
    assert calls.take(False) == []
    assert sum(map(len, calls._arguments[0])) < HELD_LIMIT + 3000


@law(200)
@given(st.data())
def test_a_thought_cut_anywhere_has_the_same_calls(data: st.DataObject) -> None:
    words = st.sampled_from([NOW, OTHER, "\n", "I look. ", "`", "a ", NOW[:20], "```\n"])
    thought = "".join(data.draw(st.lists(words, max_size=6)))
    answered = data.draw(st.booleans())
    calls = ThoughtCalls(Expectations(TOOLS))
    for piece in data.draw(cut(thought)):
        calls.feed(piece)
    got = [(call.name, json.loads(call.arguments)) for call in calls.take(answered)]
    assert got == read(thought, answered=answered)
