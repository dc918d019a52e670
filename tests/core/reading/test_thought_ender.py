"""Thoughts that are ended: where, with which words, and that nothing else of the reply goes on."""

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.core.model.events import Event, Finish, Own, Text, Thinking, ThinkingEnd, ToolCall
from converter.core.reading.findings import EndedThoughts, Findings
from converter.core.reading.reading import ThoughtLimits
from converter.core.reading.thought_ender import (
    JOINT,
    LONGEST,
    OVERRUN,
    SEARCH_EVERY,
    SHORTEST,
    SHORTEST_THOUGHT,
    TIMES,
    LoopFinder,
    ThoughtEnder,
    added_tokens,
)
from tests.support.strategies import cut, law

DRAWN = random.Random(7)
PROSE = " ".join(f"word{DRAWN.randrange(400)}" for _ in range(SHORTEST_THOUGHT)) + " "


def circle(size: int, times: int) -> str:
    return " ".join(f"x{word % size}" for word in range(size * times)) + " "


END, STOP = ThinkingEnd(), Finish("stop")
ENOUGH = "Enough."
LOOP = PROSE + circle(9, 40)


def run(limits: ThoughtLimits, events: Sequence[Event]) -> tuple[list[Event], Findings]:
    findings = Findings()
    stage = ThoughtEnder(limits, findings)
    return [out for event in events for out in stage.feed(event)] + stage.close(), findings


def joined(events: Sequence[Event], kind: type[Text] | type[Thinking] = Thinking) -> str:
    return "".join(event.text for event in events if isinstance(event, kind))


def test_a_thought_beyond_its_budget_is_cut_and_closed_and_nothing_follows() -> None:
    out, findings = run(
        ThoughtLimits(1, goes_on=True, sentence=ENOUGH), [Thinking("abcdef"), END, Text("g"), STOP]
    )
    assert out == [Thinking("abcd"), Thinking(JOINT + ENOUGH), END]
    assert findings.ends.reasons == ["budget"]
    assert findings.ends.turn == (Thinking("abcd" + JOINT + ENOUGH),)
    assert findings.ends.added == added_tokens(ENOUGH, opened=False) > len(ENOUGH) // 4
    assert added_tokens(ENOUGH, opened=True) < findings.ends.added


@pytest.mark.parametrize(
    "limits",
    [ThoughtLimits(2), ThoughtLimits(9, "end", sentence=ENOUGH), ThoughtLimits(None, "tell")],
)
def test_a_thought_within_its_limits_passes_as_it_came(limits: ThoughtLimits) -> None:
    events: list[Event] = [
        Thinking("abcd"),
        Thinking("efgh"),
        END,
        Text("i"),
        ToolCall(0, "a", "b", "{}"),
        STOP,
    ]
    out, findings = run(limits, events)
    assert out == events
    assert (findings.ends.reasons, findings.ends.turn, findings.repeated_text) == ([], (), ())


def test_all_thoughts_of_a_reply_have_one_budget() -> None:
    events: list[Event] = [Thinking("ab"), END, Text("x"), Thinking("cdef"), END]
    out, findings = run(ThoughtLimits(1, goes_on=True), events)
    assert out == [Thinking("ab"), END, Text("x"), Thinking("cd"), END]
    assert findings.ends.turn == (Thinking("ab"), Text("x"), Thinking("cd"))
    assert findings.ends.at == len("abcd")


def test_without_a_budget_left_no_thought_begins() -> None:
    out, findings = run(ThoughtLimits(0, goes_on=True), [Text("x"), Thinking("ab")])
    assert out == [Text("x")]
    assert findings.ends.turn == (Text("x"),)


def test_a_turn_with_calls_is_none_that_can_go_on() -> None:
    _, findings = run(ThoughtLimits(0, goes_on=True), [ToolCall(0, "a", "b", "{}"), Thinking("ab")])
    assert (findings.ends.reasons, findings.ends.turn) == (["budget"], ())


def test_a_loop_is_ended_where_it_is_noticed() -> None:
    out, findings = run(
        ThoughtLimits(loops="end", sentence=ENOUGH), [Thinking(LOOP), END, Text("x")]
    )
    thought, closing, end = out
    assert isinstance(thought, Thinking)
    assert LOOP.startswith(thought.text)
    assert len(thought.text) < len(LOOP)
    assert (closing, end) == (Thinking(JOINT + ENOUGH), END)
    assert findings.ends.reasons == ["loop"]
    assert len(findings.repeated_text) == 9


def test_a_loop_that_is_only_reported_goes_on() -> None:
    events: list[Event] = [Thinking(LOOP), Thinking(LOOP), END, Text("x")]
    out, findings = run(ThoughtLimits(loops="tell"), events)
    assert out == events
    assert len(findings.repeated_text) == 9
    assert findings.ends.reasons == []


def test_two_thoughts_are_no_circle() -> None:
    once: list[Event] = [Thinking(circle(9, 1)), END, Text("x")]
    assert run(ThoughtLimits(loops="tell"), once * 40)[1].repeated_text == ()


@pytest.mark.parametrize(
    ("limits", "passes"), [(ThoughtLimits(loops="tell"), True), (ThoughtLimits(loops="end"), False)]
)
def test_text_of_a_thought_takes_the_fast_path_where_none_is_ended(
    limits: ThoughtLimits, passes: bool
) -> None:
    stage = ThoughtEnder(limits, Findings())
    assert (stage.plain(Thinking) is not None) == passes
    assert stage.plain(Text) == (Text, "")


def test_the_servers_own_field_has_the_text_that_goes_on() -> None:
    own = Own("openai", {"reasoning": "abcdef"})
    out, _ = run(ThoughtLimits(1, goes_on=True, sentence=ENOUGH), [Thinking("abcdef", own=own)])
    sent = [event.own for event in out if isinstance(event, Thinking)]
    assert [request and request.fields for request in sent] == [
        {"reasoning": "abcd"},
        {"reasoning": JOINT + ENOUGH},
    ]


@law(200)
@given(st.data(), st.one_of(st.none(), st.integers(0, 700)), st.sampled_from(["end", "off"]))
def test_cut_anywhere_the_same_text_goes_on(
    data: st.DataObject, budget: int | None, loops: str
) -> None:
    limits = ThoughtLimits(budget, loops, goes_on=True, sentence=ENOUGH)
    whole, findings = run(limits, [Thinking(LOOP), END, Text("x")])
    pieces = map(Thinking, data.draw(cut(LOOP)))
    out, noted = run(limits, [*pieces, END, Text("x")])
    assert (joined(out), joined(out, Text)) == (joined(whole), joined(whole, Text))
    assert (noted.ends.reasons, noted.ends.turn) == (findings.ends.reasons, findings.ends.turn)


# Loops: found whatever their period, at the same place however the words are cut, in linear time.


def loop_in(*pieces: str) -> tuple[int, int] | None:
    """Return the end of a loop in all the text, and its number of words."""
    finder, before = LoopFinder(), 0
    for piece in pieces:
        if (at := finder.feed(piece)) is not None:
            return before + at, len(finder.period)
        before += len(piece)
    return None


@pytest.mark.parametrize("size", [SHORTEST, 5, 17, 64, 100, LONGEST])
def test_text_that_comes_three_times_in_a_row_is_noticed(size: int) -> None:
    ended = loop_in(PROSE + circle(size, TIMES) + circle(size, SEARCH_EVERY))
    assert ended is not None
    assert ended[1] == size
    tokens = (PROSE + circle(size, TIMES + SEARCH_EVERY))[: ended[0]].split()
    assert tokens[-size:] == tokens[-2 * size : -size] == tokens[-3 * size : -2 * size]
    assert len(tokens) <= SHORTEST_THOUGHT + TIMES * size + SEARCH_EVERY


@pytest.mark.parametrize("few", ["no no, ", "ha ", "a b a c "])
def test_shorter_periods_are_noticed_as_well(few: str) -> None:
    assert loop_in(PROSE + few * 200) is not None


@pytest.mark.parametrize("text", ["你好吗我不知道", "no.no.no.yes.", "-" * 7 + ">"])
def test_text_without_blanks_is_noticed(text: str) -> None:
    assert loop_in(PROSE + text * 2000) is not None


NO_LOOPS = {
    "prose": PROSE * 1,
    "a short loop, before there is enough to look at": circle(4, 40),
    "twice": PROSE + circle(70, 2) + PROSE[::-1],
    "a period that is too long": PROSE + circle(LONGEST + 1, 6),
    "a count": " ".join(map(str, range(3000))),
    "a list whose rows differ": "".join(f"- row {n} of the table is fine\n" for n in range(500)),
    "nothing": "",
}


@pytest.mark.parametrize("text", NO_LOOPS.values(), ids=NO_LOOPS)
def test_all_else_is_no_loop(text: str) -> None:
    assert loop_in(text) is None


@law(200)
@given(st.data(), st.integers(SHORTEST, 40))
def test_cut_anywhere_it_ends_at_the_same_offset(data: st.DataObject, size: int) -> None:
    text = PROSE + circle(size, 40)
    assert loop_in(*data.draw(cut(text))) == loop_in(text)


@pytest.mark.parametrize("word", ["word{} ", "好", "x"])
def test_the_finder_holds_little(word: str) -> None:
    finder = LoopFinder()
    for number in range(20_000):
        finder.feed(word.format(number))
    assert len(finder._tail) <= TIMES * LONGEST + SEARCH_EVERY
    assert len(finder._part) <= 64


ALONE = ThoughtLimits(answers=True, goes_on=True)


@pytest.mark.parametrize("blank", ["", "\n\n"])
@pytest.mark.parametrize("closed", [True, False])
def test_a_thought_alone_is_gone_on_with(blank: str, closed: bool) -> None:
    end: list[Event] = [END] if closed else []
    text: list[Event] = [Text(blank)] if blank else []
    events = [Thinking("ab"), Thinking("c"), *end, *text]
    out, findings = run(ALONE, [*events, STOP, Text("nothing follows")])
    assert out == [*events, *([] if closed or blank else [END])]  # words end a thought as well
    assert (findings.ends.reasons, findings.ends.at) == (["unanswered"], 3)
    assert findings.ends.turn == (Thinking("abc"),)


@pytest.mark.parametrize(
    "events",
    [
        [Thinking("a"), END, Text("b"), STOP],
        [Thinking("a"), END, Text("b"), Thinking("c"), END, STOP],
        [Thinking("a"), END, ToolCall(0, "a", "b", "{}"), STOP],
        [Thinking("a"), END, Finish("length")],
        [Thinking("a"), END, Finish("stop", "x")],
        [Text("b"), STOP],
        [STOP],
    ],
)
def test_any_other_reply_than_a_thought_alone_ends_as_it_came(events: list[Event]) -> None:
    out, findings = run(ALONE, events)
    assert out == events
    assert findings.ends.reasons == []


def test_a_second_thought_alone_is_the_end() -> None:
    events: list[Event] = [Thinking("a"), END, STOP]
    stage = ThoughtEnder(ALONE, Findings(ends=EndedThoughts(["unanswered"])))
    assert [out for event in events for out in stage.feed(event)] == events


def test_text_of_a_thought_alone_may_come_later() -> None:
    stage = ThoughtEnder(ALONE, Findings())
    assert (stage.plain(Text), stage.plain(Thinking)) == ((Text, ""), (Thinking, ""))
    for event in (Thinking("a"), STOP):
        stage.feed(event)
    assert stage.plain(Text) is stage.plain(Thinking) is None


@pytest.mark.parametrize(("marks", "added"), [(("<think>", "</think>"), 0), (None, 4)])
def test_only_the_marks_of_a_thought_in_a_field_are_added(
    marks: tuple[str, str] | None, added: int
) -> None:
    findings = Findings(marks=marks)
    stage = ThoughtEnder(ALONE, findings)
    for event in (Thinking("a"), END, STOP):
        stage.feed(event)
    assert (findings.ends.reasons, findings.ends.added) == (["unanswered"], added)


def test_the_rest_of_a_thought_that_its_server_ends_is_dropped() -> None:
    limits = ThoughtLimits(1, goes_on=True, sentence=ENOUGH, by_server=True)
    rest: list[Event] = [Thinking("gh"), END, Text("i"), Thinking("more"), END, Text("j"), STOP]
    out, findings = run(limits, [Thinking("abcdef"), *rest])
    again = [Thinking(ENOUGH), END, Text("j"), STOP]
    assert out == [Thinking("abcd"), Thinking(JOINT + ENOUGH), END, Text("i"), *again]
    assert (findings.ends.reasons, findings.ends.by_addon) == (["budget"] * 2, 0)
    _, findings = run(limits, [Thinking("abcdef"), Thinking("x" * (OVERRUN + 1)), Text("i")])
    assert findings.ends.by_addon == 1
    out, findings = run(limits, [Thinking("abcdef"), END, Text("\n"), STOP])
    assert (out[-1], findings.ends.by_addon) == (Text("\n"), 1)  # no answer came
