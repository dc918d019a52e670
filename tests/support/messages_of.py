"""Anthropic streams for the unit tests: written from events, checked for law 9, in a short form."""

import json
from collections.abc import Iterable

from converter.core.dialects.anthropic.encoder import AnthropicEncoder
from converter.core.dialects.wire_form import ReplyContext
from converter.core.model.events import Event, Start
from tests.support.frames_of import CONTEXT, Json, values
from tests.support.judged_calls import judged

HEAD = Start("chatcmpl-1", "small")
SIGNATURE = CONTEXT.signature
DELTA_FIELDS = ("text", "thinking", "partial_json")


def strictly_sequential(stream: list[Json]) -> bool:
    """Law 9: message_start, blocks 0, 1, 2 ... each started, filled and stopped before the next,
    message_delta, message_stop.
    """
    kinds = [(event["type"].removeprefix("content_block_"), event.get("index")) for event in stream]
    expected: list[tuple[str, int | None]] = [("message_start", None)]
    for index in range(sum(kind == "start" for kind, _ in kinds)):
        filled = sum(kind == ("delta", index) for kind in kinds)
        expected += [("start", index), *[("delta", index)] * filled, ("stop", index)]
    return kinds == [*expected, ("message_delta", None), ("message_stop", None)]


def written(events: Iterable[Event], context: ReplyContext = CONTEXT) -> list[Json]:
    """Return the stream that the encoder writes of `events`, with its end."""
    machine = AnthropicEncoder(context)
    return values([*machine.feed(judged(events)), *machine.close()])


def complete(events: Iterable[Event], context: ReplyContext = CONTEXT) -> list[Json]:
    """Return the stream of a whole message, which must keep law 9."""
    stream = written([HEAD, *events], context)
    assert strictly_sequential(stream), stream
    return stream


def blocks(stream: Iterable[Json]) -> list[tuple[str, str]]:
    """Return each block's kind and content; of a call, its name and input."""
    pairs: list[tuple[str, str]] = []
    for event in stream:
        if event["type"] == "content_block_start":
            block = event["content_block"]
            pairs.append(
                (block["type"], block["name"] + " " if block["type"] == "tool_use" else "")
            )
        elif event["type"] == "content_block_delta":
            delta = event["delta"]
            pairs[-1] = (
                pairs[-1][0],
                pairs[-1][1] + next((delta[name] for name in DELTA_FIELDS if name in delta), ""),
            )
    return pairs


def ending(stream: list[Json]) -> tuple[str, str | None]:
    """Return the stop reason of a message, and the string that stopped it."""
    delta = next(event["delta"] for event in stream if event["type"] == "message_delta")
    assert set(delta) == {"stop_reason", "stop_sequence"}
    return delta["stop_reason"], delta["stop_sequence"]


def counts(stream: list[Json]) -> Json:
    usage: Json = next(event["usage"] for event in stream if event["type"] == "message_delta")
    return usage


def streamed(events: Iterable[Event]) -> list[bytes]:
    encoder = AnthropicEncoder(CONTEXT)
    pieces = (piece for event in judged(events) for piece in encoder.feed([event]))
    return [*pieces, *encoder.close()]


def whole(events: Iterable[Event]) -> Json:
    encoder = AnthropicEncoder(CONTEXT, whole=True)
    assert encoder.feed(judged(events)) == []
    message: Json = json.loads(b"".join(encoder.close()))
    return message


def folded(pieces: Iterable[bytes]) -> Json:
    """A stream as a client's SDK puts it together."""
    message: Json = {}
    for event in values(pieces):
        _fold(message, event)
    return message


def _fold(message: Json, event: Json) -> None:
    match event:
        case {"type": "message_start"}:
            message |= event["message"]
        case {"type": "content_block_start"}:
            message["content"].append({**event["content_block"], "json": ""})
        case {"type": "content_block_delta"}:
            _add(message["content"][event["index"]], **event["delta"])
        case {"type": "content_block_stop"}:
            block = message["content"][event["index"]]
            arguments = block.pop("json")
            block |= {"input": json.loads(arguments)} if block["type"] == "tool_use" else {}
        case {"type": "message_delta"}:
            message |= event["delta"] | {"usage": event["usage"]}
        case {"type": "error"}:
            message.clear()
            message |= event


def _add(block: Json, type: str, **delta: str) -> None:  # noqa: A002
    for name, value in delta.items():
        key = "json" if type == "input_json_delta" else name
        block[key] = block[key] + value
