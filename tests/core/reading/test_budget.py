"""The budget of thinking: what passes when it is spent, and that nothing else changes."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.core.model.events import (
    BYTES_PER_TOKEN,
    End,
    Event,
    Failure,
    Finish,
    Opaque,
    Own,
    Start,
    Text,
    Thinking,
    ThinkingEnd,
    ToolCall,
    Usage,
)
from converter.core.reading.budget import ThinkingBudget, ThinkingHider
from converter.core.reading.findings import Findings
from tests.support.strategies import cut, law

END, CALL, STOP = ThinkingEnd(), ToolCall(0, "call_1", "add", "{}"), Finish("stop")
METADATA = ThinkingEnd(0, "plan", 0.7)

ROWS: list[tuple[str, int, list[Event], list[Event], int]] = [
    ("nothing is nothing", 1, [], [], 0),
    (
        "a thought within it passes",
        1,
        [Thinking("abc"), END, Text("d")],
        [Thinking("abc"), END, Text("d")],
        0,
    ),
    ("its metadata as well", 1, [Thinking("abc"), METADATA], [Thinking("abc"), METADATA], 0),
    (
        "a thought of just its length passes",
        1,
        [Thinking("abcd"), END, Text("e")],
        [Thinking("abcd"), END, Text("e")],
        0,
    ),
    (
        "a longer one ends early",
        1,
        [Thinking("abcde"), END, Text("f")],
        [Thinking("abcd"), END, Text("f")],
        1,
    ),
    (
        "it ends as soon as it is spent",
        1,
        [Thinking("ab"), Thinking("cde")],
        [Thinking("ab"), Thinking("cd"), END],
        1,
    ),
    (
        "it ends once",
        1,
        [Thinking("abcd"), Thinking("e"), Thinking("f"), END],
        [Thinking("abcd"), END],
        2,
    ),
    (
        "its own end is not the client's",
        1,
        [Thinking("abcde"), METADATA],
        [Thinking("abcd"), END],
        1,
    ),
    (
        "thoughts share it",
        1,
        [Thinking("abc"), END, Thinking("de"), END],
        [Thinking("abc"), END, Thinking("d"), END],
        1,
    ),
    (
        "none of a later thought",
        1,
        [Thinking("abcd"), END, Thinking("e"), END, STOP],
        [Thinking("abcd"), END, STOP],
        1,
    ),
    (
        "native thoughts end with the text",
        1,
        [Thinking("abcd"), Text("x"), Thinking("e")],
        [Thinking("abcd"), Text("x")],
        1,
    ),
    (
        "or with a tool call",
        1,
        [Thinking("abcd"), CALL, Thinking("e"), CALL],
        [Thinking("abcd"), CALL, CALL],
        1,
    ),
    ("no budget, no thought", 0, [Thinking("a"), END, Text("b")], [Text("b")], 1),
    ("less than no budget", -1, [Thinking("a"), END, Text("b")], [Text("b")], 1),
    ("a character is not split", 1, [Thinking("abc🙂"), END], [Thinking("abc"), END], 1),
    (
        "a smaller one behind it does not slip in",
        1,
        [Thinking("abc🙂"), Thinking("d"), END],
        [Thinking("abc"), END],
        2,
    ),
    (
        "the first character may be too large",
        1,
        [Thinking("你"), Thinking("你"), END],
        [Thinking("你"), END],
        1,
    ),
    ("a character of four bytes is a token", 1, [Thinking("🙂🙂")], [Thinking("🙂"), END], 1),
    (
        "half a character passes",
        1,
        [Thinking("\ud83d"), Text("\ud83d")],
        [Thinking("\ud83d"), Text("\ud83d")],
        0,
    ),
    ("half a character is cut whole", 1, [Thinking("ab\ud83d")], [Thinking("ab"), END], 1),
    (
        "the names of a cut thought stay",
        1,
        [Thinking("abcde", 0, own=Own("openai", dict.fromkeys(("reasoning",), "abcde")))],
        [Thinking("abcd", 0, own=Own("openai", dict.fromkeys(("reasoning",), "abcd"))), END],
        1,
    ),
    (
        "no field tells more of it than passes",
        1,
        [
            Thinking(
                "abcde",
                0,
                own=Own("openai", {"reasoning": "abcde", "details": [{"text": "abcde"}]}),
            ),
            Thinking("", 0, own=Own("openai", {"details": ["f"]})),
        ],
        [Thinking("abcd", 0, own=Own("openai", dict.fromkeys(("reasoning",), "abcd"))), END],
        1,
    ),
]


def run(tokens: int, events: Sequence[Event]) -> tuple[list[Event], int]:
    findings = Findings()
    budget = ThinkingBudget(tokens, findings)
    out = [passed for event in events for passed in budget.feed(event)]
    return out + budget.close(), findings.withheld


@pytest.mark.parametrize(
    ("tokens", "events", "expected", "withheld"),
    [row[1:] for row in ROWS],
    ids=[row[0] for row in ROWS],
)
def test_rule(tokens: int, events: list[Event], expected: list[Event], withheld: int) -> None:
    assert run(tokens, events) == (expected, withheld)


@pytest.mark.parametrize(
    "event",
    [
        Start("1", "m"),
        Text(""),
        Text("a", refusal=True),
        CALL,
        STOP,
        Usage(1, 99),
        Failure("x"),
        End(),
        Opaque("openai", {}, {"a": 1}),
    ],
)
def test_all_else_passes_untouched(event: Event) -> None:
    for before in ([], [Thinking("a")], [Thinking("a" * 9)]):
        budget = ThinkingBudget(1, Findings())
        for thought in before:
            budget.feed(thought)
        assert [passed is event for passed in budget.feed(event)] == [True]


def test_a_thought_within_the_budget_is_the_same_event() -> None:
    thought = Thinking("abcd", 0, own=Own("openai", dict.fromkeys(("reasoning",), "abcd")))
    assert ThinkingBudget(1, Findings()).feed(thought)[0] is thought


SAID = st.text(st.sampled_from("ab \n你é🙂\ud83d"), max_size=12)


@law(500)
@given(st.data(), SAID, st.integers(0, 8))
def test_cut_anywhere_the_same_words_pass(data: st.DataObject, said: str, tokens: int) -> None:
    expected, withheld = run(tokens, [Thinking(said), END, Text("x")])
    for pieces in (said, data.draw(cut(said))):
        out, cut_off = run(tokens, [*map(Thinking, pieces), END, Text("x")])
        assert (words(out), cut_off) == (words(expected), withheld)


@law(500)
@given(st.lists(st.tuples(SAID, st.booleans()), max_size=6), st.integers(0, 8))
def test_what_passes_is_the_beginning_and_within_the_budget(
    parts: list[tuple[str, bool]], tokens: int
) -> None:
    events = [
        event
        for said, native in parts
        for event in ([Thinking(said)] + ([] if native else [END]) + [Text("x")])
    ]
    out, withheld = run(tokens, events)
    whole, passed = words(events), words(out)
    assert whole.startswith(passed)
    assert len(whole) == len(passed) + withheld
    assert len(passed.encode(errors="surrogatepass")) <= tokens * BYTES_PER_TOKEN
    assert [event for event in out if isinstance(event, Text)] == [
        event for event in events if isinstance(event, Text)
    ]
    if not withheld:
        assert out == events


@law(300)
@given(
    st.lists(
        st.sampled_from([Thinking("abc"), Thinking("你好"), END, Text("x"), CALL]), max_size=12
    ),
    st.integers(0, 4),
)
def test_nothing_ends_that_was_not_begun(events: list[Event], tokens: int) -> None:
    events = [
        event
        for event, before in zip(events, [None, *events], strict=False)
        if event != END or isinstance(before, Thinking)
    ]
    begun = False
    for event in run(tokens, events)[0]:
        assert event != END or begun
        begun = isinstance(event, Thinking)


def words(events: Sequence[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, Thinking))


def test_a_large_thought_costs_time_once() -> None:
    out, withheld = run(1_000_000, [Thinking("你" * 2_000_000)] + [Thinking("x" * 100)] * 10_000)
    assert len(words(out)) == 4_000_000 // 3
    assert withheld == 3_000_000 - len(words(out))


# Thinking that nobody asked for.


def test_all_but_thinking_passes() -> None:
    others: list[Event] = [Text("a"), ToolCall(0, "1", "f", "{}"), Finish("stop")]
    hider = ThinkingHider()
    said = [Thinking("why"), *others[:1], Thinking("so"), ThinkingEnd(), *others[1:]]
    assert [made for event in said for made in hider.feed(event)] == others
    assert hider.close() == []


def test_plain_words_are_those_of_the_answer() -> None:
    assert ThinkingHider().plain(Text) == (Text, "")
    assert ThinkingHider().plain(ToolCall) == (ToolCall, "")
    assert ThinkingHider().plain(Thinking) is None
