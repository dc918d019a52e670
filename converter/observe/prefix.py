"""Breaks of a server's cached prompt: a request against the one before it in its conversation.

A server keeps the prompt that it has read last, and reads on where the next one is another. An
agent's request is the one before, and more: so where words before its end are others, all that
stands behind them is read again, which takes seconds to minutes on a local model. A conversation is
known by its words, without those that clients move or count on: no header tells it.
"""

import json
import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from converter.observe.thought_events import BILLING_LINES
from converter.wire.bounds import KEPT_PROMPT_BYTES, KEPT_PROMPTS, LONGEST_PROMPT

type Fields = Mapping[str, object]

SYSTEM = ("system", "developer")
_THOUGHTS = ("reasoning_content", "reasoning", "thinking")
_THOUGHT_PARTS = ("thinking", "redacted_thinking")
_MARK = "cache_control"
"""Says where a cache ends; no model reads it."""
_NEAR = 30
"""Characters of the longest date or time."""
_BLOCK = 2000
"""Characters of a block whose first words tell what it is."""
_HEAD = 4000
"""Characters by which a message is known: a long result that was cut short is still the same."""
_REMINDER = re.compile(
    r"<system-reminder>(?:(?!<system-reminder>).)*?</system-reminder>\s*", re.DOTALL
)
_DATE = re.compile(r"\d{4}-\d\d-\d\d|\d{1,2}:\d\d|[A-Z][a-z]+day\b|\b20\d\d\b")
_MOVING: tuple[tuple[str, re.Pattern[str], int | None], ...] = (
    ("a billing line, another in each request", BILLING_LINES, None),
    ("a reminder that the client moves", _REMINDER, None),
    ("the date or the time", _DATE, 0),
    ("git status", re.compile(r"\b[gG]it ?[sS]tatus\b"), _BLOCK),
)
"""What clients write anew in words that they repeat: its name, how it is found, and how many
characters behind it belong to it; None: without it both texts are the same. The first counts.
"""


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of the prompt: its words, and those without thoughts."""

    name: str
    words: str
    plain: str


@dataclass(frozen=True, slots=True)
class _Kept:
    """A request of `size` bytes. `last`: what its last message is known by."""

    owner: str
    body: Fields
    size: int
    last: str


@dataclass(frozen=True, slots=True)
class Break:
    """A place where the prompt became another. `share`: of the prompt, before it."""

    place: str
    cause: str
    share: float

    def told(self, prompt: int | None, cached: int | None) -> str:
        """Return the break in a line, without words of the prompt; nothing where the server's own
        count says that its cache held.

        `prompt` and `cached`: tokens, as the server tells them.
        """
        again = ""
        if prompt and cached is not None:
            if cached > prompt * (1 + self.share) / 2:
                return ""
            again = f"; {prompt - cached:,} of {prompt:,} tokens were read again"
        return f"the cached prompt was broken at {self.place}: {self.cause}{again}"


class Prompts:
    """The newest requests, by whom they belong to, bounded in number and bytes."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, _Kept] = OrderedDict()
        self._bytes = self._count = 0

    def compare(self, owner: str, body: Fields, size: int) -> Break | None:
        """Return where a request of `size` bytes breaks with the one before it, and keep it in
        that one's place.
        """
        now = messages_of(body)
        if size > LONGEST_PROMPT or not now:
            return None
        found = self._before(owner, now)
        before = self._kept.pop(found) if found else None
        self._bytes -= before.size if before else 0
        self._keep(_Kept(owner, body, size, known_by(now[-1])))
        return broken(before.body, body) if before else None

    def _before(self, owner: str, now: Sequence[object]) -> int | None:
        """Return the newest request that this one goes on from: the last message of a request tells
        most others at once.
        """
        known = dict[int, str]()
        for number in reversed(self._kept):
            kept = self._kept[number]
            messages = messages_of(kept.body)
            last = len(messages) - 1
            if kept.owner == owner and last + 1 < len(now):
                known[last] = known.get(last) or known_by(now[last])
                if known[last] == kept.last and alike(messages, now) > last:
                    return number
        return None

    def _keep(self, request: _Kept) -> None:
        self._count += 1
        self._kept[self._count] = request
        self._bytes += request.size
        while len(self._kept) > KEPT_PROMPTS or self._bytes > KEPT_PROMPT_BYTES:
            self._bytes -= self._kept.popitem(last=False)[1].size


def broken(before: Fields, now: Fields) -> Break | None:
    """Return the first place where the prompt of a request is no longer that of the one before; its
    end is no such place.
    """
    if before.get("model") != now.get("model"):
        return None
    old, new = list(_pieces(before)), list(_pieces(now))
    for number, (one, other) in enumerate(zip(old, new, strict=False)):
        if one == other:
            continue
        was, part = _part(*one), _part(*other)
        if was.words == part.words and was.name == part.name:
            continue
        at = _same(was.words, part.words)
        lengths = [len(_part(*piece).words) for piece in new]
        share = (sum(lengths[:number]) + at) / max(sum(lengths), 1)
        return Break(f"{part.name}, character {at}", _cause(was, part, at), share)
    return None


def _same(one: str, other: str) -> int:
    """Return how many characters two texts begin with alike."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def messages_of(body: Fields) -> Sequence[object]:
    """Return the messages of a request, of whatever dialect."""
    messages = body.get("messages") or body.get("input")
    return messages if isinstance(messages, list) else ()


def texts_of(body: Fields) -> dict[str, str]:
    """Return the words of a prompt's parts by their names, in the order in which templates write
    them.
    """
    return {name: _part(name, piece).words for name, piece in _pieces(body)}


def alike(before: Sequence[object], now: Sequence[object]) -> int:
    """Return how many messages two conversations begin with alike; equal ones cost nothing."""
    for number, (one, other) in enumerate(zip(before, now, strict=False)):
        if one != other and known_by(one) != known_by(other):
            return number
    return min(len(before), len(now))


def _pieces(body: Fields) -> Iterator[tuple[str, object]]:
    """Yield the prompt in the order in which templates write it: tools, then messages."""
    tools = body.get("tools")
    for tool in tools if isinstance(tools, list) else []:
        yield f"tool {_name(tool)}", {"tool": _unmarked(tool)}
    if system := body.get("system"):
        yield "the system text", {"role": "system", "content": system}
    for number, message in enumerate(messages_of(body)):
        role = message.get("role") if isinstance(message, Mapping) else ""
        yield f"message {number} ({role})", message


def _part(name: str, message: object) -> Part:
    """Return the words of a message, with its thoughts last."""
    texts, thoughts = list[str](), list[str]()
    for is_thought, text in _texts(message):
        (thoughts if is_thought else texts).append(text)
    plain = "\n".join(texts)
    return Part(name, plain + "\n".join(thoughts), plain)


def known_by(message: object) -> str:
    """Return the role of a message and how its words begin, without those that move."""
    role = str(message.get("role")) if isinstance(message, Mapping) else ""
    if role in SYSTEM:
        return role
    words, length = list[str](), 0
    for is_thought, text in _texts(message):
        words += [] if is_thought else [text[: _HEAD - length]]
        length += 0 if is_thought else len(words[-1])
    for moving in (_REMINDER, BILLING_LINES, _DATE):
        words = [moving.sub("", text).strip() for text in words]
    return "\n".join([role, *filter(None, words)])


def _texts(message: object) -> Iterator[tuple[bool, str]]:
    """Yield the texts of a message, and whether each is a thought."""
    fields = message if isinstance(message, Mapping) else {"content": message}
    for key in sorted(fields.keys() - {"role", _MARK}):
        for part in _split(fields[key]):
            if text := _text(part):
                yield key in _THOUGHTS or _kind(part) in _THOUGHT_PARTS, text


def _split(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else [value]


def _kind(part: object) -> object:
    return part.get("type") if isinstance(part, Mapping) else None


def _text(part: object) -> str:
    """Return the words of a message's field, or of a part of it."""
    if isinstance(part, str):
        return part
    if isinstance(part, Mapping) and isinstance(text := part.get("text"), str):
        return text
    return "" if part is None else json.dumps(_unmarked(part), ensure_ascii=False)


def _unmarked(value: object) -> object:
    if not isinstance(value, Mapping):
        return value
    return {key: item for key, item in value.items() if key != _MARK}


def _name(tool: object) -> str:
    function = tool.get("function", tool) if isinstance(tool, Mapping) else {}
    return str(function.get("name", "")) if isinstance(function, Mapping) else ""


def _cause(was: Part, now: Part, at: int) -> str:
    if was.name != now.name:
        return f"{was.name} stood there: other tools, or another order"
    if was.name.startswith("tool "):
        return "the tool is described otherwise"
    if was.plain == now.plain:
        return "an earlier thought was left out or changed, see think_restore"
    texts = was.plain, now.plain
    for cause, moving, behind in _MOVING:
        if behind is None:
            explains = len({moving.sub("", text).strip() for text in texts}) == 1
        else:
            explains = all(_stands(moving, text, at, behind) for text in texts)
        if explains:
            return cause
    return "other words"


def _stands(moving: re.Pattern[str], text: str, at: int, behind: int) -> bool:
    """Tell whether the place is within what moves."""
    start = max(0, at - behind - _NEAR)
    window, place = text[start : at + _NEAR], at - start
    return any(one.start() <= place <= one.end() + behind for one in moving.finditer(window))
