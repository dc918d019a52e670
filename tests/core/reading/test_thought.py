"""One thought after another: what of it goes out, and when."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.core.model.events import Thinking, ThinkingEnd
from converter.core.reading.beginning import Mode
from converter.core.reading.engine.engine import Engine
from converter.core.reading.engine.mark_table import mark_table
from converter.core.reading.family_choice import choose
from converter.core.reading.mark_search import Mark
from converter.core.reading.thought import (
    ENDS,
    UNREADABLE_CONFIDENCE,
    Guess,
    Thought,
    match_attributes,
)
from converter.core.wire.bounds import ATTRIBUTE_LIMIT, BLANKS_LIMIT, GUESS_LIMIT
from laws.oracle_blocks import Block
from tests.support.read_back import blocks_of
from tests.support.strategies import cut, law


def test_line_breaks_are_held_until_something_follows() -> None:
    thought = Thought()
    assert thought.feed("\n") == []
    assert thought.feed("a\n") == [Thinking("a")]
    assert thought.feed("b") == [Thinking("\nb")]
    assert thought.end() == [ThinkingEnd()]


def test_a_thought_of_blanks_has_no_end() -> None:
    thought = Thought()
    assert thought.feed(" \n ") == []
    assert thought.end() == []


def test_after_its_end_another_begins() -> None:
    thought = Thought(2)
    assert [*thought.feed("a\n"), *thought.end(), *thought.feed("\nb")] == [
        Thinking("a", 2),
        ThinkingEnd(2),
        Thinking("b", 2),
    ]


def test_no_more_blanks_are_held_than_the_limit() -> None:
    thought = Thought()
    assert thought.feed("a" + "\n" * (BLANKS_LIMIT + 3)) == [Thinking("a\n\n\n")]


@pytest.mark.parametrize(
    ("confidence", "read"),
    [
        ('"0.7"', 0.7),
        ("'1'", 1.0),
        ('"much"', UNREADABLE_CONFIDENCE),
        ('"inf"', UNREADABLE_CONFIDENCE),
    ],
)
def test_a_tag_has_the_thought_and_what_was_read_of_it(confidence: str, read: float) -> None:
    thought = Thought()
    tag = f' thought="a" thought_type=\'plan\' other="b" confidence={confidence}/>'
    assert thought.read_attributes(tag) == [Thinking("a")]
    assert thought.end() == [ThinkingEnd(0, "plan", read)]


# Tags with attributes, as far as they have come.


OPENER = "<thinking "


@pytest.mark.parametrize(
    ("rest", "end"),
    [
        ('thought="a > b" n=\'"\'>', ">"),
        ('thought="a"/>', "/>"),
        ('thought="a" />', "/>"),
        ('thought="a', None),
        ("thought=", None),
        ("thou", None),
        ("", None),
    ],
)
def test_a_tag_is_read_as_far_as_it_has_come(rest: str, end: str | None) -> None:
    match = match_attributes(OPENER + rest, len(OPENER))
    assert match
    assert match["end"] == end


@pytest.mark.parametrize("rest", ["about it", "thought=a>", '"a">'])
def test_prose_is_no_tag(rest: str) -> None:
    assert match_attributes(OPENER + rest, len(OPENER)) is None


def test_a_tag_is_looked_for_within_its_limit() -> None:
    match = match_attributes(f'{OPENER}thought="{"a" * ATTRIBUTE_LIMIT}">', len(OPENER))
    assert match
    assert match["end"] is None
    assert match.end() == ATTRIBUTE_LIMIT


def test_a_slash_makes_a_tag_whole() -> None:
    assert {">": Mark.WITH_ATTRIBUTES, "/>": Mark.WHOLE} == ENDS


# A reply that is only guessed to begin in a thought: it never leaves the client without an answer.


ALL = mark_table(choose(["auto"]))
LONG = "word " * GUESS_LIMIT


def read(pieces: list[str], finish: str = "stop") -> list[Block]:
    parser = Engine(ALL, Mode.GUESSED)
    emitted = [event for piece in pieces for event in parser.feed(piece)]
    return blocks_of(emitted + parser.flush(finish))


def thinking(content: str) -> Block:
    return Block("thinking", content)


def text(content: str) -> Block:
    return Block("text", content)


CASES = [
    ("a short answer", "Hello there", "stop", [text("Hello there")]),
    ("several paragraphs of one", "Hello.\n\nHow are you?", "stop", [text("Hello.\n\nHow are you?")]),
    ("a long answer", f"{LONG}\n\nIt is 4.", "stop", [thinking(LONG), text("It is 4.")]),
    ("blanks at its end", f"{LONG}\n \n\nIt is 4.\n\n", "stop", [thinking(f"{LONG}\n "), text("It is 4.\n\n")]),
    ("no paragraph that is short enough", LONG, "stop", [thinking("word " * (GUESS_LIMIT - 80)), text("word " * 80)]),
    ("no word that is", "x" * GUESS_LIMIT * 2, "stop", [thinking("x" * GUESS_LIMIT), text("x" * GUESS_LIMIT)]),
    ("cut off by its limit", "Hello there", "length", [thinking("Hello there")]),
    ("a call follows", "I look.", "tool_calls", [thinking("I look.")]),
    ("the server is gone", "Hello there", "", [thinking("Hello there")]),
    ("a closer: the guess was right", "why</think>so", "stop", [thinking("why"), text("so")]),
    ("a closer in a long reply", f"{LONG}\n\nwhy\n</think>so", "stop", [thinking(f"{LONG}\n\nwhy"), text("so")]),
    ("a closer and no answer", "why</think>", "stop", [thinking("why")]),
    ("an opener of its own, and no closer", "<think>why", "stop", [thinking("why")]),
    ("a tool call in the text", "why\n<tool_call>{}", "stop", [thinking("why"), text("<tool_call>{}")]),
    ("a special token behind the answer", "It is 4.<|END_TEXT|>", "stop", [text("It is 4.")]),
    ("an opener further on", "I try.<think>why", "stop", [text("I try."), thinking("why")]),
    ("an opener in code", "I try `<think>` now", "stop", [text("I try `<think>` now")]),
    ("nothing", "", "stop", []),
    ("half a closer", "Hello </thi", "stop", [text("Hello </thi")]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "finish", "message"), [row[1:] for row in CASES], ids=[row[0] for row in CASES]
)
def test_a_guessed_thought(content: str, finish: str, message: list[Block]) -> None:
    assert read([content], finish) == message
    assert read(list(content), finish) == message
    for offset in range(0, len(content), max(1, len(content) // 50)):
        assert read([content[:offset], content[offset:]], finish) == message


@law(200)
@given(
    st.data(),
    st.lists(
        st.sampled_from(["a", " ", "\n", "\n\n", "word " * 30, "word " * 7, "x" * 150]), max_size=12
    ),
)
def test_what_waits_does_not_depend_on_the_cuts(data: st.DataObject, parts: list[str]) -> None:
    content = "".join(parts)
    whole, pieces = Guess(), Guess()
    emitted = whole.feed(content)
    assert "".join(map(pieces.feed, data.draw(cut(content)))) == emitted
    assert pieces.rest == whole.rest
    assert emitted + whole.rest == content


@law(100)
@given(st.lists(st.sampled_from(["a", " ", "\n\n", "word " * 30, "x" * 150]), max_size=20))
def test_no_more_waits_than_the_limit(parts: list[str]) -> None:
    guess = Guess()
    for word in parts:
        guess.feed(word)
        assert len(guess.rest) <= GUESS_LIMIT


def test_a_reply_with_text_has_an_answer() -> None:
    for length in range(1, 3 * GUESS_LIMIT, 7):
        assert read(["ab c\n\n" * length])[-1].kind == "text"
