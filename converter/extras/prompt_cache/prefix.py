"""`first_break` finds where a request breaks the server's cached prompt: its first difference from
the request before it in its conversation (`Prompts`). `BREAKERS` has texts that cause it, such as
dates.

A server caches the last prompt, and reads the next prompt from the first difference on. An agent's
request repeats its last request, with more messages at the end. If earlier text differs, the server
must read all text after the difference again, which takes a local model seconds to minutes. No
header names a conversation, so a request's conversation is recognised by its text, without the
parts that clients move or renew in each request.
"""

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from converter.addon.bounds import LONGEST_PROMPT
from converter.core.model.raw_messages import (
    BILLING_LINES,
    DATE,
    REMINDER,
    SYSTEM,
    PromptPart,
    fingerprint_of,
    messages_of,
    prompt_part,
    prompt_pieces,
    role_of,
    shared_count,
)
from converter.core.wire.bounds import Bound

KEPT_PROMPTS = Bound(
    16,
    "requests",
    "requests that the next one of their conversation is compared with",
    "the oldest go",
)
"""Requests of several conversations are kept, because several agents may run at the same time."""
KEPT_PROMPT_BYTES = Bound(16 << 20, "bytes", "those requests, all together", "the oldest go")
"""Enough for the requests of some agents whose context windows are full."""

_NEAR = 30
"""The most characters of a date or time that `BREAKERS` match. To find a date around an offset, the
30 characters before the offset and the 30 after it are searched.
"""
_BLOCK = 2000
"""The most characters of a block of text that changes, such as the output of `git status`. A block
is recognised by its first words. A difference within 2,000 characters after these words counts as a
change of the block.
"""
_BEGUN_TURN = 8
"""The most tokens with which a chat template opens the reply at a prompt's end. The next prompt has
other tokens there, so these few are always read again. The cache therefore counts as whole if at
most 8 tokens of the earlier prompt are not used again.
"""
_ASKS_TO_THINK = re.compile(
    r"Before you answer, think step by step inside <thinking>.*?outside of the tags\.", re.DOTALL
)
"""Finds the instruction to think in tags, which the addon adds to a prompt (`think_prompt`)."""
_TOOLS_IN_TEXT = re.compile(r"# Tools\n\nYou can use these tools:\n<tools>.*?\n</tools>", re.DOTALL)
"""Finds the description of tools that the addon writes into the prompt's text for a server that
refuses the field `tools`.
"""


class Breaker(NamedTuple):
    """A kind of text that may differ from request to request, such as the time, and so breaks the
    cache of all text after it.
    """

    name: str
    """The name of this kind of text, for the user."""
    pattern: re.Pattern[str]
    """Finds texts of this kind."""
    behind: int | None
    """A difference within a match, or at most this number of characters after it, has this breaker
    as its cause. This must hold in both texts, the earlier and the new one. None: the breaker is
    the cause if both texts are equal once their matches are left out.
    """
    mend: str = ""
    """Advice for the user against such breaks; empty: none."""


BREAKERS = (
    Breaker(
        "a billing line, another in each request",
        BILLING_LINES,
        None,
        "leave think_native off, or set CLAUDE_CODE_ATTRIBUTION_HEADER=0",
    ),
    Breaker("a reminder that the client moves", REMINDER, None),
    Breaker("the addon's text that asks to think", _ASKS_TO_THINK, None, "think_prompt=off"),
    Breaker(
        "other tools written as text, or another order",
        _TOOLS_IN_TEXT,
        None,
        "have the client offer the same tools in every turn",
    ),
    Breaker("the date or the time", DATE, 0, "have the client write the day alone, or no date"),
    Breaker(
        "git status",
        re.compile(r"\b[gG]it ?[sS]tatus\b"),
        _BLOCK,
        "start Claude Code with CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS=1",
    ),
)
"""The kinds of text that break a cache. The first that is the cause of a difference is reported."""


@dataclass(eq=False)
class Prompt:
    """A request as it was sent to a server."""

    owner: str
    """The client and the server; requests of different owners are not compared."""
    name: str
    """The id of the request's flow."""
    body: Mapping[str, object]
    """The request's fields."""
    size: int
    """The number of bytes of the request's body."""
    tokens: int | None = None
    """The prompt's tokens by the server's count; None until the server reports it."""

    @cached_property
    def turns(self) -> Sequence[object]:
        """The messages, without those of the system: clients add and remove system messages in the
        course of a conversation.
        """
        return [message for message in messages_of(self.body) if role_of(message) not in SYSTEM]

    @cached_property
    def first_fingerprint(self) -> str:
        """The fingerprint of the first turn. Different conversations mostly differ in it, so that
        their other turns need not be compared.
        """
        return fingerprint_of(self.turns[0])

    def continues(self, before: "Prompt") -> bool:
        """Return True if this request has all turns of the request `before`, and more, and the same
        owner.
        """
        count = len(before.turns)
        same = self.owner == before.owner and self.first_fingerprint == before.first_fingerprint
        return same and count < len(self.turns) and shared_count(before.turns, self.turns) == count


@dataclass(frozen=True, slots=True)
class Break:
    """The first difference between a prompt and the prompt before it in its conversation."""

    part: str
    """Where the prompts begin to differ, for the user: `its head` if the models differ, else for
    example `message 3 (user), character 120`.
    """
    cause: str
    """The cause of the difference, for the user."""
    mend: str = ""
    """Advice for the user against such breaks; empty: none."""

    def message(self, before: int | None, prompt: int | None, cached: int | None) -> str:
        """Return a line about the break, without text of the prompt. Return an empty text if the
        server's count of cached tokens shows that no cache was broken.

        `before`, `prompt` and `cached`: the tokens of the earlier prompt, of this prompt, and of
        this prompt's cached part, as the server counts them; None for a count that it did not
        report.
        """
        again = ""
        if prompt and cached is not None:
            if before and cached >= before - _BEGUN_TURN:
                return ""
            again = f"; {prompt - cached:,} of {prompt:,} tokens were read again"
        mend = f" ({self.mend})" if self.mend else ""
        return f"the cached prompt was broken at {self.part}: {self.cause}{again}{mend}"


class Prompts:
    """The newest request of each conversation, bounded in number and bytes."""

    def __init__(self) -> None:
        self._kept: list[Prompt] = []

    def replace_earlier(self, prompt: Prompt) -> Prompt | None:
        """Return the newest kept request that `prompt` continues, None if there is none. Keep
        `prompt`, in place of that request if there is one. A prompt without turns, or of more than
        `LONGEST_PROMPT` bytes, is not kept, and None is returned.
        """
        if prompt.size > LONGEST_PROMPT or not prompt.turns:
            return None
        before = next(filter(prompt.continues, reversed(self._kept)), None)
        self._kept = [*(kept for kept in self._kept if kept is not before), prompt]
        while (
            len(self._kept) > KEPT_PROMPTS
            or sum(kept.size for kept in self._kept) > KEPT_PROMPT_BYTES
        ):
            del self._kept[0]
        return before


def first_break(before: Mapping[str, object], now: Mapping[str, object]) -> Break | None:
    """Return the first difference between two prompts: another model, or a part that differs.
    Return None if one prompt is the beginning of the other. `before` and `now`: the fields of the
    earlier request and of the new one.
    """
    if before.get("model") != now.get("model"):
        return Break(
            "its head", "another model", "ask one model, or map both to it with think_models"
        )
    for one, other in zip(prompt_pieces(before), prompt_pieces(now), strict=False):
        if one != other and (was := prompt_part(*one)) != (part := prompt_part(*other)):
            at = _shared_length(was.text, part.text)
            return Break(f"{part.name}, character {at}", *_cause_and_advice(was, part, at))
    return None


def _shared_length(one: str, other: str) -> int:
    """Return the length of the common prefix of two texts."""
    shorter = range(min(len(one), len(other)))
    return bisect_left(shorter, True, key=lambda last: one[: last + 1] != other[: last + 1])


def _cause_and_advice(was: PromptPart, now: PromptPart, at: int) -> tuple[str, str]:
    """Return the cause of a difference, and advice for the user, which may be empty. The part `was`
    of the earlier prompt and the part `now` of the new prompt differ first at the offset `at`.
    """
    if any(part.name.startswith("tool ") for part in (was, now)):
        if was.name == now.name:
            return "the tool's description has changed", ""
        cause = f"{was.name} stood there: other tools, or another order"
        return cause, "have the client offer the same in every turn"
    texts = [(was.plain, now.plain)]
    if was.name != now.name:  # A part was added or left out: compare each with an empty text.
        texts = [(was.plain, ""), ("", now.plain)]
    elif was.plain == now.plain:
        return "an earlier thought was left out or changed", "think_restore=auto puts it back"
    explaining = (one for one in BREAKERS if any(_explains(one, *both, at) for both in texts))
    return next(((one.name, one.mend) for one in explaining), ("another text", ""))


def _explains(breaker: Breaker, was: str, now: str, at: int) -> bool:
    """Return True if a breaker is the cause of the difference between the texts `was` and `now` at
    the offset `at`.
    """
    if breaker.behind is None:
        return len({breaker.pattern.sub("", text).strip() for text in (was, now)}) == 1
    return all(_is_near_match(breaker.pattern, text, at, breaker.behind) for text in (was, now))


def _is_near_match(moving: re.Pattern[str], text: str, at: int, behind: int) -> bool:
    """Return True if the offset `at` of `text` is within a match of the pattern `moving`, or at
    most `behind` characters after a match.
    """
    start = max(0, at - behind - _NEAR)
    window, offset = text[start : at + _NEAR], at - start
    return any(one.start() <= offset <= one.end() + behind for one in moving.finditer(window))
