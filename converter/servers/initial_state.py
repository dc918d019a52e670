"""Rules for where a reply will begin: in its text, or inside a thought that the chat template has
already opened in the prompt.

Most thinking models' templates open the thought themselves, so that their text shows a closer only.
`RULES` says what tells, best first; docs/reading.md lists the same rules by the same names. What
the user chose with `think_start` goes before all of them.
"""

import json
import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

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
_SORTED = json.JSONEncoder(sort_keys=True, default=str)
_OFF = {
    ("enable_thinking", False),
    ("thinking", False),
    ("reasoning", False),
    ("think", False),
    ("thinking_mode", "disabled"),
    ("reasoning_effort", "none"),
}
_OPENERS = tuple(opener.strip() for family in TABLE for opener in family.openers)

type Switch = tuple[str, frozenset[object]]
"""A field of the request or of its `chat_template_kwargs`, and the values that turn thinking on."""

_ON: tuple[Switch, ...] = (
    ("enable_thinking", frozenset({True})),
    ("thinking", frozenset({True})),
)
_MODE: tuple[Switch, ...] = (("thinking_mode", frozenset({"enabled"})),)
_EFFORT: tuple[Switch, ...] = (
    ("reasoning_effort", frozenset({"low", "medium", "high", "xhigh", "max"})),
)


@dataclass(frozen=True, slots=True)
class Template:
    """Models whose chat templates open the thought: by a pattern of their names.

    `source`: where that was read. `switches`: those that the request must set; without any the
    template opens the thought unasked.
    """

    models: re.Pattern[str]
    source: str
    switches: tuple[Switch, ...] = ()


def _template(models: str, source: str, switches: tuple[Switch, ...] = ()) -> Template:
    return Template(re.compile(models), source, switches)


_LLAMA = "llama.cpp, models/templates"
_VLLM = "vLLM, reasoning parser of the model"
TEMPLATES = (
    _template(r"deepseek-?r1|r1-distill|r1-0528", f"{_LLAMA}/deepseek-ai-DeepSeek-R1-*"),
    # these think only when asked to
    _template(r"deepseek-?v(3[._][12]|4)", f"{_LLAMA}/DeepSeek-V3.2", _ON),
    _template(r"minimax-?m3", _VLLM, _MODE),
    _template(r"bielik.*v3", f"{_LLAMA}/Bielik-11B-v3.0-Instruct", _ON),
    _template(r"minicpm-?5", f"{_LLAMA}/openbmb-MiniCPM5-1B", _ON),
    _template(r"reka-?edge", f"{_LLAMA}/Reka-Edge", _ON),
    _template(r"rwkv", _VLLM, _ON),
    _template(r"\bhy-?v?3|hunyuan-?v3", _VLLM, _EFFORT),
    # these do so unasked
    _template(r"qwq", f"{_LLAMA}/Qwen-QwQ-32B"),
    _template(r"qwen3.*thinking|qwen3[._][5-9]", f"{_LLAMA}/Qwen3.5-4B"),
    _template(r"holo-?2", _VLLM),
    _template(r"glm-?4[._]7", f"{_LLAMA}/GLM-4.7-Flash"),
    _template(r"minimax-?m2", f"{_LLAMA}/unsloth-MiniMax-M2"),
    _template(r"nemotron.*(nano.*v2|-3)", f"{_LLAMA}/NVIDIA-Nemotron-Nano-v2"),
    _template(r"granite-?4[._]2", f"{_VLLM}: as Nemotron 3"),
    _template(r"step-?(fun-?)?3[._][57]", f"{_LLAMA}/StepFun3.7-Flash"),
    _template(r"laguna", f"{_VLLM}: poolside"),
    _template(r"spark-?2[._]5", _LLAMA),
    _template(r"command-(a|4)-?.*reasoning|cohere-?2-?moe", f"{_LLAMA}/Cohere2MoE"),
    _template(r"apriel-1[._]6", f"{_LLAMA}/Apriel-1.6-15b-Thinker-fixed"),
    _template(r"olmo-?3.*think", f"{_VLLM}: begins inside, an opener is optional"),
    _template(r"ernie-?4[._]5.*thinking", _VLLM),
    _template(r"mimo-?v2", f"{_VLLM}: as Qwen3.5"),
    _template(r"k2-?horizon", f"{_VLLM}: begins inside, whatever the effort"),
    _template(r"kimi-?k3", f"{_VLLM}: the prompt ends with the opener"),
)
"""The first whose pattern fits decides. A wrong guess costs little: see `converter.parsing.guess`.
"""


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts known of a reply before its first byte.

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
    row = _template_of(str(facts.body.get("model") or "").lower())
    if row is None:
        return None
    opened = not row.switches or _is_set(facts.body, row.switches)
    return InitialState.LIKELY_THINKING if opened else InitialState.TEXT


@lru_cache(maxsize=64)
def _template_of(name: str) -> Template | None:
    return next((row for row in TEMPLATES if row.models.search(name)), None)


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
    return _SORTED.encode({name: body[name] for name in _SWITCHES if name in body})


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


def _is_set(body: Body, wanted: Iterable[Switch]) -> bool:
    """Tell whether a request sets one of these switches, in itself or for its template."""
    inner = _template_switches(body)
    return any(
        isinstance(value, Hashable) and value in values
        for name, values in wanted
        for value in (body.get(name), inner.get(name))
    )
