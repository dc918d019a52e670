"""The items of a Responses request as turns: what the model wrote and what its tools gave, item
after item, is one turn each. Never raises.

A reply's items that only its dialect has are read here as well.
"""

from collections.abc import Callable, Iterator, Mapping

from converter.dialects.reasoning_fields import is_said, words_of
from converter.observe.printable import in_json, size_of
from converter.transcript.blocks import json_of, left_over, parts_of, plain
from converter.transcript.turns import (
    CallPart,
    Part,
    Raw,
    ResultPart,
    ShownTurn,
    TextPart,
    ThinkingPart,
)

type Fields = Mapping[str, object]
type Split = Callable[[str], list[Part]]

_ASSISTANT, _TOOL, _UNKNOWN = "assistant", "tool", "?"
_HEAD = ("id", "status")
"""Fields of every item that say nothing to a person."""
_GIVEN = ("arguments", "input", "action", "operation", "code", "queries")
"""Where an item of a call holds its arguments, by the kind of call."""
_NAMES = ("server_label", "namespace", "name")
"""What a call names: where the tool is from, and the tool."""


def _as_it_is(text: str) -> list[Part]:
    return [TextPart(text)]


def turns_of(given: object, split: Split = _as_it_is) -> list[ShownTurn]:
    """Return the turns of an input: a text, a list of items, or whatever stands in its place.
    `split` sets thinking apart that stands in the text of an assistant.
    """
    if isinstance(given, str):
        return [ShownTurn("user", (TextPart(given),))]
    turns: list[tuple[str, list[Part]]] = []
    for item in given if isinstance(given, list) else [given] if is_said(given) else []:
        role, parts = _read(item, split)
        if turns and role in (_ASSISTANT, _TOOL) and turns[-1][0] == role:
            turns[-1][1].extend(parts)
        else:
            turns.append((role, [*parts]))
    return [ShownTurn(role, tuple(parts)) for role, parts in turns]


def parts_of_item(item: Fields) -> list[Part]:
    """Return what one item says."""
    return list(_read(item, _as_it_is)[1])


def _read(item: object, split: Split) -> tuple[str, Iterator[Part]]:
    """Return who says an item, and what it says."""
    if not isinstance(item, dict):
        return _UNKNOWN, iter([Raw(in_json(item))])
    kind, role = str(item.get("type") or "message"), item.get("role")
    if kind == "message" and isinstance(role, str) and role:
        return role, _message(item, split if role == _ASSISTANT else _as_it_is)
    if kind == "reasoning":
        return _ASSISTANT, _thought(item)
    if kind.endswith("_call"):
        return _ASSISTANT, _call(item, kind)
    if kind.endswith("_output"):
        return _TOOL, _output(item)
    return _UNKNOWN, iter([Raw(in_json(item))])


def _message(item: Fields, split: Split) -> Iterator[Part]:
    for part in parts_of(item.get("content")):
        yield from split(part.text) if isinstance(part, TextPart) and not part.place else [part]
    yield from left_over(item, (*_HEAD, "role", "content"))


def _thought(item: Fields) -> Iterator[Part]:
    """Read a thought: raw or as a summary; what is sealed only where it has no words."""
    raw, summary, sealed = (item.get(name) for name in ("content", "summary", "encrypted_content"))
    words = words_of(raw) or words_of(summary)
    hidden = isinstance(sealed, str) and sealed and not words
    yield ThinkingPart(words, f"sealed, {size_of(str(sealed))} bytes" if hidden else "")
    yield from left_over(item, (*_HEAD, "content", "summary", "encrypted_content"))


def _call(item: Fields, kind: str) -> Iterator[Part]:
    place = next((name for name in _GIVEN if item.get(name) is not None), "")
    names = [written for name in _NAMES if isinstance(written := item.get(name), str)]
    name, call = (
        ".".join(names) or kind.removesuffix("_call"),
        item.get("call_id") or item.get("id"),
    )
    yield CallPart(name, str(call or ""), json_of(item[place]) if place else "")
    yield from left_over(item, (*_HEAD, *_NAMES, "call_id", place))


def _output(item: Fields) -> Iterator[Part]:
    given, call = item.get("output"), item.get("call_id")
    text = plain(parts_of([given] if isinstance(given, dict) else given))
    yield ResultPart(text, str(call or ""), error=item.get("status") == "failed")
    yield from left_over(item, (*_HEAD, "output", "call_id"))
