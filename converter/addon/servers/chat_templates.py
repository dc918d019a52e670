"""Habits of chat templates: whether a template opens a thought in the prompt, and which thoughts
of earlier turns it writes there.

A template *opens* a thought if the prompt ends with the opener (`<think>`), so that the reply
begins inside the thought. `TEMPLATES` has one row for the models whose templates do the same. The
comment above a row names its source: a template in llama.cpp's or ik_llama.cpp's folder
models/templates, a server's code (such as the reasoning parser that vLLM has for the model), or a
page of the model's maker. A semicolon separates two sources.
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
    """The treatment of earlier turns' thoughts by a chat template.

    Attributes:
        form: The field of a message, or the marks in its text, in which the template expects a
            thought; `drop`: the template ignores earlier thoughts.
        loop: True if the template reads only the thoughts behind the last user message, which are
            those of the running tool loop.
        switches: Entries of `chat_template_kwargs` that the request must have, because the
            template drops earlier thoughts without them.
        exact: True if the template adds no line ends around a thought. Then the model itself wrote
            the line ends at the borders of a thought, and they are sent back with the thought.
        wanted: True if the addon puts back a thought that the client left out of its history.
    """

    form: HistoryForm = "reasoning_content"
    loop: bool = False
    switches: Mapping[str, object] = field(default_factory=dict)
    exact: bool = False
    wanted: bool = False


ALL, LOOP, NEVER = TemplateHistory(), TemplateHistory(loop=True), TemplateHistory("drop")
EXACT, EXACT_LOOP = TemplateHistory(exact=True), TemplateHistory(loop=True, exact=True)


def _kept_by(*, exact: bool = False, **switches: object) -> TemplateHistory:
    """Return the history of a template that drops earlier thoughts unless a request has these
    entries of `chat_template_kwargs`.
    """
    return TemplateHistory(switches=switches, exact=exact)


@dataclass(frozen=True, slots=True)
class Template:
    """The habits of the chat templates of some models.

    Attributes:
        models: A regular expression that finds the models' names, in lower case.
        switches: The switches of which a request must set one, or the template opens no thought.
            If empty, the template opens a thought unless the request turns thinking off.
        history: How the template treats earlier thoughts; `None` if its source does not show it.
        always: True if the model thinks, whatever the request's switches say.
        bare_closer: True if the template, with thinking off, writes a closer without its opener.
            Then the model may write the closer again.
        opens: True if the template opens thoughts; False if the model writes the opener itself.
    """

    models: str
    switches: Switches = field(default_factory=dict)
    history: TemplateHistory | None = None
    always: bool = False
    bare_closer: bool = False
    opens: bool = True


TEMPLATES = (
    # llama.cpp's template deepseek-ai-DeepSeek-R1
    Template(r"deepseek-?r1|r1-distill|r1-0528", always=True, history=NEVER),
    # From this row to Hunyuan 3, the templates open a thought only if the request sets a switch.
    # Source of this row: llama.cpp's template DeepSeek-V3.2
    Template(r"deepseek-?v3[._][12]", _ON, EXACT_LOOP, bare_closer=True),
    # llama.cpp's template DeepSeek-V4; DeepSeek's page on its thinking mode: its API answers
    # 400 to an earlier call without its thought
    Template(r"deepseek-?v4(?![._]\d)", _ON, EXACT, bare_closer=True),
    # SGLang's reasoning parser for MiniMax-M3; MiniMax's page on interleaved thinking, which has
    # clients send each message back whole
    Template(r"minimax-?m3", _MODE, ALL, bare_closer=True),
    # llama.cpp's template Bielik-11B-v3.0-Instruct
    Template(r"bielik.*v3", _ON, ALL),
    # llama.cpp's template openbmb-MiniCPM5-1B
    Template(r"minicpm-?5", _ON),
    # Reka's plugin for vLLM; ik_llama.cpp's template Reka-Edge
    Template(r"reka-?edge", _ON, LOOP),
    # vLLM's reasoning parser for RWKV, because the template itself is not published
    Template(r"rwkv", _ON),
    # SGLang's pull request 21414; issue 425 of vLLM's recipes
    Template(r"mimo-?v2", _ON),
    # llama.cpp's template Spark2.5
    Template(r"spark-?2[._]5", _ON, bare_closer=True),
    # SGLang's detection of templates: Laguna XS thinks only if a request switches thinking on
    Template(r"laguna-?xs", _ON, bare_closer=True),
    # vLLM's reasoning parser for HyperCLOVA X: `thinking` switches thinking on
    Template(r"hyperclova", _ON),
    # vLLM's reasoning parser for LongCat: the template opens a thought only in its thinking mode
    Template(r"longcat", _ON),
    # vLLM's reasoning parser for GigaChat 3.5: `reasoning` switches thinking on
    Template(r"gigachat-?3[._]5(?!.*reasoning)", _REASONING),
    # llama.cpp's template tencent-Hy3
    Template(r"\bhy-?v?3|hunyuan-?v3", _EFFORT),
    # From this row to Pangu, the templates open a thought without a switch.
    # Source of this row: llama.cpp's template Qwen-QwQ-32B
    Template(r"qwq", always=True, history=NEVER),
    # Qwen's pages, by which these models always think; ik_llama.cpp's template Qwen-Qwen3-0.6B
    Template(r"qwen3.*thinking", always=True, history=LOOP),
    # the model card and chat_template.jinja of Qwen3.6-35B-A3B
    Template(r"qwen3[._][6-9]", history=_kept_by(preserve_thinking=True)),
    # llama.cpp's template Qwen3.5-4B
    Template(r"qwen3[._]5", history=LOOP),
    # vLLM's reasoning parser for IQuest, which reads replies as its parser for Qwen3.5 does
    Template(r"iquest"),
    # vLLM's reasoning parser for Holo2
    Template(r"holo-?2"),
    # llama.cpp's template GLM-4.7-Flash
    Template(r"glm-?4[._]7", bare_closer=True, history=_kept_by(clear_thinking=False)),
    # ik_llama.cpp's template GLM-5.2; SGLang's code treats GLM-5.3 in the same manner
    Template(r"glm-?5", history=_kept_by(clear_thinking=False, exact=True)),
    # ik_llama.cpp's template DeepSeek-V4.1
    Template(r"deepseek-?v4[._]1", bare_closer=True, history=EXACT),
    # llama.cpp's template unsloth-MiniMax-M2
    Template(r"minimax-?m2", always=True, history=LOOP),
    # llama.cpp's template NVIDIA-Nemotron-Nano-v2;
    # ik_llama.cpp's template NVIDIA-Nemotron-3-Nano-30B-A3B
    Template(r"nemotron.*(nano.*v2|-3)", history=LOOP),
    # vLLM's reasoning parser for Granite 4.2, which reads replies as its parser for Nemotron 3 does
    Template(r"granite-?4[._]2"),
    # llama.cpp's template StepFun3.7-Flash
    Template(r"step-?(fun-?)?3[._][57]", always=True, history=LOOP),
    # SGLang's detection of templates: Laguna S thinks unless a request switches thinking off
    Template(r"laguna", bare_closer=True),
    # ik_llama.cpp's template Cohere2MoE; SGLang's CohereCommand4Detector: the template opens a
    # thought unless `reasoning` is false
    Template(r"command-(a|4)-?.*reasoning|command-a-plus|cohere-?2-?moe", history=EXACT),
    # llama.cpp's template Apriel-1.6-15b-Thinker-fixed
    Template(r"apriel-1[._]6", always=True, history=NEVER),
    # vLLM's reasoning parser for OLMo 3: the reply begins inside a thought, with or without opener
    Template(r"olmo-?3.*think", always=True),
    # vLLM's reasoning parser for ERNIE 4.5: the reply begins inside a thought
    Template(r"ernie-?4[._]5.*thinking", always=True),
    # vLLM's reasoning parser for K2 Horizon: the reply begins inside a thought at every effort
    Template(r"k2-?horizon", always=True),
    # NVIDIA Dynamo's reasoning parser kimi_k25; chat_template.jinja of Kimi-K2.6
    Template(r"kimi-?k2[._][5-9]", history=_kept_by(preserve_thinking=True, exact=True)),
    # llama.cpp's template Kimi-K3
    Template(r"kimi-?k3", history=EXACT),
    # llama.cpp's template inclusionai-ling-3.0-flash
    Template(r"\bling-?3"),
    # ik_llama.cpp's template Nanbeige4.2-3B
    Template(r"nanbeige-?4[._]2"),
    # vLLM's reasoning parser for Solar Open 2: the template opens a thought unless the effort is
    # below medium
    Template(r"solar-?open-?2"),
    # vLLM's reasoning parser for TeleChat 4: thinking is on unless `enable_thinking` is false
    Template(r"telechat-?4|xing-?4"),
    # vLLM's reasoning parser for GigaChat 3.5, for models with `reasoning` in their names
    Template(r"gigachat-?3[._]5", always=True),
    # LG AI Research's usage guideline for EXAONE Deep
    Template(r"exaone-?deep", always=True),
    # vLLM's reasoning parser for Pangu: the template opens a thought unless `think` is false
    Template(r"pangu"),
    # From this row to the end, the templates open no thought: the model writes the opener itself.
    # Source of this row: llama.cpp's template Kimi-K2-Thinking
    Template(r"kimi-?k2-?thinking", history=EXACT_LOOP, always=True, opens=False),
    # llama.cpp's template GLM-4.6
    Template(r"glm-?4[._][56]", history=LOOP, opens=False),
    # ik_llama.cpp's template Qwen-Qwen3-0.6B
    Template(r"qwen-?3(?!.*(instruct|coder))", {}, LOOP, opens=False),
    # llama.cpp's template ByteDance-Seed-OSS
    Template(r"seed-?oss", history=ALL, opens=False),
    # llama.cpp's template openai-gpt-oss-120b
    Template(r"gpt-?oss", history=EXACT_LOOP, always=True, opens=False),
    # llama.cpp's template google-gemma-4-31B-it
    Template(r"gemma-?4", history=LOOP, opens=False),
)
"""The first row whose pattern fits a model's name counts. A wrong guess about where a reply begins
costs little, because the reply shows where it really began.
"""


@lru_cache(maxsize=64)
def template_of(name: str) -> Template | None:
    """Return the row of the model with this name; `None` if no row fits."""
    return next((row for row in TEMPLATES if re.search(row.models, name.lower())), None)


UNKNOWN = TemplateHistory("tags")
"""For a model whose template is not known: earlier thoughts are sent back in tags, as most models
write them.
"""


@dataclass(frozen=True, slots=True)
class WrittenHistory:
    """The form in which the earlier turns of a request are sent, as the user's options set it.

    Attributes:
        thoughts: The form of earlier thoughts; `None`: the form of the model's row.
        order: Whether tool results go before the text of their user turn (`tools-first`), or stay
            where the client wrote them (`as-written`).
    """

    thoughts: HistoryForm | None
    order: Order

    def read_by(self, model: str, server: Server | None) -> TemplateHistory:
        """Return in which form earlier thoughts are sent to this model on this server.

        The form is the user's if the user has set one, else the form of the model's row. If the row
        has the usual field (`reasoning_content`), the field that the server reads takes its place
        (`Server.history`), unless the server is not recognised yet (`None`).

        `wanted` is True if the row has a history or the user set a form, and neither is `drop`.
        """
        template = template_of(model)
        row = template and template.history
        history = row or UNKNOWN
        named = server.history if server and history.form == "reasoning_content" else history.form
        switches = history.switches if server is None or server.on else {}
        wanted = bool(row or self.thoughts) and "drop" not in (self.thoughts, history.form)
        form = self.thoughts or named
        return TemplateHistory(form, history.loop, switches, history.exact, wanted)
