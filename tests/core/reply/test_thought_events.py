"""Each thought is one event, emitted when the thought ends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.core.model.events import (
    End,
    Event,
    Failure,
    Finish,
    Opaque,
    Own,
    Text,
    Thinking,
    ThinkingEnd,
    ToolCall,
    Usage,
)
from converter.core.reading.engine.engine import Engine
from converter.core.reading.engine.mark_table import mark_table
from converter.core.reading.family_choice import choose
from converter.core.reply.thought_events import ThoughtEvent, ThoughtEventStage
from tests.support.strategies import cut, law

CALL, STOP = ToolCall(0, "call_1", "add", "{}"), Finish("stop")


def thoughts_by_step(*events: Event) -> list[list[str]]:
    """Return the thoughts emitted at each event, and at the close."""
    thoughts_read, steps = list[ThoughtEvent](), list[list[str]]()
    thoughts = ThoughtEventStage("flow", "conversation", thoughts_read)
    for event in [*events, None]:
        assert [*(thoughts.feed(event) if event else thoughts.close())] == [event] * bool(event)
        steps.append([str(each["thought"]) for each in thoughts_read])
        thoughts_read.clear()
    return steps


def native(text: str) -> Thinking:
    return Thinking(text, own=Own("openai", dict.fromkeys(("reasoning_content",), text)))


ROWS: list[tuple[str, list[Event], list[list[str]]]] = [
    ("nothing is nothing", [], [[]]),
    (
        "a thought in tags ends with its end",
        [Thinking("a"), Thinking("b"), ThinkingEnd(), Text("c")],
        [[], [], ["ab"], [], []],
    ),
    (
        "a native one with the text",
        [native("a"), native("b"), Text("c"), Text("d")],
        [[], [], ["ab"], [], []],
    ),
    (
        "not with blanks",
        [native("a"), Text("\n \t"), native("b"), Text("c")],
        [[], [], [], ["ab"], []],
    ),
    ("not with empty text", [native("a"), Text(""), STOP], [[], [], ["a"], []]),
    ("with a refusal", [native("a"), Text("no", 0, refusal=True)], [[], ["a"], []]),
    ("with a tool call", [native("a"), CALL, CALL], [[], ["a"], [], []]),
    ("with the finish", [native("a"), STOP, End()], [[], ["a"], [], []]),
    ("with the end", [native("a"), End()], [[], ["a"], []]),
    ("with a failure", [native("a"), Failure("died")], [[], ["a"], []]),
    (
        "with its own end, told twice",
        [Thinking("a"), ThinkingEnd(signature="s"), ThinkingEnd()],
        [[], ["a"], [], []],
    ),
    ("when the stream is cut", [native("a")], [[], ["a"]]),
    (
        "not with bookkeeping",
        [native("a"), Usage(1, 2), Opaque("openai", {}, {"a": 1}), STOP],
        [[], [], [], ["a"], []],
    ),
    ("CR and LF go at both ends", [native("\r\n a\n\nb \n"), STOP], [[], [" a\n\nb "], []]),
    ("blanks make no event", [native(" \n\t\u00a0"), STOP], [[], [], []]),
    ("many blanks make no event", [native(" " * 10_000), STOP], [[], [], []]),
    (
        "two thoughts are two events",
        [Thinking("a"), ThinkingEnd(), Thinking("b"), ThinkingEnd()],
        [[], ["a"], [], ["b"], []],
    ),
    ("an end of nothing is none", [ThinkingEnd(), STOP, End()], [[], [], [], []]),
]


@pytest.mark.parametrize(
    ("events", "expected"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS]
)
def test_rule(events: list[Event], expected: list[list[str]]) -> None:
    assert thoughts_by_step(*events) == expected


@pytest.mark.parametrize(
    ("end", "metadata"),
    [
        (ThinkingEnd(), {}),
        (ThinkingEnd(0, None, 0.5), {"confidence": 0.5}),
        (ThinkingEnd(0, "reflection", 0.7), {"thoughtType": "reflection", "confidence": 0.7}),
        (ThinkingEnd(0, "", 0.0), {"confidence": 0.0}),
    ],
)
def test_the_events_shape(end: ThinkingEnd, metadata: dict[str, object]) -> None:
    emitted = list[ThoughtEvent]()
    thoughts = ThoughtEventStage("flow", "conversation", emitted)
    assert [*thoughts.feed(Thinking("a")), *thoughts.feed(end)] == [Thinking("a"), end]
    [event] = emitted
    assert event == {
        "kind": "thought-stream",
        "taskId": "flow",
        "contextId": "conversation",
        "thoughtType": "reasoning",
        "thought": "a",
        "metadata": {"verbosity": "normal"} | metadata,
    }


TEXT = (
    "<think>\na\n</think>b<think> </think>[THINK]c[/THINK]"
    "<thinking thought='d' thought_type='plan' confidence='0.9'/> <thinking thought=\"e\">\n</thinking>f<think>g\n"
)


@pytest.mark.parametrize("cut_at", range(len(TEXT)))
def test_thoughts_of_each_form_are_reported_wherever_the_text_is_cut(cut_at: int) -> None:
    out = list[ThoughtEvent]()
    parser, thoughts = Engine(mark_table(choose(["auto"]))), ThoughtEventStage("", "", out)
    events = [event for piece in (TEXT[:cut_at], TEXT[cut_at:]) for event in parser.feed(piece)]
    for event in [*events, *parser.flush()]:
        thoughts.feed(event)
    thoughts.close()
    plain = {"verbosity": "normal"}
    assert [(event["thought"], event["metadata"]) for event in out] == [
        ("a", plain),
        ("c", plain),
        ("d", plain | {"thoughtType": "plan", "confidence": 0.9}),
        ("e", plain | {"confidence": 0.5}),
        ("g", plain),
    ]


@law(200)
@given(st.data(), st.text(st.sampled_from("a \r\n🙂"), max_size=12))
def test_a_native_thought_is_the_same_however_it_is_cut(data: st.DataObject, content: str) -> None:
    expected = [content.strip("\r\n")] if content.strip() else []
    for pieces in (content, data.draw(cut(content))):
        steps = thoughts_by_step(*map(native, pieces), Text("x"))
        assert [thought for step in steps for thought in step] == expected
