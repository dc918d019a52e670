"""Breaks of a server's cached prompt: a request against the one before it in its conversation.

A server keeps the prompt that it has read last, and reads on where the next one is another. An
agent's request is the one before, and more: so where words before its end are others, all that
stands behind them is read again, which takes seconds to minutes on a local model. A conversation is
known by its words, without those that clients move or count on: no header tells it.
"""

import json
import re
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from converter.core.wire.bounds import KEPT_PROMPT_BYTES, KEPT_PROMPTS, LONGEST_PROMPT

type Fields = Mapping[str, object]

# Claude Code's, another in each request
BILLING_LINES = re.compile(r"^x-anthropic-billing-header:[^\n]*\n*", re.MULTILINE)
SYSTEM = ("system", "developer")
_THOUGHTS = ("reasoning_content", "reasoning", "thinking")
_THOUGHT_PARTS = ("thinking", "redacted_thinking")
_MARK = "cache_control"
"""Says where a cache ends; no model reads it."""
_NEAR = 30
"""Characters of the longest date or time."""
_BLOCK = 2000
"""Characters of a block whose first words tell what it is."""
_BEGUN_TURN = 8
"""Tokens at a prompt's end that begin the reply, and stand otherwise in the history."""
_HEAD = 4000
"""Characters by which a message is known: a long result that was cut short is still the same."""
_REMINDER = re.compile(
    r"<system-reminder>(?:(?!<system-reminder>).)*?</system-reminder>\s*", re.DOTALL
)
_ASKS_TO_THINK = re.compile(
    r"Before you answer, think step by step inside <thinking>.*?outside of the tags\.", re.DOTALL
)
_TOLD_TOOLS = re.compile(r"# Tools\n\nYou can use these tools:\n<tools>.*?\n</tools>", re.DOTALL)
_DATE = re.compile(r"\d{4}-\d\d-\d\d|\d{1,2}:\d\d|[A-Z][a-z]+day\b|\b20\d\d\b")


class Breaker(NamedTuple):
    """Words written anew in text that is repeated. `pattern` finds it, and `behind` characters
    more belong to it; `None`: without it both texts are the same. `mend`: what its user can do.
    """

    name: str
    pattern: re.Pattern[str]
    behind: int | None
    mend: str = ""


BREAKERS = (
    Breaker(
        "a billing line, another in each request",
        BILLING_LINES,
        None,
        "without think_native it is taken out; CLAUDE_CODE_ATTRIBUTION_HEADER=0 as well",
    ),
    Breaker("a reminder that the client moves", _REMINDER, None),
    Breaker("the addon's words that ask to think", _ASKS_TO_THINK, None, "think_prompt=off"),
    Breaker(
        "other tools told in words, or another order",
        _TOLD_TOOLS,
        None,
        "have the client offer the same tools in every turn",
    ),
    Breaker("the date or the time", _DATE, 0, "have the client tell the day alone, or neither"),
    Breaker(
        "git status",
        re.compile(r"\b[gG]it ?[sS]tatus\b"),
        _BLOCK,
        "start Claude Code with CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS=1",
    ),
)
"""The first that explains a difference counts."""


class PromptPart(NamedTuple):
    """A piece of the prompt: its words, and those without thoughts."""

    name: str
    words: str
    plain: str


@dataclass(slots=True)
class Prompt:
    """A request of `size` bytes, named `name`. `tokens`: the server's count, once it is told."""

    owner: str
    name: str
    body: Fields
    size: int
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class _Kept:
    """A prompt. `turns`: all messages but the system text; `last`: what the last is known by."""

    prompt: Prompt
    turns: Sequence[object]
    last: str


@dataclass(frozen=True, slots=True)
class Break:
    """A place where the prompt became another."""

    place: str
    cause: str
    mend: str = ""

    def told(self, before: int | None, prompt: int | None, cached: int | None) -> str:
        """Return the break in a line, without words of the prompt; nothing where the server's own
        count says that its cache held.

        `before`, `prompt` and `cached`: tokens of the earlier prompt, of this one, and of this one
        in the cache, as the server tells them.
        """
        again = ""
        if prompt and cached is not None:
            if before and cached >= before - _BEGUN_TURN:
                return ""
            again = f"; {prompt - cached:,} of {prompt:,} tokens were read again"
        mend = f" ({self.mend})" if self.mend else ""
        return f"the cached prompt was broken at {self.place}: {self.cause}{again}{mend}"


class Prompts:
    """The newest requests, by whom they belong to, bounded in number and bytes."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, _Kept] = OrderedDict()
        self._bytes = self._count = 0

    def follow(self, prompt: Prompt) -> Prompt | None:
        """Return the request that this one goes on from, and keep it in that one's place."""
        # all messages but the system text, which comes and goes
        messages = messages_of(prompt.body) if prompt.size <= LONGEST_PROMPT else ()
        now = [message for message in messages if role_of(message) not in SYSTEM]
        if not now:
            return None
        found = self._before(prompt.owner, now)
        before = self._kept.pop(found).prompt if found else None
        self._count += 1
        self._kept[self._count] = _Kept(prompt, now, known_by(now[-1]))
        self._bytes += prompt.size - (before.size if before else 0)
        while len(self._kept) > KEPT_PROMPTS or self._bytes > KEPT_PROMPT_BYTES:
            self._bytes -= self._kept.popitem(last=False)[1].prompt.size
        return before

    def _before(self, owner: str, now: Sequence[object]) -> int | None:
        """Return the newest request that this one goes on from: the last message of a request tells
        most others at once.
        """
        known = dict[int, str]()
        for number in reversed(self._kept):
            kept = self._kept[number]
            last = len(kept.turns) - 1
            if kept.prompt.owner == owner and last + 1 < len(now):
                known[last] = known.get(last) or known_by(now[last])
                if known[last] == kept.last and alike(kept.turns, now) > last:
                    return number
        return None


def broken(before: Fields, now: Fields) -> Break | None:
    """Return the first place where the prompt of a request is no longer that of the one before; its
    end is no such place.
    """
    if before.get("model") != now.get("model"):
        return Break(
            "its head", "another model", "ask one model, or map both to it with think_models"
        )
    for one, other in zip(_pieces(before), _pieces(now), strict=False):
        if one != other and (was := _part(*one)) != (part := _part(*other)):
            at = _same(was.words, part.words)
            return Break(f"{part.name}, character {at}", *_cause(was, part, at))
    return None


def _same(one: str, other: str) -> int:
    """Return how many characters two texts begin with alike."""
    shorter = range(min(len(one), len(other)))
    return bisect_left(shorter, True, key=lambda last: one[: last + 1] != other[: last + 1])


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


def role_of(message: object) -> str:
    """Return who speaks; nothing where a message does not say so."""
    return str(message.get("role") or "") if isinstance(message, Mapping) else ""


def content_of(message: object) -> object:
    """Return what is said in a message."""
    return message.get("content") if isinstance(message, Mapping) else None


def _pieces(body: Fields) -> Iterator[tuple[str, object]]:
    """Yield the prompt in the order in which templates write it: tools, then messages."""
    tools = body.get("tools")
    for tool in tools if isinstance(tools, list) else []:
        yield f"tool {_name(tool)}", {"tool": _unmarked(tool)}
    if system := body.get("system"):
        yield "the system text", {"role": "system", "content": system}
    for number, message in enumerate(messages_of(body)):
        yield f"message {number} ({role_of(message)})", message


def _part(name: str, message: object) -> PromptPart:
    """Return the words of a message, with its thoughts last."""
    texts, thoughts = list[str](), list[str]()
    for is_thought, text in texts_in(message):
        (thoughts if is_thought else texts).append(text)
    plain = "\n".join(texts)
    return PromptPart(name, plain + "\n".join(thoughts), plain)


def known_by(message: object) -> str:
    """Return the role of a message and how its words begin, without those that move."""
    role = role_of(message)
    if role in SYSTEM:
        return role
    words, length = list[str](), 0
    for is_thought, text in texts_in(message):
        words += [] if is_thought else [text[: _HEAD - length]]
        length += 0 if is_thought else len(words[-1])
    for moving in (_REMINDER, BILLING_LINES, _DATE):
        words = [moving.sub("", text).strip() for text in words]
    return "\n".join([role, *filter(None, words)])


def texts_in(message: object) -> Iterator[tuple[bool, str]]:
    """Yield the texts of a message, and whether each is a thought."""
    fields = message if isinstance(message, Mapping) else {"content": message}
    for key in sorted(fields.keys() - {"role", _MARK}):
        value = fields[key]
        for part in value if isinstance(value, list) else [value]:
            if text := _text(part):
                kind = part.get("type") if isinstance(part, Mapping) else None
                yield key in _THOUGHTS or kind in _THOUGHT_PARTS, text


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


def _cause(was: PromptPart, now: PromptPart, at: int) -> tuple[str, str]:
    """Return why a part is another, and what its user can do."""
    if any(part.name.startswith("tool ") for part in (was, now)):
        if was.name == now.name:
            return "the tool is described otherwise", ""
        cause = f"{was.name} stood there: other tools, or another order"
        return cause, "have the client offer the same in every turn"
    texts = [(was.plain, now.plain)]
    if was.name != now.name:  # one of them has been put in, or left out
        texts = [(was.plain, ""), ("", now.plain)]
    elif was.plain == now.plain:
        return "an earlier thought was left out or changed", "think_restore=auto puts it back"
    found = (one for one in BREAKERS if any(_explains(one, *both, at) for both in texts))
    return next(((one.name, one.mend) for one in found), ("other words", ""))


def _explains(breaker: Breaker, was: str, now: str, at: int) -> bool:
    if breaker.behind is None:
        return len({breaker.pattern.sub("", text).strip() for text in (was, now)}) == 1
    return all(_stands(breaker.pattern, text, at, breaker.behind) for text in (was, now))


def _stands(moving: re.Pattern[str], text: str, at: int, behind: int) -> bool:
    """Tell whether the place is within what moves."""
    start = max(0, at - behind - _NEAR)
    window, place = text[start : at + _NEAR], at - start
    return any(one.start() <= place <= one.end() + behind for one in moving.finditer(window))
