"""Parts of a request by the tokens that they take: system prompt, tools, turns, thoughts, calls,
results, pictures.

A server that shows its prompt's tokens has counted each part. Of another, its own count is the
whole; a part's share of that is estimated by its length.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from converter.exchange.settings import Settings
from converter.transcript import in_prompt, request
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
_TOOL, _PICTURES = "tool", "picture"
_NOWHERE = " (not in the prompt)"
"""Of what the chat template leaves out."""
_KINDS = {
    ThinkingPart: "thought",
    CallPart: "call",
    ResultPart: "result",
    Media: _PICTURES,
    TextPart: "turn",
    Raw: "turn",
}


@dataclass(frozen=True, slots=True)
class ContextPart:
    """A part of a request. `tokens`: as the server counted, else its share of that or an
    estimate.
    """

    kind: str
    name: str
    tokens: int


class _Row(NamedTuple):
    """A part by its length in bytes. `words`: by which it is found in a prompt."""

    kind: str
    name: str
    length: int
    words: in_prompt.Words = ()


def read(
    body: bytes,
    chosen: Settings,
    counted: int | None,
    pieces: Sequence[bytes] | None = None,
    called: Collection[str] = (),
) -> dict[str, object]:
    """Return the parts of a request that a server got, the largest first, and the sum of each kind.

    `counted`: the prompt's tokens, as the reply tells them. `pieces`: the words of each token, as
    the server counts them; without them the parts' sum is `counted`. `called`: tools that were
    called elsewhere in the session.
    """
    rows = list(_weighed(request.read(body, chosen), json_text.read_or_none(body), called))
    parts = _counted(rows, pieces, counted) if pieces else _shared(rows, counted)
    kinds = Counter[str]()
    for part in parts:
        kinds[part.kind] += part.tokens
    told = [(part.kind, part.name, part.tokens) for part in parts[:MOST]]
    if rest := parts[MOST:]:
        told.append(("other", f"{len(rest):,} smaller parts", sum(part.tokens for part in rest)))
    whole = sum(kinds.values())
    note = f"{len(pieces):,} tokens: each part counted by the server." if pieces else ""
    return {
        "note": note or _note(counted, whole),
        "kinds": list(kinds.items()),
        "parts": told,
    }


def _note(counted: int | None, whole: int) -> str:
    if counted:
        return f"{counted:,} tokens, counted by the server; shares estimated by length."
    return f"About {whole:,} tokens: estimated by length, the server told no count."


def _counted(
    rows: Sequence[_Row], pieces: Sequence[bytes], counted: int | None
) -> list[ContextPart]:
    """Return the parts by the prompt's own tokens; what is of no part is the template's. Pictures
    are no tokens of a text: theirs is what the reply counts beyond.
    """
    words = [[row.words for row in rows if (row.kind == _TOOL) is tools] for tools in (True, False)]
    of_tools, of_turns = map(iter, in_prompt.tokens(pieces, *words))
    pictures = sum(row.kind == _PICTURES for row in rows)
    beyond = max(0, counted - len(pieces)) if counted else pictures * _PICTURE
    parts, rest = list[ContextPart](), len(pieces)
    for row in rows:
        tokens = next(of_tools if row.kind == _TOOL else of_turns)
        rest -= tokens or 0
        name = row.name if tokens is not None or not row.length else f"{row.name}{_NOWHERE}"
        if row.kind == _PICTURES:
            name, tokens = row.name, beyond // pictures
        parts.append(ContextPart(row.kind, name, tokens or 0))
    parts.append(ContextPart("template", "the chat template's own words", rest))
    return sorted(parts, key=lambda part: -part.tokens)


def _shared(rows: Sequence[_Row], counted: int | None) -> list[ContextPart]:
    """Share the count out by weight. Borders are rounded and not shares, so the sum is exact."""
    weight = sum(row.length for row in rows)
    whole = counted or -(-weight // _BYTES)
    parts, passed, border = list[ContextPart](), 0, 0
    for row in rows:
        passed += row.length
        end = passed * whole // (weight or 1)
        parts.append(ContextPart(row.kind, row.name, end - border))
        border = end
    return sorted(parts, key=lambda part: -part.tokens)


def _weighed(asked: Transcript, body: object, called: Collection[str]) -> Iterator[_Row]:
    """Return each part, in the request's order."""
    fields = body if isinstance(body, dict) else {}
    calls = {
        part.id: part.name
        for turn in asked.turns
        for part in turn.parts
        if isinstance(part, CallPart)
    }
    yield from _tools(fields, {*calls.values(), *called})
    if isinstance(prompt := fields.get("prompt"), str):
        yield _Row("turn", "prompt", _length(prompt), (prompt,))
    for number, turn in enumerate(asked.turns, 1):
        for part in turn.parts:
            if kind := _KINDS.get(type(part)):
                kind = "system" if turn.role in _SYSTEM else kind
                yield _Row(kind, _name(part, number, turn.role, calls), _weight(part), _words(part))
    for words in asked.rest:
        yield _Row("turn", "unread", _length(words), (words,))


def _tools(fields: dict[str, object], called: set[str]) -> Iterator[_Row]:
    for tools in (fields.get("tools"), fields.get("functions")):
        for tool in tools if isinstance(tools, list) else []:
            name = request.tool_name(tool)
            told = name if name in called else f"{name} (never called)"
            yield _Row(_TOOL, told, len(json_text.write(tool)), (name, *_strings(tool)))


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
    return sum(map(_length, _said(part)))


def _said(part: Part) -> in_prompt.Words:
    if isinstance(part, CallPart):
        return part.name, part.arguments
    return (part.text,) if isinstance(part, ThinkingPart | TextPart | ResultPart | Raw) else ()


def _words(part: Part) -> in_prompt.Words:
    """Return what stands in the prompt in any case: of arguments, which a template writes in its
    own way, their strings.
    """
    if isinstance(part, CallPart):
        given = json_text.read_or_none(part.arguments.encode(errors="replace"))
        return part.name, *(_strings(given) if given else (part.arguments,))
    return _said(part)


def _strings(value: object) -> list[str]:
    """Return all strings of a JSON value, in their order."""
    found, left = list[str](), [value]
    while left:
        match left.pop():
            case str(words):
                found.append(words)
            case dict(fields):
                left += reversed(fields.values())
            case list(items):
                left += reversed(items)
    return found


def _length(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))
