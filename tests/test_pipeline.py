"""Bytes to neutral events: the one place where frames, decoder and stages meet."""

import pytest

from converter import settings
from converter.dialects.table import OPENAI_CHAT, Form
from converter.events import Event, Failure, Finish, Text, Thinking, ThinkingEnd, ToolCall, Usage
from converter.parsing.reading import Expected
from converter.pipeline import BAD_GATEWAY, Pipeline, Stages, reading_of
from tests.support.frames import stream, whole


def _pipeline(form: Form = Form.STREAM) -> Pipeline:
    return Pipeline(settings.read(), OPENAI_CHAT, form, Expected(), whole=form is Form.WHOLE)


def _fed(pipeline: Pipeline, body: bytes) -> list[Event]:
    return [
        event for frame in pipeline.frames(body) for event in pipeline.feed(pipeline.decode(frame))
    ]


def _words(events: list[Event]) -> list[tuple[str, str]]:
    return [
        (type(event).__name__, event.text)
        for event in events
        if isinstance(event, Text | Thinking) and event.text
    ]


def test_streamed_and_whole_say_the_same() -> None:
    streamed = _pipeline()
    events = _fed(streamed, b"".join(stream("<think>why</think>so"))) + streamed.close()
    body = _pipeline(Form.WHOLE)
    assert _fed(body, whole("<think>why</think>so")) == []
    rest = [event for frame in body.rest() for event in body.feed(body.decode(frame))]
    assert _words(events) == _words(rest) == [("Thinking", "why"), ("Text", "so")]


def test_what_broke_off_gives_all_that_was_held_and_says_why() -> None:
    pipeline = _pipeline()
    events = _fed(pipeline, b"".join(stream("<think>why\n", "</thi")[:3]))
    rest = pipeline.abort("the server closed the connection")
    assert _words(events + rest)[0] == ("Thinking", "why")
    assert rest[-1] == Failure("the server closed the connection", status=BAD_GATEWAY)
    assert "".join(words for _, words in _words(events + rest)) == "why\n</thi"


def _stages(**chosen: object) -> Stages:
    expected = Expected(task="task", context="context", budget=1)
    return Stages(reading_of(settings.read(chosen), expected, whole=False))


def test_thoughts_are_told_before_the_budget_cuts_them_and_once() -> None:
    stages = _stages()
    out = [*stages.feed(Text("<think>abcdefgh</think>so")), *stages.feed(Finish("stop"))]
    assert _words(list(out)) == [("Thinking", "abcd"), ("Text", "so")]
    assert [thought["thought"] for thought in stages.take_thoughts()] == ["abcdefgh"]
    assert stages.take_thoughts() == []


def test_choices_do_not_share_their_stages() -> None:
    stages = Stages(reading_of(settings.read(), Expected(), whole=False))
    out = [*stages.feed(Text("<think>a", 0)), *stages.feed(Text("b", 1))]
    assert out == [Thinking("a", 0), Text("b", 1)]


@pytest.mark.parametrize("event", [Finish("stop"), ToolCall(0, "a", "f", "{}")], ids=str)
def test_what_is_held_comes_before_what_starts_or_ends_something(event: Event) -> None:
    stages = Stages(reading_of(settings.read(), Expected(), whole=False))
    assert stages.feed(Text("a<thi")) == [Text("a")]
    assert list(stages.feed(event)) == [Text("<thi"), event]


def test_bookkeeping_does_not_wait_for_what_is_held() -> None:
    stages = Stages(reading_of(settings.read(), Expected(), whole=False))
    stages.feed(Text("a<thi"))
    assert list(stages.feed(Usage(1, 2))) == [Usage(1, 2)]
    assert stages.close() == [Text("<thi")]
    assert stages.close() == []


def test_an_open_thought_is_ended_at_the_close() -> None:
    stages = Stages(reading_of(settings.read(), Expected(), whole=False))
    assert [*stages.feed(Text("<think>a")), *stages.close()] == [Thinking("a"), ThinkingEnd()]
