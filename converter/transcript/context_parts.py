"""Parts of a request by the tokens that they take: system prompt, tools, turns, thoughts, calls,
results, pictures.

The server's own count is the whole; a part's share of it is estimated by its length, for no server
says it.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from converter.exchange.settings import Settings
from converter.transcript import request
from converter.transcript.turns import (
    CallPart,
    Media,
    Part,
    Raw,
    ResultPart,
    TextPart,
    ThinkingPart,
    Transcript,
)
from converter.wire import json_text

MOST = 500
"""Parts that are told apart, the largest; the others are one."""
_BYTES = 4
"""Bytes of a token of English text or JSON."""
_PICTURE = 1000
"""Tokens of a picture: between what servers make of a small one and of a large one."""
_SYSTEM = ("system", "developer")
_KINDS = {
    ThinkingPart: "thought",
    CallPart: "call",
    ResultPart: "result",
    Media: "picture",
    TextPart: "turn",
    Raw: "turn",
}


@dataclass(frozen=True, slots=True)
class ContextPart:
    """A part of a request. `tokens`: its share of what the server counted, else an estimate."""

    kind: str
    name: str
    tokens: int


def read(body: bytes, chosen: Settings, counted: int | None) -> dict[str, object]:
    """Return a request's parts, the largest first, and the sum of each kind; the parts' sum is
    `counted`, if the server counted.
    """
    rows = list(_weighed(request.read(body, chosen), json_text.read_or_none(body)))
    parts = _shared(rows, counted)
    kinds = Counter[str]()
    for part in parts:
        kinds[part.kind] += part.tokens
    told = [(part.kind, part.name, part.tokens) for part in parts[:MOST]]
    if rest := parts[MOST:]:
        told.append(("other", f"{len(rest):,} smaller parts", sum(part.tokens for part in rest)))
    return {
        "note": _note(counted, sum(kinds.values())),
        "kinds": list(kinds.items()),
        "parts": told,
    }


def _note(counted: int | None, whole: int) -> str:
    if counted:
        return f"{counted:,} tokens, counted by the server; shares estimated by length."
    return f"About {whole:,} tokens: estimated by length, the server told no count."


def _shared(rows: Sequence[tuple[str, str, int]], counted: int | None) -> list[ContextPart]:
    """Share the count out by weight. Borders are rounded and not shares, so the sum is exact."""
    weight = sum(row[2] for row in rows)
    whole = counted or -(-weight // _BYTES)
    parts, passed, border = list[ContextPart](), 0, 0
    for kind, name, own in rows:
        passed += own
        end = passed * whole // (weight or 1)
        parts.append(ContextPart(kind, name, end - border))
        border = end
    return sorted(parts, key=lambda part: -part.tokens)


def _weighed(asked: Transcript, body: object) -> Iterator[tuple[str, str, int]]:
    """Return kind, name and bytes of each part, in the request's order."""
    fields = body if isinstance(body, dict) else {}
    calls = {
        part.id: part.name
        for turn in asked.turns
        for part in turn.parts
        if isinstance(part, CallPart)
    }
    yield from _tools(fields, set(calls.values()))
    if isinstance(prompt := fields.get("prompt"), str):
        yield "turn", "prompt", _length(prompt)
    for number, turn in enumerate(asked.turns, 1):
        for part in turn.parts:
            if kind := _KINDS.get(type(part)):
                kind = "system" if turn.role in _SYSTEM else kind
                yield kind, _name(part, number, turn.role, calls), _weight(part)
    for words in asked.rest:
        yield "turn", "unread", _length(words)


def _tools(fields: dict[str, object], called: set[str]) -> Iterator[tuple[str, str, int]]:
    for tools in (fields.get("tools"), fields.get("functions")):
        for tool in tools if isinstance(tools, list) else []:
            name = request.tool_name(tool)
            told = name if name in called else f"{name} (never called)"
            yield "tool", told, len(json_text.write(tool))


def _name(part: Part, number: int, role: str, calls: dict[str, str]) -> str:
    if isinstance(part, CallPart):
        tool = part.name
    elif isinstance(part, ResultPart):
        tool = part.name or calls.get(part.id, "")
    else:
        tool = part.words if isinstance(part, Media) else role
    return f"{number} {tool}"


def _weight(part: Part) -> int:
    if isinstance(part, Media):
        return _PICTURE * _BYTES
    if isinstance(part, CallPart):
        return _length(part.name) + _length(part.arguments)
    return _length(part.text) if isinstance(part, ThinkingPart | TextPart | ResultPart | Raw) else 0


def _length(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))
