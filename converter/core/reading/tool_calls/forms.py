"""The forms in which models write tool calls into their text: one row a form.

Sources: the chat templates that llama.cpp ships, the parser registries of vLLM, SGLang and Ollama,
and the templates on the models' own pages. vLLM's parsers tell of Step-Audio 2, HyperCLOVA X, RWKV
and Phi-4-mini, SGLang's pull request 29920 of Hunyuan v3's suffix. Calls within thoughts were
reported of Qwen3 (vLLM issue 19017), Qwen3.5, 3.6 and Nemotron 3 (vLLM 39056, LM Studio 2045),
GLM-4.7 (opencode 6883), Kimi-K2 Thinking (llxprt-code 749), MiniMax-M2 (vllm-mlx 98); Apertus'
template has them there.
"""

from collections.abc import Iterable, Mapping
from functools import partial

from converter.core.reading.tool_calls import grammars
from converter.core.reading.tool_calls.call_form import CallForm, EndsThought
from converter.core.reading.tool_calls.gemma_body import Gemma
from converter.core.reading.tool_calls.json_body import Json
from converter.core.reading.tool_calls.python_body import Python


def _pair(name: str) -> tuple[str, str]:
    return f"<{name}>", f"</{name}>"


def _tag(name: str) -> tuple[tuple[str], str]:
    """Return the marks around a call that stands in a tag of this name."""
    opener, closer = _pair(name)
    return (opener,), closer


_TOOL_CALL = *_tag("tool_call"), _pair("tool_calls")
_IFM = *_tag("ifm|tool_call"), _pair("ifm|tool_calls")
_ASSISTANT, _CALLS = "<|im_start|>assistant", " -> tool/function_call\n"
# the rows by the effect of their openers in a thought
_special = partial(CallForm, ends_thought=EndsThought.ALWAYS)
_tagged = partial(CallForm, ends_thought=EndsThought.BEFORE_CALL)
_whole = partial(CallForm, whole=True)
FORMS = (
    _tagged(
        "hermes",
        grammars.JSON,
        *_TOOL_CALL,
        models="Hermes, Qwen2.5, Qwen3, Ernie 4.5, Reka, Granite 4",
        in_thoughts=True,
    ),
    _tagged(
        "qwen3-coder",
        grammars.FUNCTION,
        *_TOOL_CALL,
        alone=True,
        models="Qwen3-Coder, Qwen3.5, Nemotron 3, Step 3.5, MiMo; Llama 3.1 with JSON in the tag",
        in_thoughts=True,
    ),
    _tagged(
        "glm",
        grammars.PAIRS,
        *_TOOL_CALL,
        models="GLM-4.5 to 5, Laguna, Spark 3, Hunyuan v3's preview",
        in_thoughts=True,
    ),
    _tagged("step-audio", grammars.STEP_AUDIO, *_TOOL_CALL, models="Step-Audio 2"),
    _special(
        "hunyuan",
        grammars.HUNYUAN_PAIRS,
        *_tag("tool_call:opensource"),
        _pair("tool_calls:opensource"),
        models="Hunyuan v3 as it ships",
    ),
    _tagged("iquest", grammars.PAIRS, *_tag("iquest_tool_call"), models="IQuest Q1"),
    _tagged(
        "tool-calls",
        grammars.JSON,
        section=_pair("tool_calls"),
        models="Apriel, Hunyuan-A13B, Jamba, MiniMax-M1",
    ),
    _tagged(
        "minimax",
        grammars.INVOKE,
        section=_pair("minimax:tool_call"),
        alone=True,
        models="MiniMax-M2",
        in_thoughts=True,
    ),
    _special(
        "minimax-m3",
        grammars.MINIMAX_M3,
        section=(f"{grammars.MINIMAX_MARK}<tool_call>", f"{grammars.MINIMAX_MARK}</tool_call>"),
        alone=True,
        models="MiniMax-M3",
    ),
    CallForm(
        "invoke",
        grammars.INVOKE,
        section=_pair("function_calls"),
        alone=True,
        models="many fine-tunes, after Claude",
        ends_thought=EndsThought.BEFORE_OFFERED_CALL,
    ),
    CallForm(
        "olmo",
        Python(heads=("",)),
        section=_pair("function_calls"),
        models="Olmo 3",
        ends_thought=EndsThought.BEFORE_OFFERED_CALL,
    ),
    _special(
        "kimi",
        grammars.KIMI,
        ("<|tool_call_begin|>",),
        "<|tool_call_end|>",
        ("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"),
        models="Kimi-K2",
        in_thoughts=True,
    ),
    _special(
        "kimi-k3",
        grammars.KIMI_K3,
        section=("<|open|>tools<|sep|>", "<|close|>tools<|sep|>"),
        alone=True,
        models="Kimi-K3",
    ),
    _special(
        "deepseek",
        grammars.DEEPSEEK,
        ("<｜tool▁call▁begin｜>",),
        "<｜tool▁call▁end｜>",
        ("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"),
        models="DeepSeek V3, R1, V3.1, Cogito",
    ),
    _special(
        "dsml",
        grammars.DSML,
        section=("<｜DSML｜function_calls>", "</｜DSML｜function_calls>"),
        alone=True,
        models="DeepSeek V3.2",
    ),
    _special(
        "dsml-tools",
        grammars.DSML,
        section=("<｜DSML｜tool_calls>", "</｜DSML｜tool_calls>"),
        models="DeepSeek V4",
    ),
    _special(
        "dsml-doubled",
        grammars.DSML_DOUBLED,
        section=("<｜｜DSML｜｜tool_calls>", "</｜｜DSML｜｜tool_calls>"),
        alone=True,
        models="DeepSeek V4 Flash, which doubles the bars",
    ),
    CallForm("mistral", grammars.JSON, ("[TOOL_CALLS]",), models="Mistral before 2025, Mixtral"),
    CallForm(
        "mistral-args",
        grammars.MISTRAL_ARGS,
        ("[TOOL_CALLS]",),
        models="Mistral Small 3.2, Magistral, Ministral-3, Devstral",
    ),
    CallForm("llama", grammars.JSON, ("<|python_tag|>",), models="Llama 3.1, 3.2, 3.3"),
    CallForm("llama4", Python(), ("<|python_start|>",), "<|python_end|>", models="Llama 4"),
    _special("lfm2", Python(), ("<|tool_call_start|>",), "<|tool_call_end|>", models="LFM2"),
    _special(
        "internlm",
        grammars.JSON,
        ("<|action_start|><|plugin|>", "<|action_start|> <|plugin|>"),
        "<|action_end|>",
        models="InternLM 2.5, 3",
    ),
    _tagged("seed", grammars.FUNCTION, *_tag("seed:tool_call"), models="Seed-OSS"),
    _special(
        "cohere",
        grammars.JSON,
        ("<|START_ACTION|>",),
        "<|END_ACTION|>",
        models="Command-R7B, Command-A",
    ),
    _special(
        "harmony",
        grammars.HARMONY,
        (
            "<|channel|>commentary to=",
            "<|channel|>analysis to=",
            "<|start|>assistant<|channel|>commentary to=",
            "<|start|>assistant to=",
        ),
        "<|call|>",
        models="gpt-oss",
        tool="functions",
        before=("<|channel|>", "<|start|>", "<|end|>", "<|return|>"),
    ),
    _special("gemma", Gemma('<|"|>'), ("<|tool_call>",), "<tool_call|>", models="Gemma 4"),
    CallForm(
        "function-gemma",
        Gemma("<escape>"),
        ("<start_function_call>",),
        "<end_function_call>",
        models="FunctionGemma",
    ),
    _special(
        "apertus",
        Json(name_is_key=True),
        ("<|tools_prefix|>",),
        "<|tools_suffix|>",
        models="Apertus",
        in_thoughts=True,
    ),
    _special("ifm", grammars.JSON, *_IFM, models="K2-Horizon, by its switch for JSON"),
    _special("ifm-args", grammars.IFM_PAIRS, *_IFM, models="K2-Horizon"),
    _special(
        "step3",
        grammars.STEP3,
        ("<｜tool_call_begin｜>",),
        "<｜tool_call_end｜>",
        ("<｜tool_calls_begin｜>", "<｜tool_calls_end｜>"),
        models="Step 3",
    ),
    _tagged(
        "muse",
        grammars.MUSE,
        section=_pair("atem:function_calls"),
        alone=True,
        models="Muse Glimmer",
    ),
    CallForm("minicpm", grammars.MINICPM, alone=True, models="MiniCPM5"),
    CallForm(
        "bullet", grammars.BULLET, alone=True, models="models that imitate Claude Code's screen"
    ),
    _special(
        "granite",
        grammars.JSON,
        ("<|tool_call|>",),
        "<|/tool_call|>",
        models="Granite 3, Phi-4-mini",
    ),
    CallForm(
        "nemotron",
        grammars.JSON,
        *_tag("TOOLCALL"),
        models="Nemotron Nano v2, Llama Nemotron",
        ends_thought=EndsThought.BEFORE_OFFERED_CALL,
    ),
    _tagged("longcat", grammars.JSON, *_tag("longcat_tool_call"), models="LongCat"),
    _tagged(
        "longcat-tags",
        grammars.LONGCAT_PAIRS,
        *_tag("longcat_tool_call"),
        models="LongCat-Flash behind gateways",
    ),
    CallForm("gigachat", grammars.JSON, ("<|function_call|>",), models="GigaChat 3"),
    _special(
        "dsml-calls",
        grammars.DSML_SPACED,
        section=("<｜DSML｜ calls>", "</｜DSML｜ calls>"),
        models="DeepSeek V4.1",
    ),
    _special(
        "gcml",
        grammars.GCML,
        section=("<｜GCML｜tool_calls>", "</｜GCML｜tool_calls>"),
        alone=True,
        models="GigaChat 3.5",
    ),
    _tagged("dots", grammars.INVOKE, section=_pair("dots_function_call"), models="dots"),
    _tagged("dots", grammars.JSON, section=_pair("dots_function_call"), models="dots"),
    _special(
        "plamo",
        grammars.PLAMO,
        ("<|plamo:begin_tool_request:plamo|>",),
        "<|plamo:end_tool_request:plamo|>",
        ("<|plamo:begin_tool_requests:plamo|>", "<|plamo:end_tool_requests:plamo|>"),
        models="PLaMo 3",
    ),
    _special(
        "inkling",
        grammars.JSON,
        ("<|content_invoke_tool_json|>",),
        "<|end_message|>",
        models="Inkling",
    ),
    _special(
        "solar",
        grammars.SOLAR_PAIRS,
        ("<|tool_call:start|>",),
        "<|tool_call:end|>",
        models="Solar Open 2",
    ),
    CallForm("pangu", grammars.JSON, ("[unused11]",), "[unused12]", models="openPangu"),
    CallForm("granite-20b", grammars.JSON, *_tag("function_call"), models="Granite 20B FC"),
    _special(
        "hyperclova",
        grammars.JSON,
        (f"<|im_end|>\n{_ASSISTANT}{_CALLS}", f"{_ASSISTANT}{_CALLS}"),
        "<|im_end|>",
        models="HyperCLOVA X SEED Think",
    ),
    _whole(
        "hyperclova",
        grammars.JSON,
        (_CALLS.lstrip(),),
        "<|im_end|>",
        models="HyperCLOVA X SEED Think, whose prompt has begun the header",
    ),
    _special(
        "functionary",
        grammars.FUNCTIONARY,
        ("<|from|>assistant\n<|recipient|>", "<|recipient|>"),
        "<|stop|>",
        models="Functionary",
    ),
    _whole(
        "harmony",
        grammars.HARMONY_WORDS,
        close="<|call|>",
        models="gpt-oss whose special tokens, or the header's first, were left out",
    ),
    _whole("gemma", Gemma('<|"|>', ("call:",)), models="Gemma 4 without its marks"),
    _whole("functools", grammars.JSON, ("functools",), models="Phi-4-mini told so"),
    _whole(
        "rwkv",
        grammars.STRICT,
        tuple(f"**Tool Call:**{blanks}```json" for blanks in ("\n", "\n\n", " ")),
        "```",
        models="RWKV-7",
    ),
    _whole("fenced", grammars.STRICT, ("```json", "```tool_call", "```"), "```", models="any"),
    _whole("fenced", Python(("",), grammars.STRICT), ("```tool_code",), "```", models="Gemma 3"),
    _whole(
        "tool-code",
        Python(("",), grammars.STRICT),
        ("tool_code = ", "tool_code="),
        "print(tool_code)",
        models="Gemma's small models",
    ),
    _whole("python", Python(objects=grammars.STRICT), models="Llama 3.2, 4, xLAM"),
    _whole("json", grammars.STRICT, models="Llama 3.x, any"),
)


def _grouped(rows: Iterable[tuple[str, CallForm]]) -> Mapping[str, tuple[CallForm, ...]]:
    groups: dict[str, tuple[CallForm, ...]] = {}
    for mark, form in rows:
        groups[mark] = (*groups.get(mark, ()), form)
    return groups


SPECIAL = frozenset(
    mark
    for form in FORMS
    if form.ends_thought is EndsThought.ALWAYS
    for mark in (*form.firsts, *form.section[:1])
    if mark
)
"""The marks that are special tokens, which prose never says."""
_MARKED = tuple(form for form in FORMS if not form.whole)
SECTIONS = _grouped((form.section[0], form) for form in _MARKED if form.section[0])
"""Forms by the mark that begins their section."""
OPENERS = _grouped(
    (mark, form) for form in _MARKED if form.open or form.alone for mark in form.firsts if mark
)
"""Forms by the beginnings of their calls."""
WHOLE = _grouped((mark, form) for form in FORMS if form.whole for mark in form.firsts)
"""Forms of whole replies by their beginnings."""
CLOSERS = (
    *dict.fromkeys(end for form in _MARKED for end in (*form.ends, *getattr(form.body, "end", ()))),
    "[/TOOL_CALLS]",
    "</function_invocation>",
    "[e~[",
    "<|eom_id|>",
    "<|eot_id|>",
    "<｜end▁of▁sentence｜>",
)
"""Marks that directly behind a call are no text: closers said twice, or without their openers, and
what ends a message."""
THINKERS = frozenset(form.name for form in FORMS if form.in_thoughts)
"""Forms whose calls may stand within a thought."""
