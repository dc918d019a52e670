"""The kinds of call text with their marks filled in, one for each way of writing."""

from converter.core.reading.tool_calls.json_body import Header, Json
from converter.core.reading.tool_calls.tag_body import Elements, Pairs, Tags


def _invoke(prefix: str, *, padded: bool = False, before: str = "") -> Tags:
    """Return the form that Claude's had first, `<invoke name="f"><parameter name="city">Oslo</...`,
    with a prefix to its tags. `before`: marks that may stand before a call.
    """
    head = f"<{prefix}invoke name="
    return Tags(
        heads=(before + head, head) if before else (head,),
        end=(f"</{prefix}invoke>",),
        parameters=(f"<{prefix}parameter name=",),
        ends=(f"</{prefix}parameter>",),
        padded=padded,
    )


MINIMAX_MARK = "]<]minimax[>["
JSON = Json()
STRICT = Json(strict=True)
FUNCTION = Tags(
    heads=("<function=",),
    end=("</function>",),
    parameters=("<parameter=", "<parameter name="),
    ends=("</parameter>",),
)
INVOKE = _invoke("", padded=True)
PAIRS = Pairs(
    ("<arg_key>", "</arg_key>"),
    ("<arg_value>", "</arg_value>"),
    separator="<tool_sep>",
    reads_unknown=True,
)
LONGCAT_PAIRS = Pairs(
    ("<longcat_arg_key>", "</longcat_arg_key>"), ("<longcat_arg_value>", "</longcat_arg_value>")
)
DSML = _invoke("｜DSML｜")
DSML_SPACED = _invoke("｜DSML｜ ")
DSML_DOUBLED = _invoke("｜｜DSML｜｜")
GCML = _invoke("｜GCML｜")
HUNYUAN_PAIRS = Pairs(
    ("<arg_key:opensource>", "</arg_key:opensource>"),
    ("<arg_value:opensource>", "</arg_value:opensource>"),
    separator="<tool_sep:opensource>",
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
STEP_AUDIO = Header(r"(?P<name>[\w.-]+)[ \t]*+\n\s*+", heads=("function\n",))
KIMI = Header(
    r"\s*+(?P<name>[\w.:-]+)\s*+<\|tool_call_argument_begin\|>\s*+",
    own_id=r"functions\.[\w.-]+:\d+",
)
HARMONY_WORDS = Header(
    r"\s*+(?P<name>[\w.-]+?)\s*+(?:<\|channel\|>\s*+\w+\s*+)?(?:<\|constrain\|>)?\s*+"
    r"(?:json|code)?\s*+(?:<\|message\|>\s*+)?",
    heads=tuple(
        f"{word}to=functions." for word in ("", "commentary ", "assistantcommentary ", "assistant ")
    ),
)
KIMI_K3 = Tags(
    heads=("<|open|>call ",),
    end=("<|close|>call<|sep|>",),
    parameters=("<|open|>argument ",),
    ends=("<|close|>argument<|sep|>",),
    tag_end="<|sep|>",
    padded=False,
)
DEEPSEEK = Header(
    r"\s*+(?:<｜tool▁sep｜>)?\s*+(?P<name>[\w.:-]+)\s*+"
    r"(?:<｜tool▁sep｜>)?\s*+(?:```json)?\s*+",
    tail="```",
    heads=("function<｜tool▁sep｜>", ""),
)
FUNCTIONARY = Header(r"\s*+(?P<name>[\w.-]+)\s*+<\|content\|>\s*+", user="all\n<|content|>")
MISTRAL_ARGS = Header(r"\s*+(?P<name>[\w.-]+)\s*+(?:\[CALL_ID\]\w*\s*+)?(?:\[ARGS\]\s*+)?")
IFM_PAIRS = Pairs(
    ("<ifm|arg_key>", "</ifm|arg_key>"),
    ("<ifm|arg_value>", "</ifm|arg_value>"),
    ("<ifm|arg_type>", "</ifm|arg_type>"),
)
STEP3 = _invoke("steptml:", before="function<｜tool_sep｜>")
MUSE = _invoke("atem:")
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
