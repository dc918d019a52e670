import json

import pytest

from converter.dialects.responses.encoder import ResponsesStreamEncoder, ResponsesWholeEncoder
from converter.model.events import End, Event, Failure, OpaqueFrame, Own, Text, Thinking
from tests.support.responses_of import (
    HEAD,
    STOP,
    check,
    complete,
    context_of,
    read_frame,
    types,
    whole,
)

pytestmark = pytest.mark.slow


def stream(*pieces: list[bytes]) -> list[dict[str, object]]:
    said = b"".join(piece for pieces_ in pieces for piece in pieces_).decode()
    events = [read_frame(frame) for frame in said.split("\n\n")[:-1]]
    check(events)
    return events


def test_the_whole_response_is_that_of_the_last_event() -> None:
    events: list[Event] = [HEAD, Thinking("a"), Text("b"), STOP, End()]
    assert (
        whole(events) == stream(ResponsesStreamEncoder(context_of()).feed(events))[-1]["response"]
    )


def test_a_whole_reply_that_failed_is_an_error() -> None:
    encoder = ResponsesWholeEncoder(context_of())
    encoder.feed([HEAD, Text("a"), Failure("gone")])
    (body,) = encoder.close()
    assert json.loads(body)["error"]["code"] == "server_error"
    assert encoder.failure


def test_a_sign_of_life_begins_the_response() -> None:
    encoder = ResponsesStreamEncoder(context_of())
    events = stream(encoder.ping(), encoder.ping(), encoder.feed([HEAD, Text("a")]), encoder.ping())
    assert types(events) == [
        *["created", "in_progress", "keepalive", "keepalive"],
        *["output_item.added", "content_part.added", "output_text.delta", "keepalive"],
    ]


def test_a_response_that_is_over_gives_no_sign() -> None:
    encoder = ResponsesStreamEncoder(context_of())
    encoder.feed([HEAD, Text("a"), STOP, End()])
    assert encoder.ping() == []
    assert encoder.feed([OpaqueFrame(Own("openai", raw=b": ping\n\n"), comment=True)]) == []


def test_the_response_is_handed_out_before_its_last_event() -> None:
    kept: list[object] = []
    context = context_of()
    stream_events = complete([Text("a"), STOP], type(context)(id="1", keep=kept.append))
    assert kept == [stream_events[-1]["response"]]
