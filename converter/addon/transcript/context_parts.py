"""Split a request into parts (system prompt, tools, turns, thoughts, calls, results, pictures),
each with its number of tokens, so that people see on the page what fills the context window.

If a server returns the list of the prompt's tokens, the tokens of each part are counted. Other
servers report at most the number of all tokens: this number, or else an estimate, is shared among
the parts by their lengths.
"""

from bisect import bisect, bisect_left, insort
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from converter.addon.exchange.settings import Settings
from converter.addon.transcript import request
from converter.addon.transcript.turns import Media, Part, Raw, Transcript
from converter.core.model.conversation import TextBlock, ThinkingBlock, ToolResult, ToolUse
from converter.core.model.events import BYTES_PER_TOKEN
from converter.core.model.raw_messages import SYSTEM, strings_of
from converter.core.wire import json_text

type Strings = Sequence[str]
"""The texts of a part, in order: a name and the strings of its JSON, or one text."""
type _Span = tuple[int, int]
"""The offsets in the prompt's bytes at which a text begins and ends."""

MOST = 500
"""The most parts that are listed on the page. All smaller parts share one row, which has the sum of
their tokens.
"""
_PICTURE_TOKENS = 1000
"""The estimated tokens of a picture of medium size. They count if the server reports no count, and
stand for the picture's length where tokens are shared by length.
"""
_TOOL, _PICTURES = "tool", "picture"
"""Kinds of parts."""
_UNCALLED = " (never called)"
"""The end of the name of a tool that no exchange of the session has called."""
_NOT_IN_PROMPT = " (not in the prompt)"
"""The end of the name of a part that the chat template leaves out of the prompt."""
_KINDS = {
    ThinkingBlock: "thought",
    ToolUse: "call",
    ToolResult: "result",
    Media: _PICTURES,
    TextBlock: "turn",
    Raw: "turn",
}
"""Type of a part -> the kind of part by which the page adds up tokens."""


class ContextPart(NamedTuple):
    """A part of a request with its number of tokens."""

    kind: str
    """`system`, `turn`, `thought`, `call`, `result`, `picture`, `tool`, `template` or `other`."""
    name: str
    """The part's name for people. `3 read_file` is a call of the tool `read_file` in turn 3."""
    tokens: int
    """How many tokens the part has, if the server returns the list of the prompt's tokens (which
    has no pictures: their tokens are estimated). For any other server it is the part's share of all
    tokens, by its length.
    """


class _Row(NamedTuple):
    """A part of a request before its tokens are known."""

    kind: str
    """The kind, as in `ContextPart`."""
    name: str
    """The name for people, as in `ContextPart`."""
    length: int
    """How many bytes the part has."""
    strings: Strings = ()
    """The texts by which the part is searched for in the prompt."""


def context_values(
    body: bytes,
    chosen: Settings,
    counted: int | None,
    pieces: Sequence[bytes] | None = None,
    called: Collection[str] = (),
) -> dict[str, object]:
    """Return the page's JSON about the parts of a request to a server: `parts`, the largest first;
    `kinds`, the tokens of all parts of each kind; `unused`, the tokens of the tools that were never
    called; and `note`, a sentence on how the tokens were counted.

    `body`: the request's body. `chosen`: the settings in force. `counted`: how many tokens the
    prompt has, as the reply reports; None if it does not. `pieces`: the bytes of each token of the
    prompt; None if the server does not return them. `called`: the tools that other exchanges of the
    session called.
    """
    rows = list(_part_rows(request.read(body, chosen), json_text.read_or_none(body), called))
    parts = [*(_count_parts(rows, pieces, counted) if pieces else _share_tokens(rows, counted))]
    parts.sort(key=lambda part: -part.tokens)
    kinds = Counter[str]()
    for part in parts:
        kinds[part.kind] += part.tokens
    unused = sum(part.tokens for part in parts if part.name.endswith(_UNCALLED))
    shown, rest = parts[:MOST], parts[MOST:]
    if rest:
        smaller = f"{len(rest):,} smaller parts"
        shown.append(ContextPart("other", smaller, sum(part.tokens for part in rest)))
    if pieces:
        note = f"{len(pieces):,} tokens: each part counted by the server."
    elif counted:
        note = f"{counted:,} tokens, counted by the server; shares estimated by length."
    else:
        note = f"About {kinds.total():,} tokens: estimated by length, the server reported no count."
    return {"note": note, "unused": unused, "kinds": list(kinds.items()), "parts": shown}


def _count_parts(
    rows: Sequence[_Row], pieces: Sequence[bytes], counted: int | None
) -> Iterator[ContextPart]:
    """Yield each part with the number of its tokens in the prompt. `pieces`: the bytes of each
    token of the prompt.

    Tokens that belong to no part are the chat template's own, and are yielded last. Pictures are
    not in the prompt's text: if the reply reports more tokens (`counted`) than the text has, the
    pictures share the difference. If it reports no count, each has `_PICTURE_TOKENS`.
    """
    strings, tools = [row.strings for row in rows], sum(row.kind == _TOOL for row in rows)
    pictures = sum(row.kind == _PICTURES for row in rows)
    beyond = max(0, counted - len(pieces)) if counted else pictures * _PICTURE_TOKENS
    rest = len(pieces)
    for row, tokens in zip(rows, tokens_of(pieces, strings[:tools], strings[tools:]), strict=True):
        rest -= tokens or 0
        seen = row.kind == _PICTURES
        in_prompt = seen or tokens is not None or not row.length
        name = row.name if in_prompt else f"{row.name}{_NOT_IN_PROMPT}"
        yield ContextPart(row.kind, name, beyond // pictures if seen else tokens or 0)
    yield ContextPart("template", "the chat template's own text", rest)


def _share_tokens(rows: Sequence[_Row], counted: int | None) -> Iterator[ContextPart]:
    """Yield each part with a share of all tokens (`counted`) in proportion to its length. If
    `counted` is None, the number of all tokens is estimated by the length. The shares are
    differences of rounded running sums, so that they add up to the whole.
    """
    passed = [*accumulate((row.length for row in rows), initial=0)]
    whole, weight = counted or -(-passed[-1] // BYTES_PER_TOKEN), passed[-1] or 1
    borders = pairwise(length * whole // weight for length in passed)
    for row, (begin, end) in zip(rows, borders, strict=True):
        yield ContextPart(row.kind, row.name, end - begin)


def _part_rows(request_shown: Transcript, body: object, called: Collection[str]) -> Iterator[_Row]:
    """Yield a row for each part of a request, in the request's order. `request_shown`: its
    transcript. `body`: its JSON value. `called`: the tools that other exchanges of the session
    called.
    """
    fields = json_text.as_object(body)
    calls = {
        part.id: part.name
        for turn in request_shown.turns
        for part in turn.parts
        if isinstance(part, ToolUse)
    }
    called = {*calls.values(), *called}
    for tools in (fields.get("tools"), fields.get("functions")):
        for tool in tools if isinstance(tools, list) else []:
            name = request.tool_name(tool)
            label = name if name in called else f"{name}{_UNCALLED}"
            yield _Row(_TOOL, label, len(json_text.write(tool)), (name, *strings_of(tool)))
    if isinstance(prompt := fields.get("prompt"), str):
        yield _Row("turn", "prompt", _byte_length(prompt), (prompt,))
    for number, turn in enumerate(request_shown.turns, 1):
        for part in turn.parts:
            if kind := _KINDS.get(type(part)):
                kind = "system" if turn.role in SYSTEM else kind
                picture = _PICTURE_TOKENS * BYTES_PER_TOKEN if isinstance(part, Media) else 0
                length = sum(map(_byte_length, _strings_of(part))) or picture
                name = _part_name(part, number, turn.role, calls)
                yield _Row(kind, name, length, _unchanged_strings(part))
    for text in request_shown.rest:
        yield _Row("turn", "unread", _byte_length(text), (text,))


def _part_name(part: Part, number: int, role: str, calls: dict[str, str]) -> str:
    """Return the name of a part, such as `3 read_file`: the number of its turn, and the name of its
    tool, its medium or its role. `calls`: id of a call -> name of its tool.
    """
    if isinstance(part, ToolUse):
        tool = part.name
    elif isinstance(part, ToolResult):
        tool = part.name or calls.get(part.tool_use_id, "")
    else:
        tool = part.line if isinstance(part, Media) else role
    return f"{number} {tool}"


def _strings_of(part: Part) -> Strings:
    """Return the texts of a part: a call's name and arguments, else one text; `()` for a part
    without text, such as a picture.
    """
    if isinstance(part, ToolUse):
        return part.name, part.arguments
    return (part.text,) if isinstance(part, ThinkingBlock | TextBlock | ToolResult | Raw) else ()


def _unchanged_strings(part: Part) -> Strings:
    """Return the strings of a part that any chat template writes into the prompt unchanged. Of a
    call these are the name and the strings within its arguments, because some templates do not
    write arguments as JSON.
    """
    if isinstance(part, ToolUse):
        arguments = json_text.read_or_none(part.arguments.encode(errors="replace"))
        return part.name, *(strings_of(arguments) if arguments else (part.arguments,))
    return _strings_of(part)


def _byte_length(text: str) -> int:
    """Return how many bytes a text has in UTF-8."""
    return len(text.encode(errors="surrogatepass"))


def tokens_of(
    pieces: Sequence[bytes], tools: Sequence[Strings], turns: Sequence[Strings]
) -> list[int | None]:
    """Return how many of a prompt's tokens belong to each tool, then to each part of a turn; None
    for a part that is not in the prompt.

    `pieces`: the bytes of each token of the prompt. `tools`, `turns`: the texts of each tool and of
    each part of a turn, in the prompt's order.

    A chat template writes texts as they are or as JSON, strips blanks at their ends, and leaves
    some out, such as earlier thoughts. So the longest parts are searched for first, because a long
    text occurs only once in a prompt. A shorter part is then searched for between its neighbours.
    """
    prompt = b"".join(pieces)
    borders = [0, *accumulate(map(len, pieces))]
    described = _find_spans(prompt, tools)
    # each tool's span goes on to the next tool, because the JSON after its texts belongs to it
    ends = dict(pairwise(span[0] for span in described if span))
    described = [span and (span[0], ends.get(span[0], span[1])) for span in described]
    of_tools = sorted(span for span in described if span)
    # the bytes of the tools are overwritten with zeros, so that no turn's text is found in them
    for begin, end in of_tools:
        prompt = prompt[:begin] + bytes(end - begin) + prompt[end:]
    return [
        span and bisect_left(borders, span[1]) - bisect_left(borders, span[0])
        for span in (*described, *_find_spans(prompt, turns))
    ]


def _find_spans(prompt: bytes, parts: Sequence[Strings]) -> list[_Span | None]:
    """Return the span of each part in the prompt, None for a part that is not in it. `parts`: the
    texts of each part. The longest text of a part is searched for first; then the span is extended
    to the other texts.
    """
    longest = [max(strings, key=len, default="") for strings in parts]
    placed, spans = list[int](), dict[int, _Span]()
    for part in sorted(range(len(parts)), key=lambda part: -len(longest[part])):
        after = bisect(placed, part)
        low = spans[placed[after - 1]][1] if after else 0
        high = spans[placed[after]][0] if after < len(placed) else len(prompt)
        if span := _find_string(prompt.find, longest[part], low, high):
            spans[part] = span
            insort(placed, part)
    ends = [spans[part][0] for part in placed[1:]] + [len(prompt)]
    low = 0
    for part, high in zip(placed, ends, strict=False):
        spans[part] = _extend_span(prompt, parts[part], longest[part], spans[part], (low, high))
        low = spans[part][1]
    return [spans.get(part) for part in range(len(parts))]


def _extend_span(prompt: bytes, strings: Strings, longest: str, span: _Span, room: _Span) -> _Span:
    """Return the span of a whole part in the prompt, from its first text to its last. `strings`:
    its texts. `span`: the span of its longest text, `longest`. `room`: the span between the parts
    before and after it, in which its other texts are searched for.
    """
    (begin, end), (low, high) = span, room
    if strings[0] != longest and (first := _find_string(prompt.rfind, strings[0], low, begin)):
        begin = first[0]
    for string in strings[strings.index(longest) + 1 :]:
        if then := _find_string(prompt.find, string, end, high):
            end = then[1]
    return begin, end


def _find_string(
    search: Callable[[bytes, int, int], int], string: str, low: int, high: int
) -> _Span | None:
    """Return the span of a string between the offsets `low` and `high` of the prompt; None if it is
    not there. The prompt may have the string as it is, or with the escapes of JSON. `search`: the
    method `find` or `rfind` of the prompt's bytes.
    """
    plain = string.strip()
    for text in (plain, json_text.write(plain).decode()[1:-1]) if plain else ():
        written = text.encode(errors="replace")
        if (at := search(written, low, high)) >= 0:
            return at, at + len(written)
    return None
