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
_OFF: tuple[tuple[str, object], ...] = (
    ("enable_thinking", False),
    ("thinking", False),
    ("thinking", {"type": "disabled"}),
    ("reasoning", False),
    ("think", False),
    ("thinking_mode", "disabled"),
    ("reasoning_effort", "none"),
    ("reasoning_effort", "no_think"),
)
_OPENERS = tuple(opener.strip() for family in TABLE for opener in family.openers)

type Switch = tuple[str, frozenset[object]]
"""A field of the request or of its `chat_template_kwargs`, and the values that turn thinking on."""

_ON: tuple[Switch, ...] = (
    ("enable_thinking", frozenset({True})),
    ("thinking", frozenset({True})),
)
_REASONING: tuple[Switch, ...] = (("reasoning", frozenset({True})),)
_MODE: tuple[Switch, ...] = (("thinking_mode", frozenset({"enabled"})),)
_EFFORT: tuple[Switch, ...] = (
    ("reasoning_effort", frozenset({"low", "medium", "high", "xhigh", "max"})),
)


@dataclass(frozen=True, slots=True)
class Template:
    """Models whose chat templates open the thought: by a pattern of their names.

    `source`: where that was read. `switches`: those that the request must set; without any the
    template opens the thought unasked. `always`: no switch of the request keeps it from that.
    `bare_closer`: with thinking off the template writes a closer without its opener, so that the
    model may write it again.
    """

    models: re.Pattern[str]
    source: str
    switches: tuple[Switch, ...] = ()
    always: bool = False
    bare_closer: bool = False


def _template(
    models: str,
    source: str,
    switches: tuple[Switch, ...] = (),
    *,
    always: bool = False,
    bare_closer: bool = False,
) -> Template:
    return Template(re.compile(models), source, switches, always, bare_closer)


_LLAMA = "llama.cpp, models/templates"
_VLLM = "vLLM, reasoning parser of the model"
_SGLANG = "SGLang, template detection"
TEMPLATES = (
    _template(r"deepseek-?r1|r1-distill|r1-0528", f"{_LLAMA}/deepseek-ai-DeepSeek-R1", always=True),
    # these think only when asked to
    _template(r"deepseek-?v3[._][12]", f"{_LLAMA}/DeepSeek-V3.2", _ON, bare_closer=True),
    _template(r"deepseek-?v4(?![._]\d)", f"{_LLAMA}/DeepSeek-V4", _ON, bare_closer=True),
    _template(r"minimax-?m3", "SGLang, reasoning parser", _MODE, bare_closer=True),
    _template(r"bielik.*v3", f"{_LLAMA}/Bielik-11B-v3.0-Instruct", _ON),
    _template(r"minicpm-?5", f"{_LLAMA}/openbmb-MiniCPM5-1B", _ON),
    _template(r"reka-?edge", "llama.cpp, tests/test-chat.cpp; its template was not to be had", _ON),
    _template(r"rwkv", f"{_VLLM}; its template was not to be had", _ON),
    _template(r"mimo-?v2", "SGLang, pull request 21414; vLLM's recipes, issue 425", _ON),
    _template(r"spark-?2[._]5", f"{_LLAMA}/Spark2.5", _ON, bare_closer=True),
    _template(r"laguna-?xs", f"{_SGLANG}: off by default", _ON, bare_closer=True),
    _template(r"hyperclova", f"{_VLLM}: by `thinking`", _ON),
    _template(r"longcat", f"{_VLLM}: in its thinking mode", _ON),
    _template(r"gigachat-?3[._]5(?!.*reasoning)", f"{_VLLM}: by `reasoning`", _REASONING),
    _template(r"\bhy-?v?3|hunyuan-?v3", f"{_LLAMA}/tencent-Hy3", _EFFORT),
    # these do so unasked
    _template(r"qwq", f"{_LLAMA}/Qwen-QwQ-32B", always=True),
    _template(r"qwen3.*thinking", "Qwen's pages: always thinking", always=True),
    _template(r"qwen3[._][5-9]", f"{_LLAMA}/Qwen3.5-4B"),
    _template(r"iquest", f"{_VLLM}: as Qwen3.5"),
    _template(r"holo-?2", _VLLM),
    _template(r"glm-?4[._]7", f"{_LLAMA}/GLM-4.7-Flash", bare_closer=True),
    _template(r"glm-?5", "ik_llama.cpp, models/templates/GLM-5.2; SGLang says so of 5.3"),
    _template(
        r"deepseek-?v4[._]1", "ik_llama.cpp, models/templates/DeepSeek-V4.1", bare_closer=True
    ),
    _template(r"minimax-?m2", f"{_LLAMA}/unsloth-MiniMax-M2", always=True),
    _template(r"nemotron.*(nano.*v2|-3)", f"{_LLAMA}/NVIDIA-Nemotron-Nano-v2"),
    _template(r"granite-?4[._]2", f"{_VLLM}: as Nemotron 3"),
    _template(r"step-?(fun-?)?3[._][57]", f"{_LLAMA}/StepFun3.7-Flash", always=True),
    _template(r"laguna", f"{_SGLANG}: Laguna-S, on by default", bare_closer=True),
    _template(
        r"command-(a|4)-?.*reasoning|command-a-plus|cohere-?2-?moe",
        "SGLang, CohereCommand4Detector: unless `reasoning` is false",
    ),
    _template(r"apriel-1[._]6", f"{_LLAMA}/Apriel-1.6-15b-Thinker-fixed", always=True),
    _template(r"olmo-?3.*think", f"{_VLLM}: begins inside, an opener is optional", always=True),
    _template(r"ernie-?4[._]5.*thinking", f"{_VLLM}: begins inside", always=True),
    _template(r"k2-?horizon", f"{_VLLM}: begins inside, whatever the effort", always=True),
    _template(r"kimi-?k2[._][5-9]", "NVIDIA Dynamo, reasoning parsers: kimi_k25"),
    _template(r"kimi-?k3", f"{_LLAMA}/Kimi-K3"),
    _template(r"\bling-?3", f"{_LLAMA}/inclusionai-ling-3.0-flash"),
    _template(r"nanbeige-?4[._]2", "ik_llama.cpp, models/templates/Nanbeige4.2-3B"),
    _template(r"solar-?open-?2", f"{_VLLM}: but at efforts below medium"),
    _template(r"telechat-?4|xing-?4", f"{_VLLM}: by `enable_thinking`, on by default"),
    _template(r"gigachat-?3[._]5", f"{_VLLM}: its reasoning models", always=True),
    _template(r"pangu", f"{_VLLM}: unless `think` is false"),
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
    """Expect text when the request turns thinking off, of a model that can be told so."""
    row = _row(facts.body)
    off = not (row and row.always) and _is_off(facts.body)
    return InitialState.TEXT if off else None


def model(facts: Facts) -> InitialState | None:
    """Go by the model's name, where it says what its template does."""
    row = _row(facts.body)
    if row is None:
        return None
    opened = not row.switches or _is_set(facts.body, row.switches)
    return InitialState.LIKELY_THINKING if opened else InitialState.TEXT


def _row(body: Body) -> Template | None:
    return _template_of(str(body.get("model") or "").lower())


@lru_cache(maxsize=64)
def _template_of(name: str) -> Template | None:
    return next((row for row in TEMPLATES if row.models.search(name)), None)


type Rule = Callable[[Facts], InitialState | None]
RULES: tuple[Rule, ...] = (request, server, prompt, correction, switches, model)
"""In the order in which they are asked; the first that answers decides."""


def initial_state(facts: Facts) -> InitialState:
    """Return where the reply begins: in its text, unless a rule says otherwise."""
    return _first(RULES, facts) or InitialState.TEXT


def thinking_is_off(body: Body, chosen: InitialState) -> bool:
    """Tell whether the prompt closes the thought, so that a closer at the reply's head closes
    nothing: the request says so, or the user does of a model whose template would open one.

    False for models whose templates write a bare closer then, because they may repeat it.
    """
    row = _row(body)
    if row and row.bare_closer:
        return False
    opens = row is not None and not row.switches
    told = chosen is InitialState.TEXT and opens
    return told or switches(Facts(body)) is InitialState.TEXT


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


def _is_off(body: Body) -> bool:
    asked = {**body, **_template_switches(body)}
    return any(name in asked and asked[name] == value for name, value in _OFF)


def _is_set(body: Body, wanted: Iterable[Switch]) -> bool:
    """Tell whether a request sets one of these switches, in itself or for its template."""
    inner = _template_switches(body)
    return any(
        isinstance(value, Hashable) and value in values
        for name, values in wanted
        for value in (body.get(name), inner.get(name))
    )
