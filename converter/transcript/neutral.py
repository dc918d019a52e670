"""A transcript as JSON, free of any dialect: for programs, and for keeping, texts as they came."""

import json
import re
from dataclasses import fields

from converter.observe.printable import in_json
from converter.transcript.facts import together
from converter.transcript.turns import (
    Facts,
    Failure,
    Field,
    Media,
    Part,
    Raw,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Transcript,
    Turn,
)

KINDS: dict[type[Part], str] = {
    Thinking: "thinking",
    Text: "text",
    ToolCall: "tool_call",
    ToolResult: "tool_result",
    Media: "media",
    Field: "field",
    Failure: "error",
    Raw: "raw",
}
_NAMES = {(Media, "kind"): "media", (Failure, "kind"): "error"}
"""Where a value's name is one that every part has."""
_ACTING = re.compile(
    "[\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)
"""What JSON would let through and a terminal must not get; all of it stands within strings, where
it can be escaped.
"""


def write(transcript: Transcript, more: Facts | None = None) -> str:
    """Return JSON: `turns` of `parts`, `asked` of a request, `facts` of a reply, what stands
    `beside` it, the unread `rest`.
    """
    values = {
        "asked": transcript.asked,
        "turns": list(map(_turn, transcript.turns)),
        "facts": together(transcript.facts, more),
        "beside": {field.name: field.value for field in transcript.beside},
        "rest": transcript.rest,
    }
    written = in_json({name: value for name, value in values.items() if value})
    return _ACTING.sub(lambda found: f"\\u{ord(found[0]):04x}", written) + "\n"


def _turn(turn: Turn) -> dict[str, object]:
    choice = {"choice": turn.choice} if turn.choice else {}
    return {"role": turn.role, **choice, "parts": list(map(_part, turn.parts))}


def _part(part: Part) -> dict[str, object]:
    """Return a part's values, what it lacks left out; a call's arguments as the JSON that they are,
    if they are any.
    """
    told = {
        _NAMES.get((type(part), each.name), each.name): getattr(part, each.name)
        for each in fields(part)
        if each.compare
    }
    if isinstance(part, ToolCall):
        told["arguments"] = _json(part.arguments)
    return {
        "kind": KINDS[type(part)],
        **{name: value for name, value in told.items() if name == "value" or _is_known(value)},
    }


def _is_known(value: object) -> bool:
    return not (value is None or value is False or value == "")


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
