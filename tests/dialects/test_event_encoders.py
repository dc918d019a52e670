"""Encoders of dialects whose streams are events with a type: the parts that they share."""

from collections.abc import Iterator

from converter.dialects.anthropic.message_events import MessageEvents
from converter.dialects.block_writer import Message
from converter.dialects.dialect import ReplyContext
from converter.dialects.event_encoders import EventStreamEncoder, EventWholeEncoder
from converter.model.events import Event, OpaqueFrame, Own, Text


class _Events(MessageEvents):
    """Each text is an event, and the end is one."""

    @property
    def notes(self) -> list[str]:
        return ["a note"]

    def feed(self, event: Event) -> Iterator[Message]:
        if isinstance(event, Text):
            yield {"type": "said", "text": event.text}

    def close(self) -> Iterator[Message]:
        self.failure = "broken"
        yield {"type": "end"}


class _Whole(EventWholeEncoder):
    def __init__(self) -> None:
        super().__init__(_Events(ReplyContext()))
        self._said: list[object] = []
        self.message: Message = {"said": self._said}

    def fold(self, event: Message) -> None:
        self._said.append(event["type"])


COMMENT = OpaqueFrame(Own("openai", raw=b": ping\r\n\r\n"), comment=True)


def test_a_stream_has_a_frame_for_each_event_and_a_comment_in_its_place() -> None:
    encoder = EventStreamEncoder(_Events(ReplyContext()))
    said = encoder.framed({"type": "said", "text": "a"})
    assert encoder.feed([Text("a"), COMMENT, Text("a")]) == [said, b": ping\n\n", said]
    assert encoder.close() == [b'event: end\ndata: {"type":"end"}\n\n']
    assert (encoder.notes, encoder.failure) == (["a note"], "broken")


def test_a_whole_reply_is_the_stream_folded() -> None:
    encoder = _Whole()
    assert encoder.feed([Text("a"), COMMENT, Text("b")]) == []
    assert encoder.ping() == []
    assert encoder.close() == [b'{"said":["said","said","end"]}']
