"""Write a reply in its other form: `fold` makes a body of a stream, `unfold` the opposite."""

import copy
import json
from collections.abc import Callable, Iterator, Mapping

from converter.core.dialects.table import ANTHROPIC, OLLAMA, OPENAI_CHAT, RESPONSES, Dialect
from laws import ollama_replies, response_pieces, text_completions
from laws.recut import TEXT_FIELDS, Cut, Json, frame_of
from laws.reply_parser import frames, value_of

_PIECE_FIELDS = {**TEXT_FIELDS, "input_json_delta": "partial_json", "signature_delta": "signature"}
"""Type of a delta of Messages -> the delta's field with the piece."""
_DONE = b"data: [DONE]\n\n"  # the last frame of a chat completions stream


def fold(body: bytes, dialect: Dialect) -> bytes:
    """Return the one body that the server would send in place of the stream."""
    body = ollama_replies.as_data_frames(body) if dialect is OLLAMA else body
    values = [value for frame in frames(body) if (value := value_of(frame)) is not None]
    kind = text_completions.fold if any(map(text_completions.is_text, values)) else _FOLDS[dialect]
    return json.dumps(kind(values)).encode()


def _fold_openai(values: list[Json]) -> Json:
    whole: Json = {}
    choices: dict[int, Json] = {}
    for value in values:
        whole |= {
            name: field for name, field in value.items() if name != "choices" and field is not None
        }
        for position, choice in enumerate(value.get("choices") or []):
            index = position if choice.get("index") is None else choice["index"]
            message = {"role": "assistant", "content": ""}
            begun = {"index": index, "message": message, "finish_reason": None}
            kept = choices.setdefault(index, begun)
            sent = {name: field for name, field in choice.items() if field is not None}
            _add_fields(kept["message"], sent.pop("delta", {}) or {})
            kept |= sent
    sorted_choices = [choices[index] for index in sorted(choices)]
    return whole | {"object": "chat.completion", "choices": sorted_choices}


def _add_fields(message: Json, delta: Json) -> None:
    """Add a delta's fields to the message: append text and lists, set other values."""
    for name, value in delta.items():
        if name == "tool_calls":
            _add_calls(message.setdefault(name, []), value or [])
        elif (
            isinstance(value, str | list)
            and name != "role"
            and type(message.get(name)) is type(value)
        ):
            message[name] += value
        elif value is not None:
            message[name] = copy.deepcopy(value)


def _add_calls(calls: list[Json], entries: list[Json]) -> None:
    """Append a delta's pieces of calls (`entries`) to the calls of the message (`calls`)."""
    for position, entry in enumerate(entries):
        index = position if entry.get("index") is None else entry["index"]
        while len(calls) <= index:
            calls.append({"id": "", "type": "function", "function": {"name": "", "arguments": ""}})
        function = entry.get("function") or {}
        calls[index]["id"] += entry.get("id") or ""
        for name in ("name", "arguments"):
            calls[index]["function"][name] += function.get(name) or ""


def _fold_anthropic(values: list[Json]) -> Json:
    message: Json = {}
    blocks: dict[int, Json] = {}
    for event in values:
        match event.get("type"):
            case "message_start":
                message = copy.deepcopy(event["message"])
            case "content_block_start":
                blocks[event["index"]] = {**event["content_block"], "written": ""}
            case "content_block_delta" if name := _PIECE_FIELDS.get(event["delta"].get("type")):
                key, block = "written" if name == "partial_json" else name, blocks[event["index"]]
                block[key] = block.get(key, "") + event["delta"][name]
            case "message_delta":
                usage = {**(message.get("usage") or {}), **(event.get("usage") or {})}
                message |= {**event.get("delta", {}), "usage": usage}
    return message | {"content": [_with_parsed_input(blocks[index]) for index in sorted(blocks)]}


def _with_parsed_input(block: Json) -> Json:
    """Return a block; if it is a call, its input is parsed from the JSON under `written`."""
    written = block.pop("written")
    if block["type"] != "tool_use":
        return block
    return block | {"input": json.loads(written) if written else block.get("input") or {}}


_FOLDS: Mapping[Dialect, Callable[[list[Json]], Json]] = {
    OPENAI_CHAT: _fold_openai,
    ANTHROPIC: _fold_anthropic,
    RESPONSES: response_pieces.fold,
    OLLAMA: ollama_replies.fold,
}


def unfold(body: bytes, dialect: Dialect, cut: Cut) -> bytes:
    """Return the body as its server would stream it. `cut` cuts a text into pieces, one a frame."""
    value: Json = json.loads(body)
    if dialect is ANTHROPIC:
        return b"".join(map(frame_of, _unfold_anthropic(value, cut)))
    if dialect is OLLAMA:
        return ollama_replies.as_lines(b"".join(map(frame_of, ollama_replies.unfold(value, cut))))
    if dialect is RESPONSES:
        return b"".join(map(frame_of, response_pieces.unfold(value, cut)))
    chunks = text_completions.unfold if text_completions.is_text(value) else _unfold_openai
    return b"".join([*map(frame_of, chunks(value, cut)), _DONE])


def _unfold_openai(value: Json, cut: Cut) -> Iterator[Json]:
    """Yield a chat completion as a stream's frames. `cut` cuts a text into one piece a frame."""
    head = {name: field for name, field in value.items() if name not in ("choices", "usage")}
    head["object"] = "chat.completion.chunk"
    for choice in value["choices"]:
        index = choice["index"]
        deltas = [{"role": "assistant", "content": None}, *_message_deltas(choice["message"], cut)]
        for delta in deltas:
            yield head | {"choices": [{"index": index, "delta": delta, "finish_reason": None}]}
        outer = {name: field for name, field in choice.items() if name != "message"}
        yield head | {"choices": [{**outer, "delta": {}}]}
    if value.get("usage"):
        yield head | {"choices": [], "usage": value["usage"]}


def _message_deltas(message: Json, cut: Cut) -> Iterator[Json]:
    """Yield a message's deltas in the order in which servers send them: thinking, text, calls."""
    fields = sorted(
        message.items(),
        key=lambda item: (item[0] == "tool_calls", item[0] in ("content", "refusal")),
    )
    for name, value in fields:
        if name == "tool_calls":
            for number, entry in enumerate(value or []):
                yield {"tool_calls": [{**entry, "index": number}]}
        elif isinstance(value, str) and name != "role":
            yield from ({name: piece} for piece in cut(value))
        elif value and name != "role":
            yield {name: value}


def _unfold_anthropic(message: Json, cut: Cut) -> Iterator[Json]:
    """Yield a message object as a stream's events. `cut` cuts a text into pieces, one a delta."""
    start = message | {"content": [], "stop_reason": None, "stop_sequence": None}
    yield {"type": "message_start", "message": start}
    for index, block in enumerate(message["content"]):
        yield {"type": "content_block_start", "index": index, "content_block": _empty_block(block)}
        for delta in _block_deltas(block, cut):
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ending = {name: message.get(name) for name in ("stop_reason", "stop_sequence")}
    yield {"type": "message_delta", "delta": ending, "usage": message.get("usage") or {}}
    yield {"type": "message_stop"}


def _empty_block(block: Json) -> Json:
    """Return a block as it begins in a stream, without its content."""
    if block["type"] not in ("text", "thinking", "tool_use"):
        return block
    empty: Json = {"text": "", "thinking": "", "signature": "", "input": {}}
    return {name: empty.get(name, value) for name, value in block.items()}


def _block_deltas(block: Json, cut: Cut) -> Iterator[Json]:
    """Yield a Messages block's deltas. `cut` cuts its text into pieces, one a delta."""
    match block:
        case {"type": "tool_use", "input": given}:
            yield {"type": "input_json_delta", "partial_json": json.dumps(given)}
        case {"type": "text" | "thinking" as kind}:
            yield from ({"type": f"{kind}_delta", kind: piece} for piece in cut(block[kind]))
            if block.get("signature"):
                yield {"type": "signature_delta", "signature": block["signature"]}
