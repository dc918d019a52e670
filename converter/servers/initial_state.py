"""Where a reply will begin: in its text, or inside a thought that the chat template has already
opened in the prompt.

Most thinking models' templates open the thought themselves, so that their text shows a closer only.
What tells, best first: the user; the request, when it begins the reply itself; the prompt as the
server renders it; the request's own switches; what this server and model did before, when a guess
was wrong; the model's name.
"""

import json
import re
from collections.abc import Iterable, Mapping

from converter.initial_state import InitialState
from converter.parsing.tag_matcher import FAMILIES, TABLE

type Body = Mapping[str, object]

_SWITCHES = (
    "chat_template_kwargs",
    "reasoning_effort",
    "think",
    "thinking",
    "enable_thinking",
    "reasoning",
    "reasoning_format",
)
"""Fields of a request that decide whether the template opens a thought."""
_OFF = {
    ("enable_thinking", False),
    ("thinking", False),
    ("reasoning", False),
    ("think", False),
    ("thinking_mode", "disabled"),
    ("reasoning_effort", "none"),
}
_OPENERS = tuple(opener.strip() for family in TABLE for opener in family.openers)

OPENED_BY_TEMPLATE = (
    (re.compile(r"deepseek-?r1|r1-distill|r1-0528"), True),
    (re.compile(r"deepseek-?v(3[._][12]|4)"), False),  # thinks only when asked to
    (re.compile(r"qwq"), True),
    (re.compile(r"qwen3.*thinking|qwen3[._][5-9]"), True),
    (re.compile(r"glm-?4[._]7"), True),
    (re.compile(r"minimax-?m[23]"), True),
    (re.compile(r"nemotron.*(nano.*v2|-3)"), True),
    (re.compile(r"step-?3[._]5"), True),
    (re.compile(r"bielik.*v3|minicpm-?5|reka-?edge|laguna|spark-?2[._]5|rwkv"), True),
    (re.compile(r"command-a-reasoning"), True),
    (re.compile(r"apriel-1[._]6"), True),
)
"""Models whose templates open the thought (read in the templates that llama.cpp ships), and whether
they do so unasked.
"""


def switch_of(body: Body) -> str:
    """Return what of a request decides where its reply begins, as a key: replies to the same key
    begin alike.
    """
    return json.dumps(
        {name: body[name] for name in _SWITCHES if name in body}, sort_keys=True, default=str
    )


def of_prefill(body: Body) -> InitialState | None:
    """Return where a reply begins whose beginning stands in the request: a last assistant turn that
    is to be continued.
    """
    messages = body.get("messages")
    last = messages[-1] if isinstance(messages, list) and messages else None
    said = (
        last.get("content") if isinstance(last, dict) and last.get("role") == "assistant" else None
    )
    if not isinstance(said, str) or not said:
        return None
    inside = any(
        _last(said, family.openers) > _last(said, family.closers)
        for family in FAMILIES
        if not family.ambiguous_in_prose
    )
    return InitialState.THINKING if inside else InitialState.TEXT


def _last(said: str, marks: Iterable[str]) -> int:
    return max(map(said.rfind, marks))


def of_prompt(prompt: str) -> InitialState:
    """Return where a reply begins, by the prompt that it goes on from."""
    return InitialState.THINKING if prompt.rstrip().endswith(_OPENERS) else InitialState.TEXT


def of_switches(body: Body) -> InitialState | None:
    """Return TEXT when the request turns thinking off."""
    inner = body.get("chat_template_kwargs")
    asked = {**body, **(inner if isinstance(inner, dict) else {})}
    return (
        InitialState.TEXT
        if any(asked.get(name) == value and name in asked for name, value in _OFF)
        else None
    )


def of_model(body: Body) -> InitialState | None:
    """Return where replies of a model of this name begin; None for a name that says nothing."""
    name = str(body.get("model") or "").lower()
    for pattern, unasked in OPENED_BY_TEMPLATE:
        if pattern.search(name):
            return InitialState.THINKING if unasked or _asked_for(body) else InitialState.TEXT
    return None


def _asked_for(body: Body) -> bool:
    inner = body.get("chat_template_kwargs")
    return isinstance(inner, dict) and (
        inner.get("thinking") is True or inner.get("enable_thinking") is True
    )
