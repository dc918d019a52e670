"""Events of the Responses API as they are written, checked against the official SDK."""

import json
from collections.abc import Iterable
from typing import Any

from openai._models import construct_type_unchecked
from openai._types import omit
from openai.lib._parsing._responses import parse_response
from openai.lib.streaming.responses._responses import ResponseStreamState
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from converter.addon.exchange import settings
from converter.addon.exchange.exchange import Exchange
from converter.core.dialects.dialect import OwnRequest
from converter.core.dialects.responses.request_reader import read
from converter.core.dialects.responses.response_events import ResponsesEncoder
from converter.core.dialects.responses.state import answer_own
from converter.core.dialects.table import RESPONSES
from converter.core.dialects.wire_form import ReplyContext
from converter.core.model.conversation import RequestError
from converter.core.model.events import End, Event, Finish, Start, Usage
from converter.core.model.memory import Memory
from converter.core.wire.json_text import UnreadableError
from tests.support.frames_of import Json
from tests.support.judged_calls import judged

EVENT = TypeAdapter[Any](ResponseStreamEvent)
EXCHANGE = Exchange(RESPONSES.endpoints[-1], settings.read(), client_dialect=RESPONSES)
HEAD = Start("chatcmpl-1", "served")
COUNTED = Usage(7, 5)
STOP = Finish("stop")
OWN_CODES = ("context_length_exceeded",)
"""Codes of failed responses that the API sends and the SDK's types have not."""


def context_of(**fields: Any) -> ReplyContext:
    """A reply's context, from fields of its request."""
    conversation, own = read({"model": "asked", "input": "hi", **fields})
    return ReplyContext(conversation.model, "1", created_at=1700000000, own=own)


def own_answer(request: OwnRequest, memory: Memory) -> tuple[int, Json]:
    """The status and body of a request that needs no model, or of its refusal."""
    try:
        status, body = answer_own(request, memory)
    except (RequestError, UnreadableError) as error:
        _, refusal = EXCHANGE.refusal_answer(error)
        return refusal.status, json.loads(refusal.body)
    return status, dict(body)


def written(events: Iterable[Event], context: ReplyContext | None = None) -> list[Json]:
    """The stream, every event of it checked."""
    encoder = ResponsesEncoder(context or context_of())
    out = b"".join([*encoder.feed(judged(events)), *encoder.close()])
    stream = [read_frame(frame) for frame in out.decode().split("\n\n")[:-1]]
    check(stream)
    return stream


def read_frame(frame: str) -> Json:
    """One frame's JSON; its name and its type agree."""
    name, data = frame.split("\n")
    event: Json = json.loads(data.removeprefix("data: "))
    assert name == f"event: {event['type']}"
    return event


def complete(events: Iterable[Event], context: ReplyContext | None = None) -> list[Json]:
    """The stream of a reply that is all there."""
    return written([HEAD, *events, COUNTED, End()], context)


def whole(events: Iterable[Event], context: ReplyContext | None = None) -> Json:
    """The same reply as one response."""
    encoder = ResponsesEncoder(context or context_of(), whole=True)
    encoder.feed(judged(events))
    response: Json = json.loads(b"".join(encoder.close()))
    return response


def check(stream: list[Json]) -> None:
    """The SDK's types accept each event; the numbers count; one item is open at a time."""
    assert [event["sequence_number"] for event in stream] == [*range(len(stream))]
    open_items: list[int] = []
    for event in stream:
        if event["type"] == "keepalive":
            continue
        EVENT.validate_python(without_extensions(event))
        if event["type"] == "response.output_item.added":
            open_items = [event["output_index"]]
        elif "output_index" in event:
            assert [event["output_index"]] == open_items, event


def without_extensions(event: Json) -> Json:
    """Return the event without the codes that the SDK's types lack."""
    error = event.get("response", {}).get("error")
    if not error or error["code"] not in OWN_CODES:
        return event
    return {**event, "response": {**event["response"], "error": {**error, "code": "server_error"}}}


def accumulated(stream: list[Json]) -> Json:
    """The response that the SDK makes of a stream."""
    state: Any = ResponseStreamState(input_tools=omit, text_format=omit)
    for event in stream:
        if event["type"] != "keepalive":
            state.handle_event(construct_type_unchecked(value=event, type_=ResponseStreamEvent))  # type: ignore[arg-type]
    response: Json = state._completed_response.to_dict()
    return response


def parsed(response: Json) -> Json:
    """A whole response as the SDK's `parse` reads it; its types must fit."""
    read = Response.model_validate(response)
    parsed: Any = parse_response(text_format=omit, input_tools=omit, response=read)
    again: Json = parsed.to_dict()
    return again


def types(stream: list[Json]) -> list[str]:
    """The events' types, without the API's name in front."""
    return [event["type"].removeprefix("response.") for event in stream]


def output(stream: list[Json]) -> list[Json]:
    """The items of the last event."""
    items: list[Json] = stream[-1]["response"]["output"]
    return items
