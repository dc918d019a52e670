"""The ways in which models write tool calls, for the slow reading: one row each. It shares no line
with the parser.
"""

import re
from collections.abc import Sequence

from laws.call_oracle_readers import (
    JSON_NEXT,
    Row,
    elements,
    gemma,
    gemma_calls,
    header,
    objects,
    one_by_one,
    python,
    tags,
)

_NAME = r"(?P<name>[\w.-]+)"


def _marked(form: str, opener: str, close: str = "", *ends: str, key: bool = False) -> Row:
    closing = [re.escape(close)] if close else []
    return Row(form, f"{opener}{JSON_NEXT}", objects(close, key), [*closing, *ends])


def _headed(form: str, begin: str, *ends: str) -> Row:
    nexts = "|".join((r"\{", *ends))
    return Row(form, rf"{begin}\s*(?={nexts})", header, ends)


def _invoked(form: str, section: str, prefix: str = "", padded: bool = False) -> Row:
    """The call's tag, and one for each parameter, within a section that may be left out."""
    parameter = rf'<{prefix}parameter name="(?P<key>[^"]+)"[^>]*>(?P<value>.*?)</{prefix}parameter>'
    begin = rf'(?:<{section}>\s*)?<{prefix}invoke name="(?P<name>[^"]+)"[^>]*>'
    return Row(form, begin, tags(parameter, f"</{prefix}invoke>", padded), [f"</{section}>"])


def _paired(
    form: str,
    opener: str,
    close: str,
    section: tuple[str, str] = ("", ""),
    marks: Sequence[str] = ("<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"),
    separator: str = "<tool_sep>",
) -> Row:
    """The bare name, then keys and values in turn; a value without its mark ends with its call."""
    key, key_end, value, value_end = marks
    last = rf"(?:(?!{key}|{value_end}).)*\Z"
    another = rf"\s*{opener}(?:(?!{value_end}).)*?{key}"
    ended = rf"(?:{value_end}|(?=\n?{close}(?:{last}|{another})))"
    parameter = rf"{key}(?P<key>.*?){key_end}\s*{value}(?P<value>.*?){ended}"
    before = rf"(?:{section[0]}\s*(?:{opener})?|{opener})" if section[0] else opener
    begin = rf"{before}\s*{_NAME}\s*(?:{separator}\s*)?(?={key}|{close})"
    return Row(form, begin, tags(parameter, close, padded=False), [section[1]])


_FUNCTION = r"<function=(?P<name>[^>\s]+)>"
_PARAMETER = r"<parameter=(?P<key>[^>]+)>(?P<value>.*?)</parameter>"
_FUNCTION_TAGS = tags(_PARAMETER, "</function>")
_SECTION = ("<tool_calls>", "</tool_calls>")
_SECTIONS = "(?:minimax:tool_call|function_calls|dots_function_call)"
_HUNYUAN = tuple(
    f"<{mark}:opensource>" for mark in ("arg_key", "/arg_key", "arg_value", "/arg_value")
)
_IFM = (
    r"<ifm\|arg_key>",
    r"</ifm\|arg_key>(?:\s*<ifm\|arg_type>.*?</ifm\|arg_type>)?",
    r"<ifm\|arg_value>",
    r"</ifm\|arg_value>",
)
_LONGCAT = tuple(
    f"<{mark}>"
    for mark in ("longcat_arg_key", "/longcat_arg_key", "longcat_arg_value", "/longcat_arg_value")
)
_SOLAR = (r"<\|tool_arg:start\|>", r"<\|tool_arg:value\|>", "", r"<\|tool_arg:end\|>")
_PLAMO = r"<\|plamo:{}_tool_{}:plamo\|>"
ROWS = (
    _marked("hermes", rf"(?:{_SECTION[0]}\s*)?<tool_call>", "</tool_call>", _SECTION[1]),
    Row("qwen3-coder", rf"(?:<tool_call>\s*)?{_FUNCTION}", _FUNCTION_TAGS, ["</tool_call>"]),
    _paired("glm", "<tool_call>", "</tool_call>", _SECTION),
    _headed("step-audio", rf"<tool_call>\s*function\n{_NAME}[ \t]*\n", "</tool_call>"),
    _paired(
        "hunyuan",
        "<tool_call:opensource>",
        "</tool_call:opensource>",
        ("<tool_calls:opensource>", "</tool_calls:opensource>"),
        _HUNYUAN,
        "<tool_sep:opensource>",
    ),
    _paired("iquest", "<iquest_tool_call>", "</iquest_tool_call>"),
    _marked("tool-calls", _SECTION[0], _SECTION[1]),
    *(_invoked(form, _SECTIONS, padded=True) for form in ("minimax", "invoke", "dots")),
    Row(
        "minimax-m3",
        r"(?:\]<\]minimax\[>\[<tool_call>\s*)?\]<\]minimax\[>\[<invoke name=\"(?P<name>[^\"]+)\">",
        elements,
        [r"\]<\]minimax\[>\[</tool_call>"],
    ),
    Row("olmo", r"<function_calls>\s*(?=\w)", python("</function_calls>"), ["</function_calls>"]),
    _headed(
        "kimi",
        r"(?:<\|tool_calls_section_begin\|>\s*(?:<\|tool_call_begin\|>)?|<\|tool_call_begin\|>)"
        r"\s*(?:functions\.)?"
        r"(?P<name>[\w.-]+?)(?::\d+)?\s*(?:<\|tool_call_argument_begin\|>|(?=<\|tool_call))",
        r"<\|tool_call_end\|>",
        r"<\|tool_calls_section_end\|>",
    ),
    Row(
        "kimi-k3",
        r"(?:<\|open\|>tools<\|sep\|>\s*)?<\|open\|>call tool=\"(?P<name>[^\"]+)\"[^<]*<\|sep\|>",
        tags(
            r"<\|open\|>argument key=\"(?P<key>[^\"]+)\"[^<]*<\|sep\|>"
            r"(?P<value>.*?)<\|close\|>argument<\|sep\|>",
            r"<\|close\|>call<\|sep\|>",
            padded=False,
        ),
        [r"<\|close\|>tools<\|sep\|>"],
    ),
    _headed(
        "deepseek",
        r"(?:<｜tool▁calls▁begin｜>\s*(?:<｜tool▁call▁begin｜>)?|<｜tool▁call▁begin｜>"
        r"|(?=function<｜tool▁sep｜>))\s*(?:(?:function)?<｜tool▁sep｜>)?"
        rf"{_NAME}\s*(?:<｜tool▁sep｜>)?\s*(?:```json)?",
        "```",
        "<｜tool▁call▁end｜>",
        "<｜tool▁calls▁end｜>",
    ),
    *(
        _invoked(form, "｜DSML｜(?:function|tool)_calls", "｜DSML｜")
        for form in ("dsml", "dsml-tools")
    ),
    _invoked("dsml-doubled", "｜｜DSML｜｜tool_calls", "｜｜DSML｜｜"),
    _invoked("dsml-calls", "｜DSML｜ calls", "｜DSML｜ "),
    _invoked("gcml", "｜GCML｜tool_calls", "｜GCML｜"),
    _invoked("muse", "atem:function_calls", "atem:"),
    _marked("mistral", r"\[TOOL_CALLS\]"),
    _headed(
        "mistral-args",
        rf"\[TOOL_CALLS\]\s*{_NAME}\s*(?:\[CALL_ID\]\w*\s*)?(?:\[ARGS\])?",
    ),
    _marked("llama", r"<\|python_tag\|>"),
    Row("llama4", r"<\|python_start\|>", python("<|python_end|>"), [r"<\|python_end\|>"]),
    Row("lfm2", r"<\|tool_call_start\|>", python("<|tool_call_end|>"), [r"<\|tool_call_end\|>"]),
    _marked("internlm", r"<\|action_start\|>\s?<\|plugin\|>", "<|action_end|>"),
    Row("seed", rf"<seed:tool_call>\s*{_FUNCTION}", _FUNCTION_TAGS, ["</seed:tool_call>"]),
    _marked("cohere", r"<\|START_ACTION\|>", "<|END_ACTION|>"),
    _headed(
        "harmony",
        r"(?:<\|start\|>assistant(?:<\|channel\|>(?:commentary|analysis))?"
        r"|<\|channel\|>(?:commentary|analysis)) ?to=(?:functions\.)?"
        rf"{_NAME}\s*(?:<\|channel\|>\s*\w+\s*)?(?:<\|constrain\|>)?\s*(?:json|code)?\s*"
        r"<\|message\|>",
        r"<\|call\|>",
    ),
    Row(
        "gemma",
        rf"<\|tool_call>\s*call:{_NAME}(?=\{{)",
        gemma('<|"|>', "<tool_call|>"),
        [r"<tool_call\|>"],
    ),
    Row("gemma", r"<\|tool_call>\s*call:(?=[\w.-]+\()", python("<tool_call|>"), [r"<tool_call\|>"]),
    Row(
        "function-gemma",
        rf"<start_function_call>\s*call:{_NAME}(?=\{{)",
        gemma("<escape>", "<end_function_call>"),
        ["<end_function_call>"],
    ),
    _marked("apertus", r"<\|tools_prefix\|>", "<|tools_suffix|>", key=True),
    _marked(
        "ifm",
        r"(?:<ifm\|tool_calls>\s*)?<ifm\|tool_call>",
        "</ifm|tool_call>",
        r"</ifm\|tool_calls>",
    ),
    _paired(
        "ifm-args",
        r"<ifm\|tool_call>",
        r"</ifm\|tool_call>",
        (r"<ifm\|tool_calls>", r"</ifm\|tool_calls>"),
        _IFM,
    ),
    Row(
        "step3",
        r"(?:<｜tool_calls_begin｜>\s*)?<｜tool_call_begin｜>\s*(?:function<｜tool_sep｜>)?"
        r'<steptml:invoke name="(?P<name>[^"]+)">',
        tags(
            r'<steptml:parameter name="(?P<key>[^"]+)">(?P<value>.*?)</steptml:parameter>',
            "</steptml:invoke>",
            padded=False,
        ),
        ["<｜tool_call_end｜>", "<｜tool_calls_end｜>"],
    ),
    Row(
        "minicpm",
        r'<function name="(?P<name>[^"]+)">',
        tags(
            r'<param name="(?P<key>[^"]+)"><!\[CDATA\[(?P<value>.*?)\]\]></param>',
            "</function>",
            padded=False,
        ),
    ),
    Row(
        "bullet",
        rf"● {_FUNCTION}(?=\s*<parameter=|</function>)",
        tags(_PARAMETER, "(?:</function>)?", padded=False),
    ),
    _marked("granite", r"<\|tool_call\|>", "<|/tool_call|>"),
    _marked("nemotron", "<TOOLCALL>", "</TOOLCALL>"),
    _marked("longcat", "<longcat_tool_call>", "</longcat_tool_call>"),
    _paired("longcat-tags", "<longcat_tool_call>", "</longcat_tool_call>", marks=_LONGCAT),
    _marked("gigachat", r"<\|function_call\|>"),
    _marked("dots", "<dots_function_call>", "</dots_function_call>"),
    _headed(
        "plamo",
        rf"(?:{_PLAMO.format('begin', 'requests')}\s*)?{_PLAMO.format('begin', 'request')}\s*"
        rf"{_PLAMO.format('begin', 'name')}(?P<name>[^<]+){_PLAMO.format('end', 'name')}\s*"
        rf"{_PLAMO.format('begin', 'arguments')}",
        *(_PLAMO.format("end", each) for each in ("arguments", "request", "requests")),
    ),
    _marked("inkling", r"<\|content_invoke_tool_json\|>", "<|end_message|>"),
    _paired("solar", r"<\|tool_call:start\|>", r"<\|tool_call:end\|>", ("", ""), _SOLAR),
    _headed(
        "functionary",
        rf"(?:<\|from\|>assistant\n)?<\|recipient\|>\s*{_NAME}\s*<\|content\|>",
        r"<\|stop\|>",
    ),
    _marked("pangu", r"\[unused11\]", "[unused12]"),
    _marked("granite-20b", "<function_call>", "</function_call>"),
    _marked(
        "hyperclova",
        r"(?:<\|im_end\|>\n)?<\|im_start\|>assistant -> tool/function_call\n",
        "<|im_end|>",
    ),
)
WHOLE = (
    Row("hyperclova", rf"\A\s*-> tool/function_call\n{JSON_NEXT}", objects(), [r"<\|im_end\|>"]),
    Row(
        "harmony",
        r"\A\s*(?=(?:assistantcommentary |assistant |commentary )?to=functions\.)",
        one_by_one(
            r"\s*(?:assistantcommentary |assistant |commentary )?to=functions\."
            rf"{_NAME}\s*(?:<\|channel\|>\s*\w+\s*)?(?:<\|constrain\|>)?\s*(?:json|code)?\s*"
            r"(?:<\|message\|>)?\s*(?=\{)"
        ),
        [r"<\|call\|>"],
    ),
    Row("gemma", r"\A\s*(?=call:)", gemma_calls('<|"|>')),
    Row("functools", rf"\A\s*functools{JSON_NEXT}", objects()),
    Row("rwkv", rf"\A\s*\*\*Tool Call:\*\*\s*```json{JSON_NEXT}", objects(), ["```"]),
    Row("fenced", rf"\A\s*```(?:json|tool_call)?{JSON_NEXT}", objects(), ["```"]),
    Row("fenced", r"\A\s*```tool_code", python("```"), ["```"]),
    Row(
        "tool-code",
        r"\A\s*tool_code ?= ?(?=\w)",
        python("print(tool_code)"),
        [r"print\(tool_code\)"],
    ),
    Row("json", rf"\A{JSON_NEXT}", objects()),
    Row("python", r"\A\s*(?=\[\s*[A-Za-z_])", python("")),
)
"""The ways that count only as the whole reply."""
FORMS = frozenset(row.form for row in (*ROWS, *WHOLE))
