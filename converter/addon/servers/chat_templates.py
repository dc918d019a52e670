"""Chat templates: which open a thought in the prompt, and which read those of earlier turns. One
row for the models of a kind. The comment above a row says where its template was read: in
llama.cpp's or ik_llama.cpp's folder models/templates, in a server's code, or on a page.
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
        switches: Those that a request must set for the template to open a thought; with none the
            template opens it by itself.
        history: The fate of earlier thoughts; `None`: nobody has read that.
        always: No switch of the request keeps the template from opening a thought.
        bare_closer: With thinking off the template writes a closer without its opener, so that the
            model may write the closer again.
        opens: The template opens thoughts at all.
    """

    models: str
    switches: Switches = field(default_factory=dict)
    history: TemplateHistory | None = None
    always: bool = False
    bare_closer: bool = False
    opens: bool = True


TEMPLATES = (
    # llama.cpp's deepseek-ai-DeepSeek-R1
    Template(r"deepseek-?r1|r1-distill|r1-0528", always=True, history=NEVER),
    # These think only when asked to.
    # llama.cpp's DeepSeek-V3.2
    Template(r"deepseek-?v3[._][12]", _ON, EXACT_LOOP, bare_closer=True),
    # its API answers 400 to a call that lost its thought
    # DeepSeek's page on its thinking mode; llama.cpp's DeepSeek-V4
    Template(r"deepseek-?v4(?![._]\d)", _ON, EXACT, bare_closer=True),
    # SGLang, reasoning parser; MiniMax's page on interleaved thinking: whole messages go back
    Template(r"minimax-?m3", _MODE, ALL, bare_closer=True),
    # llama.cpp's Bielik-11B-v3.0-Instruct
    Template(r"bielik.*v3", _ON, ALL),
    # llama.cpp's openbmb-MiniCPM5-1B
    Template(r"minicpm-?5", _ON),
    # Reka's plugin for vLLM; ik_llama.cpp's Reka-Edge
    Template(r"reka-?edge", _ON, LOOP),
    # vLLM's reasoning parser; its template was not to be had
    Template(r"rwkv", _ON),
    # SGLang, pull request 21414; vLLM's recipes, issue 425
    Template(r"mimo-?v2", _ON),
    # llama.cpp's Spark2.5
    Template(r"spark-?2[._]5", _ON, bare_closer=True),
    # SGLang, template detection: off by default
    Template(r"laguna-?xs", _ON, bare_closer=True),
    # vLLM's reasoning parser: by `thinking`
    Template(r"hyperclova", _ON),
    # vLLM's reasoning parser: in its thinking mode
    Template(r"longcat", _ON),
    # vLLM's reasoning parser: by `reasoning`
    Template(r"gigachat-?3[._]5(?!.*reasoning)", _REASONING),
    # llama.cpp's tencent-Hy3
    Template(r"\bhy-?v?3|hunyuan-?v3", _EFFORT),
    # These do so unasked.
    # llama.cpp's Qwen-QwQ-32B
    Template(r"qwq", always=True, history=NEVER),
    # Qwen's pages: always thinking; ik_llama.cpp's Qwen-Qwen3-0.6B
    Template(r"qwen3.*thinking", always=True, history=LOOP),
    # Qwen3.6-35B-A3B, card and chat_template.jinja
    Template(r"qwen3[._][6-9]", history=_kept_by(preserve_thinking=True)),
    # llama.cpp's Qwen3.5-4B
    Template(r"qwen3[._]5", history=LOOP),
    # vLLM's reasoning parser: as Qwen3.5
    Template(r"iquest"),
    # vLLM's reasoning parser
    Template(r"holo-?2"),
    # llama.cpp's GLM-4.7-Flash
    Template(r"glm-?4[._]7", bare_closer=True, history=_kept_by(clear_thinking=False)),
    # ik_llama.cpp's GLM-5.2; SGLang says so of 5.3
    Template(r"glm-?5", history=_kept_by(clear_thinking=False, exact=True)),
    # ik_llama.cpp's DeepSeek-V4.1
    Template(r"deepseek-?v4[._]1", bare_closer=True, history=EXACT),
    # llama.cpp's unsloth-MiniMax-M2
    Template(r"minimax-?m2", always=True, history=LOOP),
    # llama.cpp's NVIDIA-Nemotron-Nano-v2; ik_llama.cpp's NVIDIA-Nemotron-3-Nano-30B-A3B
    Template(r"nemotron.*(nano.*v2|-3)", history=LOOP),
    # vLLM's reasoning parser: as Nemotron 3
    Template(r"granite-?4[._]2"),
    # llama.cpp's StepFun3.7-Flash
    Template(r"step-?(fun-?)?3[._][57]", always=True, history=LOOP),
    # SGLang, template detection: Laguna-S, on by default
    Template(r"laguna", bare_closer=True),
    # SGLang, CohereCommand4Detector: unless `reasoning` is false; ik_llama.cpp's Cohere2MoE
    Template(r"command-(a|4)-?.*reasoning|command-a-plus|cohere-?2-?moe", history=EXACT),
    # llama.cpp's Apriel-1.6-15b-Thinker-fixed
    Template(r"apriel-1[._]6", always=True, history=NEVER),
    # vLLM's reasoning parser: begins inside, an opener is optional
    Template(r"olmo-?3.*think", always=True),
    # vLLM's reasoning parser: begins inside
    Template(r"ernie-?4[._]5.*thinking", always=True),
    # vLLM's reasoning parser: begins inside, whatever the effort
    Template(r"k2-?horizon", always=True),
    # NVIDIA Dynamo, reasoning parsers: kimi_k25; Kimi-K2.6, chat_template.jinja
    Template(r"kimi-?k2[._][5-9]", history=_kept_by(preserve_thinking=True, exact=True)),
    # llama.cpp's Kimi-K3
    Template(r"kimi-?k3", history=EXACT),
    # llama.cpp's inclusionai-ling-3.0-flash
    Template(r"\bling-?3"),
    # ik_llama.cpp's Nanbeige4.2-3B
    Template(r"nanbeige-?4[._]2"),
    # vLLM's reasoning parser: but at efforts below medium
    Template(r"solar-?open-?2"),
    # vLLM's reasoning parser: by `enable_thinking`, on by default
    Template(r"telechat-?4|xing-?4"),
    # vLLM's reasoning parser: its reasoning models
    Template(r"gigachat-?3[._]5", always=True),
    # LG AI Research, usage guideline of EXAONE Deep
    Template(r"exaone-?deep", always=True),
    # vLLM's reasoning parser: unless `think` is false
    Template(r"pangu"),
    # These leave it to the model to open its thought.
    # llama.cpp's Kimi-K2-Thinking
    Template(r"kimi-?k2-?thinking", history=EXACT_LOOP, always=True, opens=False),
    # llama.cpp's GLM-4.6
    Template(r"glm-?4[._][56]", history=LOOP, opens=False),
    # ik_llama.cpp's Qwen-Qwen3-0.6B
    Template(r"qwen-?3(?!.*(instruct|coder))", {}, LOOP, opens=False),
    # llama.cpp's ByteDance-Seed-OSS
    Template(r"seed-?oss", history=ALL, opens=False),
    # llama.cpp's openai-gpt-oss-120b
    Template(r"gpt-?oss", history=EXACT_LOOP, always=True, opens=False),
    # llama.cpp's google-gemma-4-31B-it
    Template(r"gemma-?4", history=LOOP, opens=False),
)
"""The first whose pattern fits decides. A wrong guess costs little, because replies correct it."""


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
