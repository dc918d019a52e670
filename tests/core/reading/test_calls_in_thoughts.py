"""Marks that begin a tool call in the text, and marks in prose about a call."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.core.reading.beginning import Mode
from converter.core.reading.engine.behind_mark import may_begin_call
from converter.core.reading.engine.context import Context
from converter.core.reading.engine.engine import Engine
from converter.core.reading.engine.mark_table import (
    GUARDED,
    CallMark,
    mark_table,
    openers_in_thought,
)
from converter.core.reading.family_choice import choose
from converter.core.reading.mark_search import NeedMore
from converter.core.reading.rows import Counts
from converter.core.reading.tool_calls.forms import FORMS
from laws.oracle_blocks import Block
from tests.core.reading.test_thoughts import parse
from tests.support.call_engine import held_by
from tests.support.read_back import blocks_of
from tests.support.strategies import every_so_many, law

CASES = [
    ("\n", '\n{"name"', True),
    ("", '{"name"', True),
    (". ", '{"name"', True),
    ("  ", '{"name"', True),
    ("about ", '{"name"', False),
    ("then, ", '{"name"', False),
    (".", "[", True),
    ("\n", "\n<function=run>", True),
    ("e", "get_weather\n", True),
    (". ", "get_weather\n", True),
    (": ", "get_weather<arg_key>", True),
    ("\n", "\nget_weather", True),
    ("\n", "", True),
    (". ", "", False),
    (". ", " mark", False),
    (". ", "s are", False),
    ("a ", "", False),
    ("\n", " mark", False),
    ("\n", "</tool_call>", False),
    ("\n", ".", False),
    ("\n", "` is", False),
    ("`", "{", False),
    ('"', "{", False),
    ("(", "{", False),
    ("\n", " " * 65 + "{", False),
]


def begins_call(before: str, behind: str, last: bool) -> bool | None:
    context = Context()
    context.feed(before)
    try:
        return may_begin_call(context.position, behind, last)
    except NeedMore:
        return None


@pytest.mark.parametrize(("before", "behind", "call"), CASES)
def test_a_mark_that_prose_may_say_begins_a_call_where_one_goes_on(
    before: str, behind: str, call: bool
) -> None:
    assert begins_call(before, behind, last=True) is call


@law(500)
@given(
    st.sampled_from(["", "\n", ". ", "a ", "e", "`"]),
    st.lists(st.sampled_from(["{", "<", "/", "a", "name", " ", "\n", ".", "("]), max_size=8),
)
def test_what_is_decided_early_stays(before: str, behind: list[str]) -> None:
    text = "".join(behind)
    early = [begins_call(before, text[:end], last=False) for end in range(len(text))]
    decided = [answer for answer in early if answer is not None]
    assert set(decided) <= {begins_call(before, text, last=True)}


def test_with_tools_more_marks_end_a_thought() -> None:
    assert set(openers_in_thought(offered=False)) < set(openers_in_thought(offered=True))
    assert set(openers_in_thought(offered=True)) == {row.mark for row in ENDING}
    assert set(openers_in_thought(offered=True)) < set(GUARDED)


def test_marks_are_those_of_the_forms_that_end_a_thought() -> None:
    ending = [
        form for form in FORMS if form.counts not in (Counts.IN_ANSWERS, Counts.AS_WHOLE_REPLY)
    ]
    assert {row.mark for row in ENDING} == {mark for form in ending for mark, _ in form.pairs}
    assert not GUARDED["[TOOL_CALLS]"].ends_thought(offered=True)


@pytest.mark.parametrize("row", GUARDED.values(), ids=lambda row: row.mark)
@pytest.mark.parametrize("before", ["", "Yes.\n"])
def test_nothing_is_a_tag_in_a_call_in_the_text(row: CallMark, before: str) -> None:
    call = f'{row.mark}{{"a": "<think>b</think>"}}{row.close}'
    for offset in every_so_many(range(len(before + call))):
        pieces = [(before + call)[:offset], (before + call)[offset:] + " so"]
        assert parse(pieces, tools_offered=True) == [Block("text", f"{before}{call} so")]


BARE = [
    '{"name": "f", "arguments": {"a": "%s"}}',
    '[{"name": "f", "arguments": {"a": "%s"}}]',
    "[f(a='%s')]",
    'I call <tool_call>{"name": "f", "arguments": {"a": "%s"}}</tool_call>',
]


@pytest.mark.parametrize("call", BARE)
@pytest.mark.parametrize("tag", ["<think>", "</think>", "<think>x</think>", "<thinking a='1'/>"])
@pytest.mark.parametrize("start", [Mode.ANSWERING, Mode.UNDECIDED])
def test_nothing_is_a_tag_in_a_call_without_its_mark(call: str, tag: str, start: Mode) -> None:
    text = call % tag
    for offset in every_so_many(range(len(text))):
        assert parse([text[:offset], text[offset:]], start, tools_offered=True) == [
            Block("text", text)
        ]


@pytest.mark.parametrize("tag", ["<think>", "</think>", "<think>x</think>"])
@pytest.mark.parametrize("start", [Mode.ANSWERING, Mode.UNDECIDED])
def test_in_an_answer_that_is_json_a_string_holds_no_tag(tag: str, start: Mode) -> None:
    answer = f'{{"doc": "write {tag} first", "n": [1, "{tag}"]}}'
    thought = [Block("thinking", "plan")] if start is Mode.ANSWERING else []
    text = f"<think>plan</think>{answer}" if thought else answer
    parser = Engine(mark_table(choose(["auto"])), start, json_answer=True)
    out = [event for character in text for event in parser.feed(character)]
    assert blocks_of([*out, *parser.flush()]) == [*thought, Block("text", answer)]


ENDING = [row for row in GUARDED.values() if row.ends_thought(offered=True)]


@pytest.mark.parametrize("row", ENDING, ids=lambda row: row.mark)
def test_every_mark_ends_a_thought_and_its_call_is_text(row: CallMark) -> None:
    call = f'{row.mark}{{"a": "<think>"}}{row.close}'
    for tags, text in (("think", f"<think>a\n{call}b"), ("auto", f"a\n{call}b")):
        families = choose([tags])
        mode = Mode.ANSWERING if tags == "think" else Mode.THINKING
        expected = [Block("thinking", "a"), Block("text", call + "b")]
        for offset in range(len(text)):
            pieces = [text[:offset], text[offset:]]
            assert parse(pieces, mode, families, tools_offered=True) == expected


THOUGHTS = [
    "The format is <tool_call>, then JSON, then </tool_call>. I can do that.",
    "I must not write <tool_call> here, because no tool fits.",
    "`<tool_call>{}</tool_call>` is what Hermes wants.",
    "The template says:\n```\n<tool_call>\n{\"name\": ...}\n</tool_call>\n```\nSo I follow it.",
    "~~~xml\n<tool_call>\n<function=run>\n~~~\nis Qwen's.",
    "Should I use '<tool_call>' or \"<tool_calls>\"? Neither.",
    "<tool_call> and <tool_calls> are marks.",
    "It may write <tool_call>\n{\"name\": 1}</tool_call> there, hm.",
    "Two <tool_call>s would do (<tool_call>{...} each).",
    "An empty <tool_call></tool_call> is an error.",
    "The mark:\n<tool_call>, alone in its line.",
    "- <tool_call> opens\n- </tool_call> closes",
    "<function=run> without the outer mark, <invoke name=\"run\"> too.",
    "[TOOL_CALLS]run[ARGS]{} is how Mistral calls.",
]  # fmt: skip


@pytest.mark.parametrize("thought", THOUGHTS)
@pytest.mark.parametrize("tools_offered", [False, True])
def test_thoughts_about_marks_survive_wherever_they_are_cut(
    thought: str, tools_offered: bool
) -> None:
    text = f"<think>{thought}</think>so"
    expected = [Block("thinking", thought), Block("text", "so")]
    for offset in range(len(text)):
        pieces = [text[:offset], text[offset:]]
        assert parse(pieces, tools_offered=tools_offered) == expected


@pytest.mark.parametrize("thought", THOUGHTS)
def test_answers_about_marks_pass_unchanged(thought: str) -> None:
    assert parse(list(thought), tools_offered=True) == [Block("text", thought)]


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("<think>a\n<tool_call>", "<tool_call>"),
        ("<think>a <tool_call> ", ""),
        ("<think>a. <tool_call> ", "<tool_call> "),
        ("<think>a. <tool_call> m", ""),
        ("<think>a. <tool_call>run", "<tool_call>run"),
        ("<think>a. <tool_call>{", "<tool_call>{"),
        ("<think>a<|tool_call_begin|>", "<|tool_call_begin|>"),
    ],
)
def test_no_more_is_held_than_it_takes_to_decide(text: str, held: str) -> None:
    parser = Engine(mark_table(choose(["auto"])))
    parser.feed(text)
    assert held_by(parser) == held
