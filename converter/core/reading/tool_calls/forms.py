"""`FORMS`, the table of forms, tells how models write tool calls into their text: a row for each
form. Its marks are also in `OPENERS`, `SECTIONS` and `WHOLE` (mark -> forms), and in `CLOSERS`.

A row has a name, the openers and closers of a call, a body (the kind of text between opener and
closer), and the marks around all calls of a reply (`section`). There are five kinds of bodies:
`Json`, `Header` (a name before JSON), `Keyed` (keys and values between marks), `Python`, `Gemma`.
`docs/tool-calls.md` names the models.

The sources are the chat templates that llama.cpp ships, the parsers of vLLM, SGLang and Ollama, and
the templates on the models' own pages. The forms of Step-Audio 2, HyperCLOVA X, RWKV and Phi-4-mini
are from vLLM's parsers, the suffix of Hunyuan v3 from SGLang's pull request 29920.

Calls within thoughts were reported for Qwen3 (vLLM issue 19017), Qwen3.5, 3.6 and Nemotron 3 (vLLM
39056, LM Studio 2045), GLM-4.7 (opencode 6883), Kimi-K2 Thinking (llxprt-code 749) and MiniMax-M2
(vllm-mlx 98). The template of Apertus puts calls into the thought.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from converter.core.reading.rows import Counts, pair, tag
from converter.core.reading.tool_calls.bodies import Gemma, Header, Json, Keyed, Python
from converter.core.reading.tool_calls.call_row import CallRow


def _section(name: str) -> tuple[str, str]:
    """Return the marks of a section that is a tag: `_section("f")` -> `("<f>", "</f>")`."""
    return f"<{name}>", f"</{name}>"


def _xml_body(prefix: str, *, padded: bool = False, before: str = "") -> Keyed:
    """Return the body for calls such as
    `<invoke name="f"><parameter name="city">Oslo</parameter></invoke>`.

    Args:
        prefix: the text before the name of each tag: with `x:` the tags are `<x:invoke>` and
            `<x:parameter>`.
        padded: True if models write line ends around a value (`Keyed.has_line_ends`).
        before: text that may stand directly before `<invoke`; empty for none.
    """
    head = f"<{prefix}invoke name="
    return Keyed(
        starts=(before + head, head) if before else (head,),
        body_closers=(f"</{prefix}invoke>",),
        key_openers=(f"<{prefix}parameter name=",),
        value_closers=(f"</{prefix}parameter>",),
        has_line_ends=padded,
    )


def _pairs_body(
    key: str, value: str, kind: str = "", *, separator: str = "", reads_unknown: bool = False
) -> Keyed:
    """Return the body for calls with a bare name, and behind it keys and values in turn:
    `f<arg_key>city</arg_key><arg_value>Oslo</arg_value>`.

    `key`, `value`, `kind`: the names of the tags around a key (`arg_key`), a value, and the type of
    a value. `separator`: a mark that may stand behind the tool's name. `reads_unknown`: True if the
    value of a key that is no parameter is read as JSON. `kind` and `separator` are empty for none.
    """
    return Keyed(
        name_separator=separator,
        key_openers=(f"<{key}>",),
        key_closer=f"</{key}>",
        type_marks=_section(kind) if kind else ("", ""),
        value_opener=f"<{value}>",
        value_closers=(f"</{value}>",),
        unknown_keys_are_json=reads_unknown,
    )


JSON = Json()
"""The body of most forms: JSON objects."""
STRICT = Json(only_call_keys=True)
"""The body of forms whose marks ordinary text has too: an object counts only if it has arguments,
and only keys that calls have.
"""
FUNCTION = Keyed(
    starts=("<function=",),
    body_closers=("</function>",),
    key_openers=("<parameter=", "<parameter name="),
    value_closers=("</parameter>",),
    has_line_ends=True,
)
"""The body of Qwen3-Coder's calls: `<function=f><parameter=city>`."""
INVOKE = _xml_body("", padded=True)
"""The body of calls in Anthropic's old style: `<invoke name="f"><parameter name="city">`."""
PAIRS = _pairs_body("arg_key", "arg_value", separator="<tool_sep>", reads_unknown=True)
"""The body of GLM's calls: `f<arg_key>city</arg_key><arg_value>Oslo</arg_value>`."""
_BARS = "｜|‖"
"""The characters for the bar in DeepSeek's marks. The model's own tokens have the first one. Some
servers decode these tokens to text with one of the other two, and some clients send such text in a
conversation's earlier turns, from which the model may copy it.
"""
_MINIMAX = "]<]minimax[>["
"""The text with which each mark of MiniMax-M3 begins."""
_FUNCTION_CALL = "function call<|role_sep|>\n"
"""The header before the calls of GigaChat."""
_HUNYUAN_END = "<end_of_tool_call>"
"""A closer of Hunyuan's calls, both in Hunyuan's own form and in GLM's form."""
_ASSISTANT, _CALLS = "<|im_start|>assistant", " -> tool/function_call\n"
"""The beginning of a message of HyperCLOVA X, and the header of its calls behind it."""
_special = partial(CallRow, counts=Counts.EVERYWHERE)
"""Return a row whose openers are special tokens of the model: they count anywhere."""
_tagged = partial(CallRow, counts=Counts.IN_THOUGHTS)
"""Return a row whose openers count in an answer and in a thought."""
_tagged_with_tools = partial(CallRow, counts=Counts.IN_THOUGHTS_WITH_TOOLS)
"""Return a row whose openers count in an answer, and also in a thought if the request offers tools.
"""
_answering = partial(CallRow, counts=Counts.IN_ANSWERS)
"""Return a row whose openers count in an answer; in a thought they are text."""
_whole = partial(CallRow, counts=Counts.AS_WHOLE_REPLY)
"""Return a row whose openers count only in a reply that consists of calls alone."""


def _dsml_forms(bar: str) -> Iterator[CallRow]:
    """Yield the forms of DeepSeek since V3.2, whose marks are `<｜DSML｜function_calls>` and
    `<｜DSML｜invoke`. `bar`: the character at both sides of `DSML`.
    """
    for name, prefix, word in (
        ("dsml", f"{bar}DSML{bar}", "function_calls"),  # marks of DeepSeek V3.2
        ("dsml-tools", f"{bar}DSML{bar}", "tool_calls"),  # marks of DeepSeek V4
        ("dsml-doubled", f"{bar * 2}DSML{bar * 2}", "tool_calls"),  # marks of DeepSeek V4 Flash
        ("dsml-calls", f"{bar}DSML{bar} ", "calls"),  # marks of DeepSeek V4.1
    ):
        # Calls of "dsml" and of "dsml-tools" begin with the same mark. Outside a section the mark
        # is therefore read as a call of "dsml" only.
        alone = name != "dsml-tools"
        yield _special(name, body=_xml_body(prefix), section=_section(prefix + word), alone=alone)


FORMS = (
    _tagged(
        "hermes", *tag("tool_call"), body=JSON, section=_section("tool_calls"), in_thoughts=True
    ),
    _tagged(
        "qwen3-coder",
        *tag("tool_call"),
        body=FUNCTION,
        section=_section("tool_calls"),
        alone=True,
        in_thoughts=True,
    ),
    _tagged(
        "glm",
        ("<tool_call>",),
        ("</tool_call>", _HUNYUAN_END),
        body=PAIRS,
        section=_section("tool_calls"),
        ignored=("</arg_value>",),
        in_thoughts=True,
    ),
    _tagged(
        "step-audio",
        *tag("tool_call"),
        body=Header(r"(?P<name>[\w.-]+)[ \t]*+\n\s*+", starts=("function\n",)),
        section=_section("tool_calls"),
    ),
    _special(
        "hunyuan",
        ("<tool_call:opensource>",),
        ("</tool_call:opensource>", "<end_of_tool_call:opensource>", _HUNYUAN_END),
        body=_pairs_body(
            "arg_key:opensource", "arg_value:opensource", separator="<tool_sep:opensource>"
        ),
        section=_section("tool_calls:opensource"),
    ),
    _tagged("iquest", *tag("iquest_tool_call"), body=PAIRS),
    _tagged("tool-calls", body=JSON, section=_section("tool_calls")),
    _tagged(
        "minimax",
        body=INVOKE,
        section=_section("minimax:tool_call"),
        alone=True,
        ignored=("[e~[",),
        in_thoughts=True,
    ),
    _special(
        "minimax-m3",
        body=Keyed(
            # MiniMax-M3 may leave out the `<` before `invoke`.
            starts=(f"{_MINIMAX}<invoke name=", f"{_MINIMAX}invoke name="),
            body_closers=(f"{_MINIMAX}</invoke>",),
            key_openers=(f"{_MINIMAX}<",),
            value_closers=(f"{_MINIMAX}</",),
            nested_values=True,
        ),
        section=(f"{_MINIMAX}<tool_call>", f"{_MINIMAX}</tool_call>"),
        alone=True,
    ),
    _tagged_with_tools(
        "invoke",
        body=INVOKE,
        section=_section("function_calls"),
        alone=True,
        ignored=("</function_invocation>",),
    ),
    _tagged_with_tools("olmo", body=Python(starts=("",)), section=_section("function_calls")),
    _special(
        "kimi",
        *pair("<|tool_call_begin|>", "<|tool_call_end|>"),
        body=Header(r"\s*+(?P<name>[\w.:-]+)\s*+<\|tool_call_argument_begin\|>\s*+"),
        section=("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"),
        in_thoughts=True,
    ),
    _special(
        "kimi-k3",
        body=Keyed(
            starts=("<|open|>call ",),
            body_closers=("<|close|>call<|sep|>",),
            key_openers=("<|open|>argument ",),
            key_closer="<|sep|>",
            value_closers=("<|close|>argument<|sep|>",),
        ),
        section=("<|open|>tools<|sep|>", "<|close|>tools<|sep|>"),
        alone=True,
    ),
    _special(
        "deepseek",
        *pair("<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"),
        body=Header(
            r"\s*+(?:<｜tool▁sep｜>)?\s*+(?P<name>[\w.:-]+)\s*+"
            r"(?:<｜tool▁sep｜>)?\s*+(?:```json)?\s*+",
            tail="```",
            starts=("function<｜tool▁sep｜>", ""),
        ),
        section=("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"),
        ignored=("<｜end▁of▁sentence｜>",),
    ),
    *(row for bar in _BARS for row in _dsml_forms(bar)),
    _answering("mistral", ("[TOOL_CALLS]",), body=JSON, ignored=("[/TOOL_CALLS]",)),
    _answering(
        "mistral-args",
        ("[TOOL_CALLS]",),
        body=Header(r"\s*+(?P<name>[\w.-]+)\s*+(?:\[CALL_ID\]\w*\s*+)?(?:\[ARGS\]\s*+)?"),
    ),
    _whole("mistral-args", body=Header(r"(?P<name>[\w.-]+)(?:\[CALL_ID\]\w*)?\[ARGS\]\s*+")),
    _answering("llama", ("<|python_tag|>",), body=JSON, ignored=("<|eom_id|>", "<|eot_id|>")),
    _answering("llama", ("<|python_tag|>",), body=Python(("",))),
    _answering("llama4", *pair("<|python_start|>", "<|python_end|>"), body=Python()),
    _special("lfm2", *pair("<|tool_call_start|>", "<|tool_call_end|>"), body=Python(("[", "{"))),
    _special(
        "internlm",
        ("<|action_start|><|plugin|>", "<|action_start|> <|plugin|>"),
        ("<|action_end|>",),
        body=JSON,
    ),
    _tagged("seed", *tag("seed:tool_call"), body=FUNCTION),
    _special("cohere", *pair("<|START_ACTION|>", "<|END_ACTION|>"), body=JSON),
    _special(
        "harmony",
        (
            "<|channel|>commentary to=",
            "<|channel|>analysis to=",
            "<|channel|>comment to=",
            "<|start|>assistant<|channel|>commentary to=",
            "<|start|>assistant to=",
        ),
        ("<|call|>",),
        body=Header(
            r"\s*+(?:functions\.)?(?P<name>[\w.-]+)\s*+(?:<\|channel\|>\s*+\w+\s*+)?"
            r"(?:(?:<\|constrain\|>)?\s*+(?:json|code)\s*+)?<\|message\|>\s*+"
        ),
        thought_suffix="functions",
        ends_before=("<|channel|>", "<|start|>", "<|end|>", "<|return|>"),
    ),
    _special(
        "gemma",
        *pair("<|tool_call>", "<tool_call|>"),
        body=Gemma('<|"|>'),
        ignored=("<|tool_response>",),
    ),
    _answering(
        "function-gemma",
        *pair("<start_function_call>", "<end_function_call>"),
        body=Gemma("<escape>"),
    ),
    _special(
        "apertus",
        *pair("<|tools_prefix|>", "<|tools_suffix|>"),
        body=Json(name_is_key=True),
        in_thoughts=True,
    ),
    _special("ifm", *tag("ifm|tool_call"), body=JSON, section=_section("ifm|tool_calls")),
    _special(
        "ifm-args",
        *tag("ifm|tool_call"),
        body=_pairs_body("ifm|arg_key", "ifm|arg_value", "ifm|arg_type"),
        section=_section("ifm|tool_calls"),
    ),
    _special(
        "step3",
        *pair("<｜tool_call_begin｜>", "<｜tool_call_end｜>"),
        body=_xml_body("steptml:", before="function<｜tool_sep｜>"),
        section=("<｜tool_calls_begin｜>", "<｜tool_calls_end｜>"),
    ),
    _tagged("muse", body=_xml_body("atem:"), section=_section("atem:function_calls"), alone=True),
    _answering(
        "minicpm",
        body=Keyed(
            starts=("<function name=",),
            body_closers=("</function>",),
            key_openers=("<param name=", "<parameter name="),
            value_closers=("</param>", "</parameter>"),
            may_have_cdata=True,
        ),
        alone=True,
    ),
    _answering(
        "bullet",
        body=replace(
            FUNCTION, starts=("● <function=",), key_openers=("<parameter=",), may_lack_closer=True
        ),
        alone=True,
    ),
    _special("granite", *pair("<|tool_call|>", "<|/tool_call|>"), body=JSON),
    _tagged_with_tools("nemotron", *tag("TOOLCALL"), body=JSON),
    _tagged("longcat", *tag("longcat_tool_call"), body=JSON),
    _tagged(
        "longcat-tags",
        *tag("longcat_tool_call"),
        body=_pairs_body("longcat_arg_key", "longcat_arg_value"),
    ),
    _answering(
        "gigachat", ("<|function_call|>", f"<|message_sep|>\n\n{_FUNCTION_CALL}"), body=JSON
    ),
    _whole("gigachat", (_FUNCTION_CALL,), body=JSON),
    _special(
        "gcml",
        body=_xml_body("｜GCML｜"),
        section=("<｜GCML｜tool_calls>", "</｜GCML｜tool_calls>"),
        alone=True,
    ),
    _tagged("dots", body=INVOKE, section=_section("dots_function_call")),
    _tagged("dots", body=JSON, section=_section("dots_function_call")),
    _special(
        "plamo",
        *pair("<|plamo:begin_tool_request:plamo|>", "<|plamo:end_tool_request:plamo|>"),
        body=Header(
            r"\s*+<\|plamo:begin_tool_name:plamo\|>(?P<name>[^<]+)"
            r"<\|plamo:end_tool_name:plamo\|>\s*+<\|plamo:begin_tool_arguments:plamo\|>\s*+",
            tail="<|plamo:end_tool_arguments:plamo|>",
        ),
        section=("<|plamo:begin_tool_requests:plamo|>", "<|plamo:end_tool_requests:plamo|>"),
    ),
    _special("inkling", *pair("<|content_invoke_tool_json|>", "<|end_message|>"), body=JSON),
    _special(
        "solar",
        *pair("<|tool_call:start|>", "<|tool_call:end|>"),
        body=Keyed(
            key_openers=("<|tool_arg:start|>",),
            key_closer="<|tool_arg:value|>",
            value_closers=("<|tool_arg:end|>",),
        ),
    ),
    _answering("pangu", *pair("[unused11]", "[unused12]"), body=JSON),
    _answering("granite-20b", *tag("function_call"), body=JSON),
    _special(
        "hyperclova",
        (f"<|im_end|>\n{_ASSISTANT}{_CALLS}", f"{_ASSISTANT}{_CALLS}"),
        ("<|im_end|>",),
        body=JSON,
    ),
    _whole("hyperclova", (_CALLS.lstrip(),), ("<|im_end|>",), body=JSON),
    _special(
        "functionary",
        ("<|from|>assistant\n<|recipient|>", "<|recipient|>"),
        ("<|stop|>",),
        body=Header(r"\s*+(?P<name>[\w.-]+)\s*+<\|content\|>\s*+"),
    ),
    _whole(
        "harmony",
        body=Header(
            r"\s*+(?P<name>[\w.-]+?)\s*+(?:<\|channel\|>\s*+\w+\s*+)?(?:<\|constrain\|>)?\s*+"
            r"(?:json|code)?\s*+(?:<\|message\|>\s*+)?",
            starts=tuple(
                f"{word}to=functions."
                for word in ("", "commentary ", "assistantcommentary ", "assistant ")
            ),
        ),
        closes=("<|call|>",),
    ),
    _whole("gemma", body=Gemma('<|"|>', ("call:",))),
    _whole("functools", ("functools",), body=JSON),
    _answering("functools", ("\nfunctools",), body=JSON),
    _whole(
        "rwkv",
        tuple(f"**Tool Call:**{blanks}```json" for blanks in ("\n", "\n\n", " ")),
        ("```",),
        body=STRICT,
    ),
    _whole("fenced", ("```json", "```tool_call", "```"), ("```",), body=STRICT),
    _whole("fenced", *pair("```tool_code", "```"), body=Python(("",), STRICT)),
    _whole(
        "tool-code",
        ("tool_code = ", "tool_code="),
        ("print(tool_code)",),
        body=Python(("",), STRICT),
    ),
    _whole("python", body=Python(object_body=STRICT)),
    _whole("json", body=STRICT),
)
"""The table of forms. If several forms share a mark, the form counts whose head fits; of several
such forms, the first one counts. At the opener of a section, forms without an opener for each call
are tried before the others.
"""


def _forms_by_mark(rows: Iterable[tuple[str, CallRow]]) -> Mapping[str, tuple[CallRow, ...]]:
    """Return the mapping mark -> all its forms. `rows`: pairs of a mark and one of its forms."""
    pairs = tuple(rows)
    return {mark: tuple(form for it, form in pairs if it == mark) for mark, _ in pairs}


_MARKED = tuple(form for form in FORMS if not form.whole)
"""The forms whose calls may stand beside other text."""
SECTIONS = _forms_by_mark((form.section[0], form) for form in _MARKED if form.section[0])
"""Mark that opens a section -> the forms that have this section."""
OPENERS = _forms_by_mark(
    (mark, form) for form in _MARKED if form.opens or form.alone for mark in form.firsts if mark
)
"""Mark -> the forms of which a call may begin with this mark outside a section. Forms whose calls
must be the whole reply are not among them.
"""
WHOLE = _forms_by_mark((mark, form) for form in FORMS if form.whole for mark in form.firsts)
"""Mark -> the forms whose calls must be the whole reply and may begin with this mark."""
CLOSERS = tuple(
    dict.fromkeys(
        mark
        for form in _MARKED
        for mark in (*form.ends, *getattr(form.body, "body_closers", ()), *form.ignored)
    )
)
"""Marks that are dropped directly behind a call: closers of calls and sections, which models repeat
or write without an opener, and marks that end a message.
"""
THINKERS = frozenset(form.name for form in FORMS if form.in_thoughts)
"""The names of the forms in which models call tools within a thought (`CallRow.in_thoughts`)."""
_LEFT = frozenset(mark[: len(mark) - cut] for mark in (*SECTIONS, *OPENERS) for cut in (0, 1))
"""The texts that `without_opener` removes: openers of calls and sections, each of them whole, and
without its last character.
"""


def without_opener(text: str) -> str:
    """Return `text` without the opener of a call or section at its end:
    `Let me look. <tool_call>` -> `Let me look. `. Return `text` itself if it ends without opener.

    Blanks behind the opener are removed too, and the opener's last character may be missing.
    Bedrock's replies need this: its parser of calls by DeepSeek-V3.2 takes a call out of the text,
    but leaves the call's opener in the text.
    """
    bare = text.rstrip()
    mark = max((mark for mark in _LEFT if bare.endswith(mark)), key=len, default="")
    return bare[: len(bare) - len(mark)] if mark else text
