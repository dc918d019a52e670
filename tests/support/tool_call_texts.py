"""Every form of tool call text, written for a test: what models write, by the name of the form."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

type Arguments = Mapping[str, Any]
type Calls = Sequence[tuple[str, Arguments]]

TOOLS: dict[str, dict[str, Any]] = {
    "get_weather": {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer"},
            "metric": {"type": "boolean"},
        },
        "required": ["city"],
    },
    "write_file": {
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "content": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "meta": {"type": "object"},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
    },
    "now": {},
}


def dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def bare(value: object) -> str:
    """A value as tag forms have it: a string as it is, all else as JSON."""
    return value if isinstance(value, str) else dumps(value)


def _json(name: str, arguments: Arguments, key: str = "arguments") -> str:
    return dumps({"name": name, key: arguments})


def _each(write: Callable[[str, Arguments], str], between: str = "\n") -> Callable[[Calls], str]:
    return lambda calls: between.join(write(*call) for call in calls)


def _around(
    before: str, behind: str, write: Callable[[str, Arguments], str], between: str = ""
) -> Callable[[Calls], str]:
    return lambda calls: before + between.join(write(*call) for call in calls) + behind


def _function(name: str, arguments: Arguments) -> str:
    pairs = "".join(
        f"<parameter={key}>\n{bare(value)}\n</parameter>\n" for key, value in arguments.items()
    )
    return f"<function={name}>\n{pairs}</function>"


def _invoke(prefix: str = "", padding: str = "") -> Callable[[str, Arguments], str]:
    def write(name: str, arguments: Arguments) -> str:
        pairs = "".join(
            f'<{prefix}parameter name="{key}">{padding}{bare(value)}{padding}</{prefix}parameter>\n'
            for key, value in arguments.items()
        )
        return f'<{prefix}invoke name="{name}">\n{pairs}</{prefix}invoke>\n'

    return write


def _dsml(name: str, arguments: Arguments) -> str:
    pairs = "".join(
        f'<｜DSML｜parameter name="{key}" string="{dumps(isinstance(value, str))}">'
        f"{bare(value)}</｜DSML｜parameter>\n"
        for key, value in arguments.items()
    )
    return f'<｜DSML｜invoke name="{name}">\n{pairs}</｜DSML｜invoke>\n'


def _pairs(
    prefix: str = "", kind: bool = False, tag: str = "tool_call"
) -> Callable[[str, Arguments], str]:
    def write(name: str, arguments: Arguments) -> str:
        type_of = f"<{prefix}arg_type>any</{prefix}arg_type>\n" if kind else ""
        pairs = "".join(
            f"<{prefix}arg_key>{key}</{prefix}arg_key>\n{type_of}"
            f"<{prefix}arg_value>{bare(value)}</{prefix}arg_value>\n"
            for key, value in arguments.items()
        )
        return f"<{prefix}{tag}>{name}\n{pairs}</{prefix}{tag}>"

    return write


def _hunyuan(name: str, arguments: Arguments) -> str:
    pairs = "".join(
        f"<arg_key:opensource>{key}</arg_key:opensource>\n"
        f"<arg_value:opensource>{bare(value)}</arg_value:opensource>\n"
        for key, value in arguments.items()
    )
    opened = f"<tool_call:opensource>{name}<tool_sep:opensource>\n"
    return f"{opened}{pairs}</tool_call:opensource>"


def _kimi_k3(name: str, arguments: Arguments) -> str:
    pairs = "".join(
        f'<|open|>argument key="{key}" type="{"string" if isinstance(value, str) else "any"}"'
        f"<|sep|>{bare(value)}<|close|>argument<|sep|>"
        for key, value in arguments.items()
    )
    return f'<|open|>call tool="{name}" index="1"<|sep|>{pairs}<|close|>call<|sep|>'


def _element(key: str, item: object) -> str:
    mark = "]<]minimax[>["
    match item:
        case Mapping():
            inner = "".join(_element(name, value) for name, value in item.items())
        case list():
            inner = "".join(_element("item", value) for value in item)
        case _:
            inner = bare(item)
    return f"{mark}<{key}>{inner}{mark}</{key}>"


def _minimax_m3(name: str, arguments: Arguments) -> str:
    pairs = "".join(_element(key, value) for key, value in arguments.items())
    return f']<]minimax[>[<invoke name="{name}">{pairs}]<]minimax[>[</invoke>\n'


def _minicpm(name: str, arguments: Arguments) -> str:
    pairs = "".join(
        f'<param name="{key}"><![CDATA[{bare(value)}]]></param>' for key, value in arguments.items()
    )
    return f'<function name="{name}">{pairs}</function>'


def _minicpm_parameters(name: str, arguments: Arguments) -> str:
    pairs = "".join(
        f'<parameter name="{key}">{bare(value)}</parameter>' for key, value in arguments.items()
    )
    return f'<function name="{name}">{pairs}</function>'


def _bullet(name: str, arguments: Arguments) -> str:
    pairs = "".join(
        f"<parameter={key}>{bare(value)}</parameter>" for key, value in arguments.items()
    )
    return f"● <function={name}>{pairs}"


def _python(name: str, arguments: Arguments) -> str:
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"


def _gemma(quote: str) -> Callable[[str, Arguments], str]:
    def value(item: object) -> str:
        match item:
            case str():
                return f"{quote}{item}{quote}"
            case Mapping():
                return "{" + ",".join(f"{key}:{value(inner)}" for key, inner in item.items()) + "}"
            case list():
                return "[" + ",".join(map(value, item)) + "]"
            case _:
                return dumps(item)

    return lambda name, arguments: f"call:{name}{value(arguments)}"


def _marked(before: str, behind: str, write: Callable[[str, Arguments], str]) -> Any:
    return lambda name, arguments: before + write(name, arguments) + behind


def _as_string(name: str, arguments: Arguments) -> str:
    return dumps({"name": name, "arguments": dumps(arguments)})


def _id_first(name: str, arguments: Arguments) -> str:
    return dumps(
        {"type": "function", "id": "x1", "function": {"name": name, "arguments": arguments}}
    )


def _cohere(name: str, arguments: Arguments) -> str:
    return dumps({"tool_call_id": "0", "tool_name": name, "parameters": arguments})


def _list(write: Callable[[str, Arguments], str]) -> Callable[[Calls], str]:
    return lambda calls: "[" + ", ".join(write(*call) for call in calls) + "]"


def _deepseek(name: str, arguments: Arguments) -> str:
    return f"<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{dumps(arguments)}<｜tool▁call▁end｜>"


def _deepseek_r1(name: str, arguments: Arguments) -> str:
    return (
        f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n{dumps(arguments)}\n```"
        "<｜tool▁call▁end｜>"
    )


def _kimi(name: str, arguments: Arguments) -> str:
    return (
        f"<|tool_call_begin|>functions.{name}:0<|tool_call_argument_begin|>{dumps(arguments)}"
        "<|tool_call_end|>"
    )


def _harmony(header: str, constrain: str) -> Callable[[str, Arguments], str]:
    return lambda name, arguments: (
        f"{header}functions.{name}{constrain}<|message|>{dumps(arguments)}<|call|>"
    )


def _mistral_args(name: str, arguments: Arguments) -> str:
    return f"[TOOL_CALLS]{name}[ARGS]{dumps(arguments)}"


def _step3(name: str, arguments: Arguments) -> str:
    inner = _invoke("steptml:")(name, arguments).rstrip("\n")
    return f"<｜tool_call_begin｜>function<｜tool_sep｜>{inner}<｜tool_call_end｜>"


def _plamo(name: str, arguments: Arguments) -> str:
    return (
        "<|plamo:begin_tool_request:plamo|>"
        f"<|plamo:begin_tool_name:plamo|>{name}<|plamo:end_tool_name:plamo|>"
        f"<|plamo:begin_tool_arguments:plamo|>{dumps(arguments)}<|plamo:end_tool_arguments:plamo|>"
        "<|plamo:end_tool_request:plamo|>"
    )


def _solar(name: str, arguments: Arguments) -> str:
    pairs = "".join(
        f"<|tool_arg:start|>{key}<|tool_arg:value|>{bare(value)}<|tool_arg:end|>\n"
        for key, value in arguments.items()
    )
    return f"<|tool_call:start|>{name}\n{pairs}<|tool_call:end|>"


_hermes = _marked("<tool_call>\n", "\n</tool_call>", _json)
_coder = _marked("<tool_call>\n", "\n</tool_call>", _function)


@dataclass(frozen=True)
class Written:
    """A writer of calls in one variant of a form. `form`: its row; `whole`: the text must be all of
    a reply; `bare`: calls may lack arguments.
    """

    form: str
    write: Callable[[Calls], str]
    whole: bool = False
    bare: bool = True


WRITTEN: dict[str, Written] = {
    "hermes": Written("hermes", _each(_hermes)),
    "hermes, arguments as a string": Written(
        "hermes", _each(_marked("<tool_call>", "</tool_call>", _as_string))
    ),
    "hermes, as chat completions have it": Written(
        "hermes", _each(_marked("<tool_call>", "</tool_call>", _id_first))
    ),
    "hermes, a list": Written(
        "hermes", lambda calls: f"<tool_call>{_list(_json)(calls)}</tool_call>"
    ),
    "hermes, all in one": Written(
        "hermes", _around("<tool_call>\n", "\n</tool_call>", _json, "\n")
    ),
    "hermes, in a section": Written(
        "hermes", _around("<tool_calls>\n", "\n</tool_calls>", _hermes, "\n")
    ),
    "hermes, arguments first": Written(
        "hermes",
        _each(
            lambda name, arguments: (
                f"<tool_call>{dumps({'arguments': arguments, 'name': name})}</tool_call>"
            )
        ),
    ),
    "hermes, without the last brace": Written(
        "hermes",
        _each(lambda name, arguments: f"<tool_call>{_json(name, arguments)[:-1]}</tool_call>"),
    ),
    "hermes, a brace too many": Written(
        "hermes",
        _each(lambda name, arguments: f"<tool_call>{_json(name, arguments)}}}</tool_call>"),
    ),
    "qwen3-coder": Written("qwen3-coder", _each(_coder)),
    "qwen3-coder, bare": Written("qwen3-coder", _each(_function)),
    "qwen3-coder, opener left out": Written(
        "qwen3-coder", _each(_marked("", "\n</tool_call>", _function))
    ),
    "llama 3.1": Written(
        "qwen3-coder",
        _each(lambda name, arguments: f"<function={name}>{dumps(arguments)}</function>"),
    ),
    "glm": Written("glm", _each(_pairs())),
    "hunyuan v3": Written(
        "glm",
        lambda calls: (
            "<tool_calls>\n"
            + _each(
                lambda name, arguments: _pairs()(name, arguments).replace(
                    f"{name}\n", f"{name}<tool_sep>", 1
                )
            )(calls)
            + "\n</tool_calls>"
        ),
    ),
    "hunyuan v3, with JSON": Written(
        "glm",
        _each(
            lambda name, arguments: (
                f"<tool_call>{name}<tool_sep>{dumps(arguments)}<end_of_tool_call>"
            )
        ),
    ),
    "step-audio": Written(
        "step-audio",
        _each(
            lambda name, arguments: f"<tool_call>function\n{name}\n{dumps(arguments)}</tool_call>"
        ),
    ),
    "hunyuan": Written(
        "hunyuan",
        _around("<tool_calls:opensource>\n", "\n</tool_calls:opensource>", _hunyuan, "\n"),
    ),
    "iquest": Written("iquest", _each(_pairs("", tag="iquest_tool_call"))),
    "tool-calls": Written(
        "tool-calls", lambda calls: f"<tool_calls>{_list(_json)(calls)}</tool_calls>"
    ),
    "tool-calls, a line each": Written(
        "tool-calls", _around("<tool_calls>\n", "\n</tool_calls>", _json, "\n")
    ),
    "minimax": Written(
        "minimax", _around("<minimax:tool_call>\n", "</minimax:tool_call>", _invoke())
    ),
    "minimax-m3": Written(
        "minimax-m3",
        _around("]<]minimax[>[<tool_call>\n", "]<]minimax[>[</tool_call>", _minimax_m3),
    ),
    "invoke": Written(
        "invoke", _around("<function_calls>\n", "</function_calls>", _invoke(padding="\n"))
    ),
    "invoke, bare": Written("minimax", _each(_invoke(), "")),
    "olmo": Written("olmo", _around("<function_calls>\n", "\n</function_calls>", _python, "\n")),
    "kimi": Written(
        "kimi", _around("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", _kimi)
    ),
    "kimi, the first opener left out": Written(
        "kimi",
        lambda calls: (
            "<|tool_calls_section_begin|>"
            + _each(_kimi, "")(calls).removeprefix("<|tool_call_begin|>")
            + "<|tool_calls_section_end|>"
        ),
    ),
    "kimi, without its section": Written("kimi", _each(_kimi, "")),
    "kimi-k3": Written(
        "kimi-k3", _around("<|open|>tools<|sep|>", "<|close|>tools<|sep|>", _kimi_k3)
    ),
    "deepseek, openers left out": Written(
        "deepseek",
        lambda calls: (
            "<｜tool▁calls▁begin｜>"
            + _each(_deepseek_r1)(calls).replace("<｜tool▁call▁begin｜>", "")
            + "<｜tool▁calls▁end｜>"
        ),
    ),
    "deepseek, its first word left out": Written(
        "deepseek",
        lambda calls: (
            "<｜tool▁calls▁begin｜>"
            + _each(_deepseek_r1)(calls).replace("function<｜tool▁sep｜>", "<｜tool▁sep｜>", 1)
            + "<｜tool▁calls▁end｜>"
        ),
    ),
    "deepseek": Written(
        "deepseek", _around("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", _deepseek)
    ),
    "deepseek r1": Written(
        "deepseek", _around("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", _deepseek_r1, "\n")
    ),
    "dsml": Written(
        "dsml", _around("<｜DSML｜function_calls>\n", "</｜DSML｜function_calls>", _dsml)
    ),
    "dsml, other bars": Written(
        "dsml", lambda calls: WRITTEN["dsml"].write(calls).replace("｜", "|")
    ),
    "dsml-tools": Written(
        "dsml-tools", _around("<｜DSML｜tool_calls>\n", "</｜DSML｜tool_calls>", _dsml)
    ),
    "dsml-doubled": Written(
        "dsml-doubled", lambda calls: WRITTEN["dsml-tools"].write(calls).replace("｜", "｜｜")
    ),
    "mistral": Written("mistral", lambda calls: f"[TOOL_CALLS]{_list(_json)(calls)}"),
    "mistral-args": Written("mistral-args", _each(_mistral_args, "")),
    "mistral-args, with an id": Written(
        "mistral-args",
        _each(
            lambda name, arguments: f"[TOOL_CALLS]{name}[CALL_ID]Ab3d5f7h9[ARGS]{dumps(arguments)}",
            "",
        ),
    ),
    "llama": Written(
        "llama",
        lambda calls: (
            "<|python_tag|>"
            + "; ".join(_json(name, arguments, "parameters") for name, arguments in calls)
        ),
    ),
    "llama, by the tool's name": Written(
        "llama",
        _each(
            lambda name, arguments: (
                f"<|python_tag|>{_python(name, arguments).replace('(', '.call(', 1)}"
            )
        ),
    ),
    "llama4": Written(
        "llama4", lambda calls: f"<|python_start|>{_list(_python)(calls)}<|python_end|>"
    ),
    "lfm2": Written(
        "lfm2", lambda calls: f"<|tool_call_start|>{_list(_python)(calls)}<|tool_call_end|>"
    ),
    "lfm2, as JSON": Written(
        "lfm2", lambda calls: f"<|tool_call_start|>{_list(_json)(calls)}<|tool_call_end|>"
    ),
    "lfm2, an object": Written(
        "lfm2", _each(_marked("<|tool_call_start|>", "<|tool_call_end|>", _json))
    ),
    "internlm": Written(
        "internlm",
        _each(
            _marked(
                "<|action_start|><|plugin|>\n",
                "<|action_end|>\n",
                lambda name, arguments: _json(name, arguments, "parameters"),
            ),
            "",
        ),
    ),
    "seed": Written("seed", _each(_marked("<seed:tool_call>\n", "\n</seed:tool_call>", _function))),
    "cohere": Written(
        "cohere", lambda calls: f"<|START_ACTION|>{_list(_cohere)(calls)}<|END_ACTION|>"
    ),
    "harmony": Written(
        "harmony", _each(_harmony("<|channel|>commentary to=", " <|constrain|>json"), "")
    ),
    "harmony, on the analysis channel": Written(
        "harmony", _each(_harmony("<|start|>assistant<|channel|>commentary to=", ""), "")
    ),
    "harmony, recipient first": Written(
        "harmony", _each(_harmony("<|start|>assistant to=", "<|channel|>commentary json"), "")
    ),
    "gemma": Written("gemma", _each(_marked("<|tool_call>", "<tool_call|>", _gemma('<|"|>')), "")),
    "function-gemma": Written(
        "function-gemma",
        _each(_marked("<start_function_call>", "<end_function_call>", _gemma("<escape>")), ""),
    ),
    "apertus": Written(
        "apertus",
        lambda calls: (
            f"<|tools_prefix|>{dumps([{name: arguments} for name, arguments in calls])}"
            "<|tools_suffix|>"
        ),
    ),
    "ifm": Written(
        "ifm",
        _around(
            "<ifm|tool_calls>\n",
            "\n</ifm|tool_calls>",
            _marked("<ifm|tool_call>", "</ifm|tool_call>", _json),
            "\n",
        ),
    ),
    "ifm-args": Written(
        "ifm-args",
        _around("<ifm|tool_calls>\n", "\n</ifm|tool_calls>", _pairs("ifm|", kind=True), "\n"),
    ),
    "step3": Written("step3", _around("<｜tool_calls_begin｜>", "<｜tool_calls_end｜>", _step3)),
    "muse": Written(
        "muse", _around("<atem:function_calls>\n", "</atem:function_calls>", _invoke("atem:"))
    ),
    "minicpm": Written("minicpm", _each(_minicpm)),
    "minicpm, with other tags": Written("minicpm", _each(_minicpm_parameters)),
    "bullet": Written("bullet", _each(_bullet), bare=False),
    "granite": Written(
        "granite", lambda calls: f"<|tool_call|>{_list(_json)(calls)}<|/tool_call|>"
    ),
    "nemotron": Written("nemotron", lambda calls: f"<TOOLCALL>{_list(_json)(calls)}</TOOLCALL>"),
    "longcat": Written(
        "longcat", _each(_marked("<longcat_tool_call>\n", "\n</longcat_tool_call>", _json))
    ),
    "longcat-tags": Written("longcat-tags", _each(_pairs("longcat_"))),
    "gigachat": Written("gigachat", _each(_marked("<|function_call|>", "", _json))),
    "gigachat, with its header": Written(
        "gigachat", _each(_marked("<|message_sep|>\n\nfunction call<|role_sep|>\n", "", _json), "")
    ),
    "gigachat, header begun": Written(
        "gigachat", lambda calls: f"function call<|role_sep|>\n{_list(_json)(calls)}", whole=True
    ),
    "dsml-calls, without its section": Written(
        "dsml-calls", _each(lambda *call: _dsml(*call).replace("｜DSML｜", "｜DSML｜ "), "")
    ),
    "dsml-calls": Written(
        "dsml-calls",
        _around(
            "<｜DSML｜ calls>\n",
            "</｜DSML｜ calls>",
            lambda *call: _dsml(*call).replace("｜DSML｜", "｜DSML｜ "),
        ),
    ),
    "gcml": Written(
        "gcml",
        _around(
            "<｜GCML｜tool_calls>\n",
            "</｜GCML｜tool_calls>",
            lambda *call: _dsml(*call).replace("｜DSML｜", "｜GCML｜"),
        ),
    ),
    "dots": Written("dots", _around("<dots_function_call>\n", "</dots_function_call>", _invoke())),
    "dots, as JSON": Written(
        "dots", _each(_marked("<dots_function_call>\n", "\n</dots_function_call>", _json))
    ),
    "plamo": Written(
        "plamo",
        _around("<|plamo:begin_tool_requests:plamo|>", "<|plamo:end_tool_requests:plamo|>", _plamo),
    ),
    "inkling": Written(
        "inkling",
        _each(
            lambda name, arguments: (
                f"<|content_invoke_tool_json|>{_json(name, arguments, 'args')}<|end_message|>"
            ),
            "",
        ),
    ),
    "solar": Written("solar", _each(_solar)),
    "pangu": Written("pangu", lambda calls: f"[unused11]{_list(_json)(calls)}[unused12]"),
    "granite-20b": Written("granite-20b", _each(_marked("<function_call> ", "", _json), " ")),
    "hyperclova": Written(
        "hyperclova",
        lambda calls: (
            "<|im_end|>\n<|im_start|>assistant -> tool/function_call\n"
            f"{_list(_json)(calls)}<|im_end|>"
        ),
    ),
    "hyperclova, header begun": Written(
        "hyperclova", lambda calls: f" -> tool/function_call\n{_list(_json)(calls)}", whole=True
    ),
    "harmony, without special tokens": Written(
        "harmony",
        _each(
            lambda name, arguments: f" to=functions.{name} json{dumps(arguments)}",
            "\nassistantcommentary",
        ),
        whole=True,
    ),
    "harmony, without its first token": Written(
        "harmony",
        lambda calls: (
            "\nassistant".join(
                f" to=functions.{name}<|channel|>commentary json<|message|>{dumps(arguments)}"
                for name, arguments in calls
            )
            + "<|call|>"
        ),
        whole=True,
    ),
    "gemma, without its marks": Written("gemma", _each(_gemma('<|"|>')), whole=True),
    "functools": Written("functools", lambda calls: f"functools{_list(_json)(calls)}", whole=True),
    "rwkv": Written("rwkv", _around("**Tool Call:**\n```json\n", "\n```", _json, "\n"), whole=True),
    "fenced": Written("fenced", lambda calls: f"```json\n{_list(_json)(calls)}\n```", whole=True),
    "fenced, one a line": Written("fenced", _around("```\n", "\n```", _json, "\n"), whole=True),
    "fenced, Python": Written(
        "fenced", _around("```tool_code\n", "\n```", _python, "\n"), whole=True
    ),
    "functionary": Written(
        "functionary",
        _around(
            "",
            "<|stop|>",
            lambda name, arguments: (
                f"<|from|>assistant\n<|recipient|>{name}\n<|content|>{dumps(arguments)}"
            ),
        ),
    ),
    "tool-code": Written(
        "tool-code", _around("tool_code = ", "\nprint(tool_code)", _python, "\n"), whole=True
    ),
    "python": Written("python", _list(_python), whole=True),
    "json": Written("json", _each(_json, "; "), whole=True),
    "json, parameters": Written(
        "json",
        _each(
            lambda name, arguments: dumps(
                {"type": "function", "name": name, "parameters": arguments}
            )
        ),
        whole=True,
    ),
}
