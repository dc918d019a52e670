"""What a client makes of the rewriter's output."""

import pytest

from converter.core.dialects.table import OPENAI_CHAT, Form
from converter.core.model.events import Text, Thinking, ThinkingEnd
from laws.oracle_blocks import Block
from tests.support.frames import stream, whole
from tests.support.read_back import anthropic_message, blocks_of, bodies_of, completion_of, rewrite

BODY = b"".join(stream("<think>t</think>", "a"))


def test_events_are_the_blocks_of_a_message() -> None:
    events: list[Text | Thinking | ThinkingEnd] = [
        Text("a"),
        Text("b"),
        Thinking("t"),
        Thinking("u"),
        ThinkingEnd(0, "plan", 0.7),
        Thinking("v"),
        ThinkingEnd(),
    ]
    assert blocks_of(events) == [
        Block("text", "ab"),
        Block("thinking", "tu", "plan", 0.7),
        Block("thinking", "v"),
    ]


@pytest.mark.parametrize("events", [[ThinkingEnd()], [Thinking("t")], [Thinking("t"), Text("a")]])
def test_a_thought_has_one_end(events: list[Text | Thinking | ThinkingEnd]) -> None:
    with pytest.raises(AssertionError):
        blocks_of(events)


def test_a_stream_and_a_body_are_the_same_completion() -> None:
    assert (
        completion_of(b"".join(stream("a", "b")), Form.STREAM).said
        == completion_of(whole("ab"), Form.WHOLE).said
    )
    assert len(bodies_of(BODY)) == 5


def test_what_is_rewritten_can_be_read_back() -> None:
    said = (
        completion_of(b"".join(rewrite([BODY], OPENAI_CHAT, Form.STREAM)), Form.STREAM)
        .choices[0]
        .said
    )
    assert said == ({"content": "a", "reasoning_content": "t"}, {}, "stop")
    messages = [anthropic_message(BODY, Form.STREAM, form) for form in Form]
    assert messages[0] == messages[1]
    assert [block["type"] for block in messages[0]["content"]] == ["thinking", "text"]


def test_a_fault_that_was_survived_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("converter.core.reading.engine.engine.Engine.feed", lambda *_: 1 / 0)
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        rewrite([BODY], OPENAI_CHAT, Form.STREAM)
