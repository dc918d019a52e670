"""Chat templates that open the thought in the prompt: one row for the models of a kind."""

import re
from dataclasses import dataclass
from functools import lru_cache

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
    _template(r"reka-?edge", "Reka's plugin for vLLM, vllm_reka/tokenizer.py", _ON),
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
    _template(r"exaone-?deep", "LG AI Research, usage guideline of EXAONE Deep", always=True),
    _template(r"pangu", f"{_VLLM}: unless `think` is false"),
)
"""The first whose pattern fits decides. A wrong guess costs little: see `converter.parsing.guess`.
"""


@lru_cache(maxsize=64)
def template_of(name: str) -> Template | None:
    """Return the row of a model, by its name in lower case."""
    return next((row for row in TEMPLATES if row.models.search(name)), None)
