"""Encoders of dialects whose streams are events with a type: the parts that they share."""

from collections.abc import Iterator

from converter.dialects.event_encoders import (
    EventStreamEncoder,
    EventWholeEncoder,
    Message,
    left_out,
)
from converter.model.events import Event, Opaque, OpaqueFrame, Own, Text


class _Events:
    """Each text is an event, and the end is one."""

    failure = "broken"

    @property
    def notes(self) -> list[str]:
        return ["a note"]

    def feed(self, event: Event) -> Iterator[Message]:
        if isinstance(event, Text):
            yield {"type": "said", "text": event.text}

    def close(self) -> Iterator[Message]:
        yield {"type": "end"}


class _Folded:
    def __init__(self) -> None:
        self.message: Message = {"said": []}

    def feed(self, event: Message) -> None:
        said = self.message["said"]
        assert isinstance(said, list)
        said.append(event["type"])


COMMENT = OpaqueFrame(Own("openai", raw=b": ping\r\n\r\n"), comment=True)


def test_a_stream_has_a_frame_for_each_event_and_a_comment_in_its_place() -> None:
    encoder = EventStreamEncoder(_Events())
    said = encoder.framed({"type": "said", "text": "a"})
    assert encoder.feed([Text("a"), COMMENT, Text("a")]) == [said, b": ping\n\n", said]
    assert encoder.close() == [b'event: end\ndata: {"type":"end"}\n\n']
    assert (encoder.notes, encoder.failure) == (["a note"], "broken")


def test_a_whole_reply_is_the_stream_folded() -> None:
    encoder = EventWholeEncoder(_Events(), _Folded())
    assert encoder.feed([Text("a"), COMMENT, Text("b")]) == []
    assert encoder.ping() == []
    assert encoder.close() == [b'{"said":["said","said","end"]}']


def test_what_says_something_and_has_no_place_is_named() -> None:
    inner = {"role": "assistant", "content": None, "audio": {"id": 1}, "refusal": ""}
    assert left_out(Opaque("anthropic", inner, {"logprobs": {}, "vendor": 1})) == {
        "audio",
        "vendor",
    }


def test_what_is_told_otherwise_is_not_named() -> None:
    assert left_out(
        Opaque(
            "anthropic", {"content": [1], "plan": "a", "vendor": 1}, {}, told=("content", "plan")
        )
    ) == {"vendor"}
