"""A thought without an answer: the finish gives way to what the server is asked for then."""

from collections.abc import Sequence

import pytest

from converter.core.model.events import Event, Finish, Text, Thinking, ThinkingEnd, ToolCall
from converter.core.reading.findings import Findings
from converter.core.reading.thought_alone import ThoughtAlone

END, STOP = ThinkingEnd(), Finish("stop")


def run(events: Sequence[Event], findings: Findings) -> list[Event]:
    stage = ThoughtAlone(findings)
    return [out for event in events for out in stage.feed(event)] + stage.close()


@pytest.mark.parametrize("blank", ["", "\n\n"])
@pytest.mark.parametrize("closed", [True, False])
def test_a_thought_alone_is_gone_on_with(blank: str, closed: bool) -> None:
    end: list[Event] = [END] if closed else []
    text: list[Event] = [Text(blank)] if blank else []
    said = [Thinking("ab"), Thinking("c"), *end, *text]
    findings = Findings()
    out = run([*said, STOP, Text("nothing follows")], findings)
    assert out == [*said, *([] if closed else [END])]
    assert (findings.ended, findings.ended_at) == (["unanswered"], 3)
    assert findings.turn == (Thinking("abc"),)


@pytest.mark.parametrize(
    "said",
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
def test_any_other_reply_ends_as_it_came(said: list[Event]) -> None:
    findings = Findings()
    assert run(said, findings) == said
    assert findings.ended == []


def test_a_second_thought_alone_is_the_end() -> None:
    said: list[Event] = [Thinking("a"), END, STOP]
    assert run(said, Findings(ended=["unanswered"])) == said


def test_words_behind_an_answer_may_come_later() -> None:
    stage = ThoughtAlone(Findings())
    assert stage.plain(Text) is stage.plain(Thinking) is None
    stage.feed(Text("b"))
    assert (stage.plain(Text), stage.plain(Thinking)) == ((Text, ""), (Thinking, ""))
