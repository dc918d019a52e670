"""Bytes to neutral events: the one place where frames, decoder and stages meet."""

from converter import settings
from converter.dialects.table import OPENAI_CHAT, Form
from converter.events import Event, Failure, Text, Thinking
from converter.parsing.reading import Expected
from converter.pipeline import BAD_GATEWAY, Pipeline
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
