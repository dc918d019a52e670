"""The kinds of call text with their marks filled in, one for each way of writing."""

from converter.parsing.tool_calls.element_body import Elements
from converter.parsing.tool_calls.header_body import Header
from converter.parsing.tool_calls.json_body import Json
from converter.parsing.tool_calls.tag_body import Pairs, Tags

MINIMAX_MARK = "]<]minimax[>["
JSON = Json()
STRICT = Json(strict=True)
FUNCTION = Tags(
    heads=("<function=",),
    end=("</function>",),
    parameters=("<parameter=", "<parameter name="),
    ends=("</parameter>",),
)
INVOKE = Tags(
    heads=("<invoke name=",),
    end=("</invoke>",),
    parameters=("<parameter name=",),
    ends=("</parameter>",),
)
PAIRS = Pairs(("<arg_key>", "</arg_key>"), ("<arg_value>", "</arg_value>"), separator="<tool_sep>")
DSML = Tags(
    heads=("<｜DSML｜invoke name=",),
    end=("</｜DSML｜invoke>",),
    parameters=("<｜DSML｜parameter name=",),
    ends=("</｜DSML｜parameter>",),
    padded=False,
)
DSML_SPACED = Tags(
    heads=("<｜DSML｜ invoke name=",),
    end=("</｜DSML｜ invoke>",),
    parameters=("<｜DSML｜ parameter name=",),
    ends=("</｜DSML｜ parameter>",),
    padded=False,
)
GCML = Tags(
    heads=("<｜GCML｜invoke name=",),
    end=("</｜GCML｜invoke>",),
    parameters=("<｜GCML｜parameter name=",),
    ends=("</｜GCML｜parameter>",),
    padded=False,
)
SOLAR_PAIRS = Pairs(("<|tool_arg:start|>", "<|tool_arg:value|>"), ("", "<|tool_arg:end|>"))
PLAMO = Header(
    r"\s*+<\|plamo:begin_tool_name:plamo\|>(?P<name>[^<]+)<\|plamo:end_tool_name:plamo\|>\s*+"
    r"<\|plamo:begin_tool_arguments:plamo\|>\s*+",
    tail="<|plamo:end_tool_arguments:plamo|>",
)
HARMONY = Header(
    r"\s*+(?:functions\.)?(?P<name>[\w.-]+)\s*+(?:<\|channel\|>\s*+\w+\s*+)?"
    r"(?:(?:<\|constrain\|>)?\s*+(?:json|code)\s*+)?<\|message\|>\s*+"
)
KIMI = Header(r"\s*+(?P<name>[\w.:-]+)\s*+<\|tool_call_argument_begin\|>\s*+")
KIMI_K3 = Tags(
    heads=("<|open|>call ",),
    end=("<|close|>call<|sep|>",),
    parameters=("<|open|>argument ",),
    ends=("<|close|>argument<|sep|>",),
    tag_end="<|sep|>",
    padded=False,
)
DEEPSEEK = Header(
    r"\s*+(?:function<｜tool▁sep｜>)?\s*+(?P<name>[\w.:-]+)\s*+"
    r"(?:<｜tool▁sep｜>)?\s*+(?:```json)?\s*+",
    tail="```",
)
MISTRAL_ARGS = Header(r"\s*+(?P<name>[\w.-]+)\s*+(?:\[CALL_ID\]\w*\s*+)?(?:\[ARGS\]\s*+)?")
IFM_PAIRS = Pairs(
    ("<ifm|arg_key>", "</ifm|arg_key>"),
    ("<ifm|arg_value>", "</ifm|arg_value>"),
    ("<ifm|arg_type>", "</ifm|arg_type>"),
)
STEP3 = Tags(
    heads=("function<｜tool_sep｜><steptml:invoke name=", "<steptml:invoke name="),
    end=("</steptml:invoke>",),
    parameters=("<steptml:parameter name=",),
    ends=("</steptml:parameter>",),
    padded=False,
)
MUSE = Tags(
    heads=("<atem:invoke name=",),
    end=("</atem:invoke>",),
    parameters=("<atem:parameter name=",),
    ends=("</atem:parameter>",),
    padded=False,
)
MINICPM = Tags(
    heads=("<function name=",),
    end=("</function>",),
    parameters=("<param name=",),
    ends=("</param>",),
    padded=False,
    cdata=True,
)
BULLET = Tags(
    heads=("● <function=",),
    end=("</function>",),
    parameters=("<parameter=",),
    ends=("</parameter>",),
    open_ended=True,
)
MINIMAX_M3 = Elements(MINIMAX_MARK)
