"""Marks that begin a tool call in the text, and marks in prose about a call."""

import pytest

from converter.core.reading.beginning import Mode
from converter.core.reading.engine.engine import Engine
from converter.core.reading.engine.mark_table import FULL_MARKS, mark_table, openers_in_thought
from converter.core.reading.family_choice import choose
from converter.core.reading.rows import Counts
from converter.core.reading.tool_calls.forms import FORMS
from laws.oracle_blocks import Block
from tests.core.reading.test_thoughts import parse
from tests.support.call_engine import held_by
from tests.support.read_back import blocks_of
from tests.support.strategies import every_so_many
from tests.support.tool_call_texts import WRITTEN


def test_with_tools_more_marks_end_a_thought() -> None:
    assert set(openers_in_thought(offered=False)) < set(openers_in_thought(offered=True))
    assert set(openers_in_thought(offered=True)) == {row.mark for row in ENDING}
    assert set(openers_in_thought(offered=True)) < set(FULL_MARKS)


def test_marks_are_those_of_the_forms_that_end_a_thought() -> None:
    ending = [
        form for form in FORMS if form.counts not in (Counts.IN_ANSWERS, Counts.AS_WHOLE_REPLY)
    ]
    assert {row.mark for row in ENDING} == {mark for form in ending for mark, _ in form.pairs}
    assert not FULL_MARKS["[TOOL_CALLS]"].ends_thought(offered=True)


FULL = {name: written for name, written in WRITTEN.items() if not written.whole}
CALL = ("f", {"a": "<think>b</think>"})


@pytest.mark.parametrize("name", FULL)
@pytest.mark.parametrize("before", ["", "Yes.\n"])
def test_nothing_is_a_tag_in_a_call_in_the_text(name: str, before: str) -> None:
    call = FULL[name].write([CALL]).strip()
    for offset in every_so_many(range(len(before + call))):
        pieces = [(before + call)[:offset], (before + call)[offset:] + " so"]
        blocks = parse(pieces, tools_offered=True)
        assert [block.kind for block in blocks] == ["text"]
        assert "<think>b</think>" in blocks[0].text


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


ENDING = [row for row in FULL_MARKS.values() if row.ends_thought(offered=True)]


@pytest.mark.parametrize("name", FULL)
def test_every_mark_ends_a_thought_and_its_call_is_text(name: str) -> None:
    call = FULL[name].write([("f", {"a": "<think>"})]).strip()
    if not call.startswith(tuple(row.mark for row in ENDING)):
        return
    for tags, text in (("think", f"<think>a\n{call}b"), ("auto", f"a\n{call}b")):
        families = choose([tags])
        mode = Mode.ANSWERING if tags == "think" else Mode.THINKING
        for offset in every_so_many(range(len(text))):
            pieces = [text[:offset], text[offset:]]
            thought, answer = parse(pieces, mode, families, tools_offered=True)
            assert (thought, answer.kind) == (Block("thinking", "a"), "text")
            assert "<think>" in answer.text


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
    "So it is:\n<tool_call>{\"name\": \"f\"}",
]  # fmt: skip


@pytest.mark.parametrize("thought", THOUGHTS)
@pytest.mark.parametrize("tools_offered", [False, True])
@pytest.mark.parametrize("tag", ["think", "think:a"])
def test_thoughts_about_marks_survive_any_cut(tag: str, thought: str, tools_offered: bool) -> None:
    text = f"<{tag}>{thought}</{tag}>so"
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
