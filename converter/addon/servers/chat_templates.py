"""The habits of chat templates, a row of `TEMPLATES` for each group of models (`template_of`):
whether a template opens a thought, and which earlier thoughts it writes into the prompt
(`TemplateHistory`). `HistoryOptions` has the user's own choices for earlier turns.

A template *opens* a thought if the prompt ends with the opener (`<think>`), so that the reply
begins inside the thought. A row of `TEMPLATES` is for all models whose names fit its pattern; their
templates have the same habits. The comment above a row names the source of the row: a template in
llama.cpp's or ik_llama.cpp's folder models/templates, a server's code (such as the reasoning parser
that vLLM has for the model), or a page of the model's maker. A semicolon separates two sources.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from converter.addon.servers.profiles import Server
from converter.core.dialects.request_settings import HistoryForm, Order
from converter.core.dialects.server_fields import EFFORT

type Switches = Mapping[str, tuple[object, ...]]
"""Name of a field of the request, or of its `chat_template_kwargs` -> the values that turn thinking
on.
"""

_ON: Switches = {"enable_thinking": (True,), "thinking": (True,)}
"""The switches of most models: either field turns thinking on."""
_REASONING: Switches = {"reasoning": (True,)}
"""The switch of GigaChat 3.5: the template opens a thought if this field is true."""
_MODE: Switches = {"thinking_mode": ("enabled",)}
"""The switch of MiniMax-M3: the template opens a thought if this field has this value."""
_EFFORT: Switches = {EFFORT: ("low", "medium", "high", "xhigh", "max")}
"""The switch of Hunyuan 3: the efforts with which its template opens a thought."""


@dataclass(frozen=True, slots=True)
class TemplateHistory:
    """A chat template's treatment of the thoughts of earlier turns."""

    form: HistoryForm = "reasoning_content"
    """Where the template expects an earlier thought: the name of a message's field, or `tags` for
    `<think>` tags in the message's text. `drop`: the template ignores earlier thoughts.
    """
    loop: bool = False
    """True if the template reads only the thoughts behind the last user message, which are those of
    the running tool loop; False if the template reads all earlier thoughts.
    """
    switches: Mapping[str, object] = field(default_factory=dict)
    """Entries of `chat_template_kwargs` that the request must have: without these entries the
    template drops earlier thoughts.
    """
    exact: bool = False
    """True if the template adds no line ends around a thought. Line ends at the start and end of a
    thought are then the model's own, and are sent back with the thought.
    """
    wanted: bool = False
    """True if the addon puts back a thought that the client left out of its history. The rows of
    `TEMPLATES` do not set it; `HistoryOptions.history_for` does.
    """


ALL, LOOP, NEVER = TemplateHistory(), TemplateHistory(loop=True), TemplateHistory("drop")
"""The histories of templates that read all earlier thoughts, only those of the running tool loop,
and none.
"""
EXACT, EXACT_LOOP = TemplateHistory(exact=True), TemplateHistory(loop=True, exact=True)
"""The histories `ALL` and `LOOP` of templates that add no line ends around a thought."""


def _history_with(*, exact: bool = False, **switches: object) -> TemplateHistory:
    """Return the `TemplateHistory` of a template that drops earlier thoughts unless a request has
    the entries `switches` in its `chat_template_kwargs`, such as `preserve_thinking=True`. `exact`
    as in `TemplateHistory`.
    """
    return TemplateHistory(switches=switches, exact=exact)


@dataclass(frozen=True, slots=True)
class Template:
    """The behaviour of the chat templates of the models named `models`: whether they open a
    thought, by which switches, and what they keep of earlier thoughts.
    """

    models: str
    """A regular expression that finds the models' names, in lower case."""
    switches: Switches = field(default_factory=dict)
    """Fields of a request, or of its `chat_template_kwargs`, and their values that turn thinking
    on. The template opens a thought only if a request sets one of them. If empty, the template
    opens a thought unless the request turns thinking off.
    """
    history: TemplateHistory | None = None
    """The template's treatment of earlier thoughts; `None` if the row's source does not show it."""
    always: bool = False
    """True if the model thinks even if a request turns thinking off."""
    bare_closer: bool = False
    """True if the template, with thinking off, writes a closer (`</think>`) without an opener into
    the prompt. The model may then write the closer again.
    """
    opens: bool = True
    """True if the template opens thoughts; False if the model writes the opener itself."""


TEMPLATES = (
    # Source: llama.cpp's template deepseek-ai-DeepSeek-R1
    Template(r"deepseek-?r1|r1-distill|r1-0528", always=True, history=NEVER),
    # From this row to Hunyuan 3, the templates open a thought only if the request sets a switch.
    # Source of this row: llama.cpp's template DeepSeek-V3.2
    Template(r"deepseek-?v3[._][12]", _ON, EXACT_LOOP, bare_closer=True),
    # DeepSeek's API answers with a 400 if an earlier call lacks its thought.
    # Source: llama.cpp's template DeepSeek-V4; DeepSeek's page on its thinking mode
    Template(r"deepseek-?v4(?![._]\d)", _ON, EXACT, bare_closer=True),
    # MiniMax wants each earlier message back whole, with its thought.
    # Source: SGLang's reasoning parser for MiniMax-M3; MiniMax's page on interleaved thinking
    Template(r"minimax-?m3", _MODE, ALL, bare_closer=True),
    # Source: llama.cpp's template Bielik-11B-v3.0-Instruct
    Template(r"bielik.*v3", _ON, ALL),
    # Source: llama.cpp's template openbmb-MiniCPM5-1B
    Template(r"minicpm-?5", _ON),
    # Source: Reka's plugin for vLLM; ik_llama.cpp's template Reka-Edge
    Template(r"reka-?edge", _ON, LOOP),
    # Source: vLLM's reasoning parser for RWKV, because the template itself is not published
    Template(r"rwkv", _ON),
    # Source: SGLang's pull request 21414; issue 425 of vLLM's recipes
    Template(r"mimo-?v2", _ON),
    # Source: llama.cpp's template Spark2.5
    Template(r"spark-?2[._]5", _ON, bare_closer=True),
    # Laguna XS thinks only if a request turns thinking on.
    # Source: SGLang's code that recognises templates
    Template(r"laguna-?xs", _ON, bare_closer=True),
    # The field `thinking` turns thinking on. Source: vLLM's reasoning parser for HyperCLOVA X
    Template(r"hyperclova", _ON),
    # The template opens a thought only if thinking is turned on.
    # Source: vLLM's reasoning parser for LongCat
    Template(r"longcat", _ON),
    # The field `reasoning` turns thinking on. Models with `reasoning` in their names, which always
    # think, have a row of their own below. Source: vLLM's reasoning parser for GigaChat 3.5
    Template(r"gigachat-?3[._]5(?!.*reasoning)", _REASONING),
    # Source: llama.cpp's template tencent-Hy3
    Template(r"\bhy-?v?3|hunyuan-?v3", _EFFORT),
    # From this row to Pangu, the templates open a thought unless a request turns thinking off. With
    # `always=True` a template opens one even if a request turns thinking off.
    # Source of this row: llama.cpp's template Qwen-QwQ-32B
    Template(r"qwq", always=True, history=NEVER),
    # These models always think.
    # Source: Qwen's pages; ik_llama.cpp's template Qwen-Qwen3-0.6B
    Template(r"qwen3.*thinking", always=True, history=LOOP),
    # Source: the model card and chat_template.jinja of Qwen3.6-35B-A3B
    Template(r"qwen3[._][6-9]", history=_history_with(preserve_thinking=True)),
    # Source: llama.cpp's template Qwen3.5-4B
    Template(r"qwen3[._]5", history=LOOP),
    # Source: vLLM's reasoning parser for IQuest, which reads replies as vLLM's parser for Qwen3.5
    # does
    Template(r"iquest"),
    # Source: vLLM's reasoning parser for Holo2
    Template(r"holo-?2"),
    # Source: llama.cpp's template GLM-4.7-Flash
    Template(r"glm-?4[._]7", bare_closer=True, history=_history_with(clear_thinking=False)),
    # GLM-5.3 is like GLM-5.2. Source: ik_llama.cpp's template GLM-5.2; SGLang's code
    Template(r"glm-?5", history=_history_with(clear_thinking=False, exact=True)),
    # Source: ik_llama.cpp's template DeepSeek-V4.1
    Template(r"deepseek-?v4[._]1", bare_closer=True, history=EXACT),
    # Source: llama.cpp's template unsloth-MiniMax-M2
    Template(r"minimax-?m2", always=True, history=LOOP),
    # Source: llama.cpp's template NVIDIA-Nemotron-Nano-v2;
    # ik_llama.cpp's template NVIDIA-Nemotron-3-Nano-30B-A3B
    Template(r"nemotron.*(nano.*v2|-3)", history=LOOP),
    # Source: vLLM's reasoning parser for Granite 4.2, which reads replies as vLLM's parser for
    # Nemotron 3 does
    Template(r"granite-?4[._]2"),
    # Source: llama.cpp's template StepFun3.7-Flash
    Template(r"step-?(fun-?)?3[._][57]", always=True, history=LOOP),
    # Laguna S thinks unless a request turns thinking off.
    # Source: SGLang's code that recognises templates
    Template(r"laguna", bare_closer=True),
    # The template opens a thought unless the field `reasoning` is false.
    # Source: ik_llama.cpp's template Cohere2MoE; SGLang's CohereCommand4Detector
    Template(r"command-(a|4)-?.*reasoning|command-a-plus|cohere-?2-?moe", history=EXACT),
    # Source: llama.cpp's template Apriel-1.6-15b-Thinker-fixed
    Template(r"apriel-1[._]6", always=True, history=NEVER),
    # The reply begins inside a thought, and may repeat the opener.
    # Source: vLLM's reasoning parser for OLMo 3
    Template(r"olmo-?3.*think", always=True),
    # The reply begins inside a thought. Source: vLLM's reasoning parser for ERNIE 4.5
    Template(r"ernie-?4[._]5.*thinking", always=True),
    # At every effort the reply begins inside a thought.
    # Source: vLLM's reasoning parser for K2 Horizon
    Template(r"k2-?horizon", always=True),
    # Source: NVIDIA Dynamo's reasoning parser kimi_k25; chat_template.jinja of Kimi-K2.6
    Template(r"kimi-?k2[._][5-9]", history=_history_with(preserve_thinking=True, exact=True)),
    # Source: llama.cpp's template Kimi-K3
    Template(r"kimi-?k3", history=EXACT),
    # Source: llama.cpp's template inclusionai-ling-3.0-flash
    Template(r"\bling-?3"),
    # Source: ik_llama.cpp's template Nanbeige4.2-3B
    Template(r"nanbeige-?4[._]2"),
    # The template opens a thought unless the effort is below medium.
    # Source: vLLM's reasoning parser for Solar Open 2
    Template(r"solar-?open-?2"),
    # The model thinks unless the field `enable_thinking` is false.
    # Source: vLLM's reasoning parser for TeleChat 4
    Template(r"telechat-?4|xing-?4"),
    # The models with `reasoning` in their names always think; a row above has the other models.
    # Source: vLLM's reasoning parser for GigaChat 3.5
    Template(r"gigachat-?3[._]5", always=True),
    # Source: LG AI Research's usage guideline for EXAONE Deep
    Template(r"exaone-?deep", always=True),
    # The template opens a thought unless the field `think` is false.
    # Source: vLLM's reasoning parser for Pangu
    Template(r"pangu"),
    # From this row to the end, the templates open no thought: the model writes the opener itself.
    # Source of this row: llama.cpp's template Kimi-K2-Thinking
    Template(r"kimi-?k2-?thinking", history=EXACT_LOOP, always=True, opens=False),
    # Source: llama.cpp's template GLM-4.6
    Template(r"glm-?4[._][56]", history=LOOP, opens=False),
    # Source: ik_llama.cpp's template Qwen-Qwen3-0.6B
    Template(r"qwen-?3(?!.*(instruct|coder))", {}, LOOP, opens=False),
    # Source: llama.cpp's template ByteDance-Seed-OSS
    Template(r"seed-?oss", history=ALL, opens=False),
    # Source: llama.cpp's template openai-gpt-oss-120b
    Template(r"gpt-?oss", history=EXACT_LOOP, always=True, opens=False),
    # Source: llama.cpp's template google-gemma-4-31B-it
    Template(r"gemma-?4", history=LOOP, opens=False),
)
"""The habits of all known templates. The first row whose pattern fits a model's name counts. A
wrong guess about where a reply begins costs little, because the reply shows where it really began.
"""


@lru_cache(maxsize=64)
def template_of(name: str) -> Template | None:
    """Return the row of `TEMPLATES` for the model with this name; `None` if no row fits."""
    return next((row for row in TEMPLATES if re.search(row.models, name.lower())), None)


UNKNOWN = TemplateHistory("tags")
"""The history for a model without a row in `TEMPLATES`: earlier thoughts are sent back in tags
(`<think>`), as most models write them.
"""


@dataclass(frozen=True, slots=True)
class HistoryOptions:
    """The user's options for the form in which the earlier turns of a request are sent."""

    thoughts: HistoryForm | None
    """The form of earlier thoughts; `None`: the form in the model's row of `TEMPLATES`."""
    order: Order
    """Whether tool results go before the text of their user turn (`tools-first`), or stay where the
    client wrote them (`as-written`).
    """

    def history_for(self, model: str, server: Server | None) -> TemplateHistory:
        """Return how earlier thoughts are sent to this model on this server. `server`: `None` if
        the server has not been recognised.

        `form` of the result is the form that the user chose (`thoughts`). If the user chose none,
        it is the form in the model's row of `TEMPLATES`, but in place of `reasoning_content` the
        field in which this server reads thoughts (`Server.history`). If no row has a form for the
        model, it is `tags`.

        `wanted` of the result is True if the user chose a form or the model's row has one, and
        neither of the two is `drop`. `switches` of the result is empty for a server that takes no
        switch of thinking (`Server.on` is empty).
        """
        template = template_of(model)
        row = template and template.history
        history = row or UNKNOWN
        named = server.history if server and history.form == "reasoning_content" else history.form
        switches = history.switches if server is None or server.on else {}
        wanted = bool(row or self.thoughts) and "drop" not in (self.thoughts, history.form)
        form = self.thoughts or named
        return TemplateHistory(form, history.loop, switches, history.exact, wanted)
