"""Chat templates: which open a thought in the prompt, and which read those of earlier turns. One
row for the models of a kind.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from converter.addon.servers.profiles import Server
from converter.core.dialects.request_settings import HistoryForm, Order
from converter.core.dialects.server_fields import EFFORT

type Switches = Mapping[str, tuple[object, ...]]
"""Fields of the request or of its `chat_template_kwargs`, and the values that turn thinking on."""

_ON: Switches = {"enable_thinking": (True,), "thinking": (True,)}
_REASONING: Switches = {"reasoning": (True,)}
_MODE: Switches = {"thinking_mode": ("enabled",)}
_EFFORT: Switches = {EFFORT: ("low", "medium", "high", "xhigh", "max")}


@dataclass(frozen=True, slots=True)
class TemplateHistory:
    """The earlier thoughts that a chat template reads.

    Attributes:
        form: The field or the marks that hold them; `drop`: the template reads none.
        loop: The template reads only those behind the user's last message.
        switches: Entries of `chat_template_kwargs` without which the template drops them.
        exact: The template writes no line ends around a thought: the model's own belong to it.
        wanted: Thoughts that a client drops are to be put back.
    """

    form: HistoryForm = "reasoning_content"
    loop: bool = False
    switches: Mapping[str, object] = field(default_factory=dict)
    exact: bool = False
    wanted: bool = False


ALL, LOOP, NEVER = TemplateHistory(), TemplateHistory(loop=True), TemplateHistory("drop")
EXACT, EXACT_LOOP = TemplateHistory(exact=True), TemplateHistory(loop=True, exact=True)


def _kept_by(*, exact: bool = False, **switches: object) -> TemplateHistory:
    return TemplateHistory(switches=switches, exact=exact)


@dataclass(frozen=True, slots=True)
class Template:
    """The habits of the chat templates of some models.

    Attributes:
        models: A regular expression over the models' names.
        source: Where the template was read.
        switches: Those that a request must set for the template to open a thought; with none the
            template opens it by itself.
        history: The fate of earlier thoughts; `None`: nobody has read that.
        always: No switch of the request keeps the template from opening a thought.
        bare_closer: With thinking off the template writes a closer without its opener, so that the
            model may write the closer again.
        opens: The template opens thoughts at all.
    """

    models: str
    source: str
    switches: Switches = field(default_factory=dict)
    history: TemplateHistory | None = None
    always: bool = False
    bare_closer: bool = False
    opens: bool = True


_LLAMA = "llama.cpp, models/templates"
_VLLM = "vLLM, reasoning parser of the model"
_SGLANG = "SGLang, template detection"
_IK = "ik_llama.cpp, models/templates"
_MINIMAX = "MiniMax's page on interleaved thinking: whole messages go back"
TEMPLATES = (
    Template(
        r"deepseek-?r1|r1-distill|r1-0528",
        f"{_LLAMA}/deepseek-ai-DeepSeek-R1",
        always=True,
        history=NEVER,
    ),
    # these think only when asked to
    Template(r"deepseek-?v3[._][12]", f"{_LLAMA}/DeepSeek-V3.2", _ON, EXACT_LOOP, bare_closer=True),
    # its API answers 400 to a call that lost its thought
    Template(
        r"deepseek-?v4(?![._]\d)",
        f"DeepSeek's page on its thinking mode; {_LLAMA}/DeepSeek-V4",
        _ON,
        EXACT,
        bare_closer=True,
    ),
    Template(r"minimax-?m3", f"SGLang, reasoning parser; {_MINIMAX}", _MODE, ALL, bare_closer=True),
    Template(r"bielik.*v3", f"{_LLAMA}/Bielik-11B-v3.0-Instruct", _ON, ALL),
    Template(r"minicpm-?5", f"{_LLAMA}/openbmb-MiniCPM5-1B", _ON),
    Template(r"reka-?edge", f"Reka's plugin for vLLM; {_IK}/Reka-Edge", _ON, LOOP),
    Template(r"rwkv", f"{_VLLM}; its template was not to be had", _ON),
    Template(r"mimo-?v2", "SGLang, pull request 21414; vLLM's recipes, issue 425", _ON),
    Template(r"spark-?2[._]5", f"{_LLAMA}/Spark2.5", _ON, bare_closer=True),
    Template(r"laguna-?xs", f"{_SGLANG}: off by default", _ON, bare_closer=True),
    Template(r"hyperclova", f"{_VLLM}: by `thinking`", _ON),
    Template(r"longcat", f"{_VLLM}: in its thinking mode", _ON),
    Template(r"gigachat-?3[._]5(?!.*reasoning)", f"{_VLLM}: by `reasoning`", _REASONING),
    Template(r"\bhy-?v?3|hunyuan-?v3", f"{_LLAMA}/tencent-Hy3", _EFFORT),
    # these do so unasked
    Template(r"qwq", f"{_LLAMA}/Qwen-QwQ-32B", always=True, history=NEVER),
    Template(
        r"qwen3.*thinking",
        f"Qwen's pages: always thinking; {_IK}/Qwen-Qwen3-0.6B",
        always=True,
        history=LOOP,
    ),
    Template(
        r"qwen3[._][6-9]",
        "Qwen3.6-35B-A3B, card and chat_template.jinja",
        history=_kept_by(preserve_thinking=True),
    ),
    Template(r"qwen3[._]5", f"{_LLAMA}/Qwen3.5-4B", history=LOOP),
    Template(r"iquest", f"{_VLLM}: as Qwen3.5"),
    Template(r"holo-?2", _VLLM),
    Template(
        r"glm-?4[._]7",
        f"{_LLAMA}/GLM-4.7-Flash",
        bare_closer=True,
        history=_kept_by(clear_thinking=False),
    ),
    Template(
        r"glm-?5",
        f"{_IK}/GLM-5.2; SGLang says so of 5.3",
        history=_kept_by(clear_thinking=False, exact=True),
    ),
    Template(
        r"deepseek-?v4[._]1",
        f"{_IK}/DeepSeek-V4.1",
        bare_closer=True,
        history=EXACT,
    ),
    Template(r"minimax-?m2", f"{_LLAMA}/unsloth-MiniMax-M2", always=True, history=LOOP),
    Template(
        r"nemotron.*(nano.*v2|-3)",
        f"{_LLAMA}/NVIDIA-Nemotron-Nano-v2; {_IK}/NVIDIA-Nemotron-3-Nano-30B-A3B",
        history=LOOP,
    ),
    Template(r"granite-?4[._]2", f"{_VLLM}: as Nemotron 3"),
    Template(r"step-?(fun-?)?3[._][57]", f"{_LLAMA}/StepFun3.7-Flash", always=True, history=LOOP),
    Template(r"laguna", f"{_SGLANG}: Laguna-S, on by default", bare_closer=True),
    Template(
        r"command-(a|4)-?.*reasoning|command-a-plus|cohere-?2-?moe",
        f"SGLang, CohereCommand4Detector: unless `reasoning` is false; {_IK}/Cohere2MoE",
        history=EXACT,
    ),
    Template(
        r"apriel-1[._]6", f"{_LLAMA}/Apriel-1.6-15b-Thinker-fixed", always=True, history=NEVER
    ),
    Template(r"olmo-?3.*think", f"{_VLLM}: begins inside, an opener is optional", always=True),
    Template(r"ernie-?4[._]5.*thinking", f"{_VLLM}: begins inside", always=True),
    Template(r"k2-?horizon", f"{_VLLM}: begins inside, whatever the effort", always=True),
    Template(
        r"kimi-?k2[._][5-9]",
        "NVIDIA Dynamo, reasoning parsers: kimi_k25; Kimi-K2.6, chat_template.jinja",
        history=_kept_by(preserve_thinking=True, exact=True),
    ),
    Template(r"kimi-?k3", f"{_LLAMA}/Kimi-K3", history=EXACT),
    Template(r"\bling-?3", f"{_LLAMA}/inclusionai-ling-3.0-flash"),
    Template(r"nanbeige-?4[._]2", f"{_IK}/Nanbeige4.2-3B"),
    Template(r"solar-?open-?2", f"{_VLLM}: but at efforts below medium"),
    Template(r"telechat-?4|xing-?4", f"{_VLLM}: by `enable_thinking`, on by default"),
    Template(r"gigachat-?3[._]5", f"{_VLLM}: its reasoning models", always=True),
    Template(r"exaone-?deep", "LG AI Research, usage guideline of EXAONE Deep", always=True),
    Template(r"pangu", f"{_VLLM}: unless `think` is false"),
    # these leave it to the model to open its thought
    Template(
        r"kimi-?k2-?thinking",
        f"{_LLAMA}/Kimi-K2-Thinking",
        history=EXACT_LOOP,
        always=True,
        opens=False,
    ),
    Template(r"glm-?4[._][56]", f"{_LLAMA}/GLM-4.6", history=LOOP, opens=False),
    Template(r"qwen-?3(?!.*(instruct|coder))", f"{_IK}/Qwen-Qwen3-0.6B", {}, LOOP, opens=False),
    Template(r"seed-?oss", f"{_LLAMA}/ByteDance-Seed-OSS", history=ALL, opens=False),
    Template(
        r"gpt-?oss",
        f"{_LLAMA}/openai-gpt-oss-120b",
        history=EXACT_LOOP,
        always=True,
        opens=False,
    ),
    Template(r"gemma-?4", f"{_LLAMA}/google-gemma-4-31B-it", history=LOOP, opens=False),
)
"""The first whose pattern fits decides. A wrong guess costs little: see `Guess`.
"""


def template_of(name: str) -> Template | None:
    """Return the row of a model whose template opens thoughts, by its name in lower case."""
    row = _row(name)
    return row if row and row.opens else None


def always_thinks(name: str) -> bool:
    """Return True if no switch keeps a model from thinking, by its name in lower case."""
    row = _row(name)
    return row is not None and row.always


def history_of(name: str) -> TemplateHistory | None:
    """Return the earlier thoughts that a model's template reads; `None`: nobody knows."""
    row = _row(name.lower())
    return row.history if row else None


@lru_cache(maxsize=64)
def _row(name: str) -> Template | None:
    return next((row for row in TEMPLATES if re.search(row.models, name)), None)


UNKNOWN = TemplateHistory("tags")
"""The history of a model without a row: its thoughts as it most likely wrote them."""


@dataclass(frozen=True, slots=True)
class WrittenHistory:
    """The form of earlier turns in a request.

    Attributes:
        thoughts: The form of their thoughts; `None`: as the model's row says.
        order: Where tool results stand among the text of a user turn.
    """

    thoughts: HistoryForm | None
    order: Order

    def read_by(self, model: str, server: Server | None) -> TemplateHistory:
        """Return the form of earlier thoughts for the model, on this server, if it is known. The
        model wants its thoughts back by its row, or by the user's word.
        """
        row = history_of(model)
        history = row or UNKNOWN
        named = server.history if server and history.form == "reasoning_content" else history.form
        switches = history.switches if server is None or server.on else {}
        wanted = bool(row or self.thoughts) and "drop" not in (self.thoughts, history.form)
        form = self.thoughts or named
        return TemplateHistory(form, history.loop, switches, history.exact, wanted)
