"""Where a reply will begin: in its text, or inside a thought that the chat template has already
opened in the prompt.

Most thinking models' templates open the thought themselves, so that their text shows a closer only.
`RULES` says what tells, best first; docs/reading.md lists the same rules by the same names. What
the user chose with `think_start` goes before all of them.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

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


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a reply before its first byte.

    `body`: the chat completion asked for. `sends_whole_text`: the server's text lacks no opener,
    because it repeats what the template opened, or takes the thought out itself. `prompt`: where
    the prompt ends, as the server rendered it. `corrected`: where such a reply did begin, after a
    wrong guess.
    """

    body: Body = field(default_factory=dict)
    sends_whole_text: bool = False
    prompt: InitialState | None = None
    corrected: InitialState | None = None


def request(facts: Facts) -> InitialState | None:
    """Follow a last assistant turn that is to be continued: the reply begins where it ends."""
    messages = facts.body.get("messages")
    last = messages[-1] if isinstance(messages, list) and messages else None
    if not isinstance(last, dict) or last.get("role") != "assistant":
        return None
    begun = last.get("content")
    if not isinstance(begun, str) or not begun:
        return None
    inside = any(
        _last(begun, family.openers) > _last(begun, family.closers)
        for family in FAMILIES
        if not family.ambiguous_in_prose
    )
    return InitialState.THINKING if inside else InitialState.TEXT


def server(facts: Facts) -> InitialState | None:
    """Trust a server whose text lacks no opener, whatever its template opens; a correction
    overrules it.
    """
    return (facts.corrected or InitialState.TEXT) if facts.sends_whole_text else None


def prompt(facts: Facts) -> InitialState | None:
    """Follow the prompt as the server rendered it."""
    return facts.prompt


def correction(facts: Facts) -> InitialState | None:
    """Repeat what a wrong guess about this server, model and switch has taught."""
    return facts.corrected


def switches(facts: Facts) -> InitialState | None:
    """Expect text when the request turns thinking off."""
    asked = {**facts.body, **_template_switches(facts.body)}
    off = any(name in asked and asked[name] == value for name, value in _OFF)
    return InitialState.TEXT if off else None


def model(facts: Facts) -> InitialState | None:
    """Go by the model's name, where it says what its template does."""
    name = str(facts.body.get("model") or "").lower()
    for pattern, unasked in OPENED_BY_TEMPLATE:
        if pattern.search(name):
            opened = unasked or _asked_for(facts.body)
            return InitialState.THINKING if opened else InitialState.TEXT
    return None


type Rule = Callable[[Facts], InitialState | None]
RULES: tuple[Rule, ...] = (request, server, prompt, correction, switches, model)
"""In the order in which they are asked; the first that answers decides."""


def initial_state(facts: Facts) -> InitialState:
    """Return where the reply begins: in its text, unless a rule says otherwise."""
    return _first(RULES, facts) or InitialState.TEXT


def needs_prompt(facts: Facts) -> bool:
    """Tell whether the rendered prompt, not known yet, could still decide."""
    return facts.prompt is None and _first(RULES[: RULES.index(prompt)], facts) is None


def switch_of(body: Body) -> str:
    """Return what of a request decides where its reply begins, as a key: replies to the same key
    begin alike.
    """
    return json.dumps(
        {name: body[name] for name in _SWITCHES if name in body}, sort_keys=True, default=str
    )


def end_of_prompt(rendered: str) -> InitialState:
    """Return where a reply begins that goes on from this prompt."""
    opened = rendered.rstrip().endswith(_OPENERS)
    return InitialState.THINKING if opened else InitialState.TEXT


def _first(rules: Iterable[Rule], facts: Facts) -> InitialState | None:
    return next((state for rule in rules if (state := rule(facts))), None)


def _last(text: str, marks: Iterable[str]) -> int:
    return max(map(text.rfind, marks))


def _template_switches(body: Body) -> Mapping[str, object]:
    inner = body.get("chat_template_kwargs")
    return inner if isinstance(inner, dict) else {}


def _asked_for(body: Body) -> bool:
    inner = _template_switches(body)
    return inner.get("thinking") is True or inner.get("enable_thinking") is True
