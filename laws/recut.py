"""Divide a stream's text among other server-sent events, for law 2 (`recut_text`, `frame_of`)."""

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from laws import response_pieces
from laws.reply_parser import frames, value_of
from laws.text_completions import is_text

type Json = dict[str, Any]
type Cut = Callable[[str], list[str]]  # cuts a text into pieces
_FIELDS = ("content", "reasoning_content", "reasoning")  # fields of a delta with text or thinking
TEXT_FIELDS = {"text_delta": "text", "thinking_delta": "thinking"}  # a delta's type -> its field


@dataclass(frozen=True)
class TextFrame:
    """A frame that holds a piece of text or thinking and nothing else."""

    template: Json  # the JSON of the frame with an empty text
    path: tuple[str | int, ...]
    """The keys and indexes that lead to the text: `("choices", 0, "delta", "content")`."""
    text: str  # the frame's own piece of text or thinking

    def frame(self, text: str) -> bytes:
        """Return the bytes of the frame with `text` in place of its own text."""
        value = copy.deepcopy(self.template)
        container: Any = value
        for step in self.path[:-1]:
            container = container[step]
        container[self.path[-1]] = text
        return frame_of(value)


def recut_text(body: bytes, cut: Cut) -> bytes:
    """Return the stream with its text in other frames. Neighbouring frames that differ only in text
    are replaced by a frame for each piece into which `cut` cuts their joined text; the others stay.
    """
    out: list[bytes] = []
    run: list[TextFrame] = []
    for frame in frames(body):
        text_frame = text_frame_of(value_of(frame) or {})
        if run and (
            text_frame is None
            or (text_frame.template, text_frame.path) != (run[0].template, run[0].path)
        ):
            out += _cut_run(run, cut)
            run = []
        if text_frame:
            run.append(text_frame)
        else:
            out.append(frame)
    return b"".join([*out, *_cut_run(run, cut)])


def _cut_run(run: list[TextFrame], cut: Cut) -> list[bytes]:
    """Return `run`, text frames that differ in text alone, with their joined text cut by `cut`."""
    if not run:
        return []
    return [run[0].frame(piece) for piece in cut("".join(each.text for each in run))]


def text_frame_of(value: Json) -> TextFrame | None:
    """Return a frame's JSON as a TextFrame; None if it has no text or thinking, or more."""
    if value.get("type") in response_pieces.TEXT_DELTAS and value.get("delta"):
        template = {**value, "delta": "", "sequence_number": 0}
        return TextFrame(template, ("delta",), value["delta"])
    delta, path = _delta_of(value)
    filled = [key for key, field in delta.items() if field not in (None, "")]
    names = [name for name in _text_fields(delta) if name in filled and type(delta[name]) is str]
    if not names or {*filled} - {names[0], "type", "index"}:
        return None
    name = names[0]
    text_frame = TextFrame(copy.deepcopy(value), (*path, name), delta[name])
    _delta_of(text_frame.template)[0][name] = ""
    return text_frame


def _text_fields(delta: Json) -> tuple[str, ...]:
    """Return the fields that may hold the text of this delta."""
    if "index" in delta:  # in a text completion, the choice itself is the delta
        return ("text",)
    if "type" not in delta:
        return _FIELDS
    return (TEXT_FIELDS[delta["type"]],) if delta["type"] in TEXT_FIELDS else ()


def _delta_of(value: Json) -> tuple[Json, tuple[str | int, ...]]:
    """Return a frame's delta, and the keys and indexes that lead to it. Both are empty if the frame
    has no delta, several choices, a finish or counts.
    """
    match value:
        case {"choices": [dict() as choice]} if not value.get("usage"):
            delta = choice if is_text(value) else choice.get("delta")
            if isinstance(delta, dict) and not choice.get("finish_reason"):
                return delta, ("choices", 0) if is_text(value) else ("choices", 0, "delta")
        case {"type": "content_block_delta", "delta": dict() as delta}:
            return delta, ("delta",)
    return {}, ()


def frame_of(value: Json) -> bytes:
    """Return JSON as the bytes of a server-sent event, with an `event:` line if it has a type."""
    named = "type" in value and "choices" not in value
    head = b"event: " + value["type"].encode() + b"\n" if named else b""
    return head + b"data: " + json.dumps(value, ensure_ascii=True).encode() + b"\n\n"
