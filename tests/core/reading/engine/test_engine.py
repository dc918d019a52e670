"""The engine's rules: of thoughts, of calls, and of both in one text."""

import json
from collections.abc import Sequence

import pytest

from converter.core.model.events import Event, Text, Thinking, ToolCall, joined
from converter.core.reading.engine.engine import Engine
from converter.core.reading.engine.mark_table import mark_table
from converter.core.reading.family_choice import choose
from converter.core.reading.tool_calls.head import Expectations
from tests.support.call_look_alikes import CALL, LOOK_ALIKES, ONE_LINE
from tests.support.tool_call_texts import TOOLS, WRITTEN

AUTO = choose(["auto"])
OSLO = ("get_weather", {"city": "Oslo"})


def _read(pieces: Sequence[str]) -> list[Event]:
    grammar = mark_table(AUTO, offered=True, reads_calls=True)
    engine = Engine(grammar, expectations=Expectations(TOOLS), whole_calls=True)
    out = [event for piece in pieces for event in engine.feed(piece)]
    return joined([*out, *engine.flush("stop")])


def _parts(pieces: Sequence[str]) -> list[object]:
    """The words, a thought in parentheses, and the calls."""
    parts: list[object] = []
    for event in _read(pieces):
        if isinstance(event, ToolCall):
            parts.append((event.name, json.loads(event.arguments)))
        elif isinstance(event, Thinking):
            parts.append(f"({event.text})")
        elif isinstance(event, Text):
            parts.append(event.text)
    return parts


@pytest.mark.parametrize("text", LOOK_ALIKES)
def test_what_only_looks_like_a_call_passes_unchanged(text: str) -> None:
    if any(mark in text for row in AUTO for mark in (*row.opens, *row.closes, *row.ignored)):
        return
    for around in (text, f"Look.\n{text}", f"{text}\n"):
        assert _read([around]) == _read(around) == [Text(around)]


@pytest.mark.parametrize("name", WRITTEN)
def test_every_form_is_read_in_an_answer(name: str) -> None:
    text = WRITTEN[name].write([OSLO])
    for pieces in ([text], text):
        assert _parts(pieces) == [OSLO]
    assert _parts(f"<think>why</think>\n{text}")[-1] == OSLO


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"<think>I look.\n{ONE_LINE}", ["(I look.)", ("now", {})]),
        (f"<think>I look.\n{ONE_LINE}</think>", ["(I look.)", ("now", {})]),
        (f"<think>I look.\n{ONE_LINE}\nand so</think>b", [f"(I look.\n{ONE_LINE}\nand so)", "b"]),
        (f"<think></think>{CALL}", [OSLO]),
        (f"a\n<think></think>\n{CALL}", ["a", OSLO]),
        ("<tool_call>x <think>y</think></tool_call>z", ["<tool_call>x ", "(y)", "</tool_call>z"]),
        (
            '<tool_call>{"name": "now", "arguments": {"a": "</tool_call><think>"}}</tool_call>.',
            [("now", {"a": "</tool_call><think>"}), "."],
        ),
        (f"{ONE_LINE}</think>b", [("now", {}), "b"]),
        (f"```\n{ONE_LINE}\n<think>\n```", [f"```\n{ONE_LINE}\n<think>\n```"]),
        ('{"name": "now", "arguments": {}}<|return|>', [("now", {})]),
        ('{"a": "<think>"}', ['{"a": "<think>"}']),
    ],
)
def test_thoughts_and_calls_in_one_text(text: str, expected: list[object]) -> None:
    assert _parts([text]) == _parts(text) == expected


def test_plain_text_passes_where_nothing_waits() -> None:
    engine = Engine(mark_table(AUTO))
    assert engine.plain() is None
    engine.feed("Hello")
    plain = engine.plain()
    assert plain
    assert plain[0] is Text
    assert "<" in plain[1]
    engine.feed("<thi")
    assert engine.plain() is None


def test_the_closers_of_a_thought_that_says_nothing_are_read() -> None:
    engine = Engine(mark_table(AUTO))
    engine.feed("<think>")
    assert engine.closers_of_empty_thought == ("</think>",)
    engine.feed("a")
    assert not engine.closers_of_empty_thought


def test_marks_that_are_no_text_go_from_what_was_nearly_a_whole_reply() -> None:
    text = ' to=functions.now<|channel|>commentary json<|message|>{"a": 1}<|call|>\nSo.'
    assert _parts([text]) == _parts(text) == [' to=functions.now{"a": 1}\nSo.']


def test_line_ends_wait_for_a_call_only_where_calls_are_read() -> None:
    engine = Engine(
        mark_table(AUTO, offered=True, reads_calls=True), expectations=Expectations({"now": {}})
    )
    assert engine.feed("a\n") == [Text("a")]
    assert engine.holds
    assert engine.feed("b") == [Text("\nb")]
    assert Engine(mark_table(AUTO)).feed("a\n") == [Text("a\n")]


def test_a_closer_behind_text_is_noted_and_stays_text() -> None:
    engine = Engine(mark_table(AUTO))
    assert engine.feed("a</think>b") == [Text("a</think>b")]
    assert engine.answer.unmatched_closer
    engine = Engine(mark_table(AUTO))
    engine.feed("`</think>` ends it")
    assert not engine.answer.unmatched_closer


def test_a_closer_that_goes_is_noted_unless_there_was_a_thought_before() -> None:
    for text, noted in (
        ("a<channel|>b<think>why</think>", True),
        ("<think>\n</think>a", True),  # no thought: it has said nothing
        ("<think>why</think>a", False),
    ):
        for pieces in ([text + "<channel|>c"], list(text + "<channel|>c")):
            engine = Engine(mark_table(AUTO))
            emitted = [event for piece in pieces for event in engine.feed(piece)]
            assert "<channel|>" not in "".join(getattr(event, "text", "") for event in emitted)
            assert engine.answer.dropped_closer is noted


def test_half_a_mark_of_special_tokens_at_the_end_is_no_text() -> None:
    engine = Engine(mark_table(AUTO))
    assert engine.feed("a<|channel|>ana") == [Text("a")]
    assert engine.flush("length") == []


@pytest.mark.parametrize("mark", ["<tool_call>", "<function=", "<|tool_call|>"])
def test_a_repeated_mark_is_not_judged_each_time(
    mark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged: list[str] = []
    take_call = Engine._take_call

    def count(engine: Engine, literal: str) -> None:
        judged.append(literal)
        take_call(engine, literal)

    monkeypatch.setattr(Engine, "_take_call", count)
    text = "It repeats: x" + mark * 1000 + " and ends."
    assert _read([text]) == [Text(text)]
    assert len(judged) < 20
    assert _read(list(text)) == [Text(text)]
