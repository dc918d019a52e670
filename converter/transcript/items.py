"""The items of a Responses request as turns: what the model wrote and what its tools gave, item
after item, is one turn each. Never raises.
"""

from collections.abc import Iterator, Mapping

from converter.dialects.reasoning_fields import is_said, words_of
from converter.observe.printable import in_json, size_of
from converter.transcript.blocks import json_of, left_over, parts_of, plain
from converter.transcript.turns import Part, Raw, Text, Thinking, ToolCall, ToolResult, Turn

type Fields = Mapping[str, object]

_ASSISTANT, _TOOL, _UNKNOWN = "assistant", "tool", "?"
_HEAD = ("id", "status")
"""Fields of every item that say nothing to a person."""
_GIVEN = ("arguments", "input", "action", "operation")
"""Where an item of a call holds its arguments, by the kind of call."""


def turns_of(said: object) -> list[Turn]:
    """Return the turns of an input: a text, a list of items, or whatever stands in its place."""
    if isinstance(said, str):
        return [Turn("user", (Text(said),))]
    turns: list[tuple[str, list[Part]]] = []
    for item in said if isinstance(said, list) else [said] if is_said(said) else []:
        role, parts = _read(item)
        if turns and role in (_ASSISTANT, _TOOL) and turns[-1][0] == role:
            turns[-1][1].extend(parts)
        else:
            turns.append((role, [*parts]))
    return [Turn(role, tuple(parts)) for role, parts in turns]


def _read(item: object) -> tuple[str, Iterator[Part]]:
    """Return who says an item, and what it says."""
    if not isinstance(item, dict):
        return _UNKNOWN, iter([Raw(in_json(item))])
    kind, role = str(item.get("type") or "message"), item.get("role")
    if kind == "message" and isinstance(role, str) and role:
        return role, _message(item)
    if kind == "reasoning":
        return _ASSISTANT, _thought(item)
    if kind.endswith("_call"):
        return _ASSISTANT, _call(item, kind)
    if kind.endswith("_output"):
        return _TOOL, _output(item)
    return _UNKNOWN, iter([Raw(in_json(item))])


def _message(item: Fields) -> Iterator[Part]:
    yield from parts_of(item.get("content"))
    yield from left_over(item, (*_HEAD, "role", "content"))


def _thought(item: Fields) -> Iterator[Part]:
    """Read a thought: raw or as a summary; what is sealed only where it has no words."""
    raw, summary, sealed = (item.get(name) for name in ("content", "summary", "encrypted_content"))
    words = words_of(raw) or words_of(summary)
    hidden = isinstance(sealed, str) and sealed and not words
    yield Thinking(words, f"sealed, {size_of(str(sealed))} bytes" if hidden else "")
    yield from left_over(item, (*_HEAD, "content", "summary", "encrypted_content"))


def _call(item: Fields, kind: str) -> Iterator[Part]:
    place = next((name for name in _GIVEN if item.get(name) is not None), "")
    name, call = item.get("name") or kind.removesuffix("_call"), item.get("call_id")
    yield ToolCall(str(name), str(call or ""), json_of(item[place]) if place else "")
    yield from left_over(item, (*_HEAD, "name", "call_id", place))


def _output(item: Fields) -> Iterator[Part]:
    given, call = item.get("output"), item.get("call_id")
    text = plain(parts_of([given] if isinstance(given, dict) else given))
    yield ToolResult(text, str(call or ""), error=item.get("status") == "failed")
    yield from left_over(item, (*_HEAD, "output", "call_id"))
