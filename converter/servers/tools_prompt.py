"""Telling a model of tools in words, for servers and chat templates that know of none.

The tools go to the end of the system turn, earlier calls into the text of the turns that made them,
and their results into user turns: a chat completion without tools, whose reply may hold calls as
text. All is written as the model's family writes it, where its name tells the family, or else as
Hermes does, which most models have been trained on.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

type Message = Mapping[str, object]

_TOLD = """# Tools

You can use these tools:
<tools>
{tools}
</tools>

To use one, write
{example}{choice}"""
_CHOICES = {
    "required": "\n\nUse at least one of them now.",
    "one": "\n\nUse one at a time.",
    "named": "\n\nUse the tool {name} now.",
}
_EXAMPLE = ("the tool", {"parameter": "value"})
_REQUEST_FIELDS = ("tools", "tool_choice", "parallel_tool_calls")


@dataclass(frozen=True, slots=True)
class Family:
    """A family of models that write calls alike. `pattern`: a regular expression that finds their
    names; `call` writes one call; `result`: the marks around a tool's result.
    """

    name: str
    pattern: str
    call: Callable[[str, Mapping[str, object]], str]
    result: tuple[str, str] = ("<tool_response>\n", "\n</tool_response>")


def _dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _bare(value: object) -> str:
    return value if isinstance(value, str) else _dumps(value)


def _hermes(name: str, arguments: Mapping[str, object]) -> str:
    return f"<tool_call>\n{_dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


def _function(name: str, arguments: Mapping[str, object]) -> str:
    parameters = "".join(
        f"<parameter={key}>\n{_bare(value)}\n</parameter>\n" for key, value in arguments.items()
    )
    return f"<tool_call>\n<function={name}>\n{parameters}</function>\n</tool_call>"


def _pairs(name: str, arguments: Mapping[str, object]) -> str:
    pairs = "".join(
        f"<arg_key>{key}</arg_key>\n<arg_value>{_bare(value)}</arg_value>\n"
        for key, value in arguments.items()
    )
    return f"<tool_call>{name}\n{pairs}</tool_call>"


def _invoke(name: str, arguments: Mapping[str, object]) -> str:
    parameters = "".join(
        f'<parameter name="{key}">{_bare(value)}</parameter>\n' for key, value in arguments.items()
    )
    call = f'<invoke name="{name}">\n{parameters}</invoke>'
    return f"<minimax:tool_call>\n{call}\n</minimax:tool_call>"


HERMES = Family("hermes", "", _hermes)
FAMILIES = (
    Family("qwen3-coder", r"qwen3?-?coder|qwen-?3\.[5-9]|nemotron-?3|step-?3\.5", _function),
    Family("glm", r"glm-?[45]", _pairs),
    Family("minimax", r"minimax-?m2", _invoke),
)


def family_of(model: str) -> Family:
    """Return the family that the name of a model tells, else Hermes."""
    rows = (row for row in FAMILIES if re.search(row.pattern, model, re.IGNORECASE))
    return next(rows, HERMES)


def add(body: Mapping[str, object]) -> dict[str, object] | None:
    """Return the request with its tools told in words; None when it offers none."""
    messages, tools = body.get("messages"), body.get("tools")
    if not isinstance(messages, list) or not isinstance(tools, list) or not tools:
        return None
    family = family_of(str(body.get("model") or ""))
    written = _merged(_written(messages, family))
    if body.get("tool_choice") != "none":
        written = _in_system(written, _words(body, tools, family))
    rest = {name: value for name, value in body.items() if name not in _REQUEST_FIELDS}
    return {**rest, "messages": written}


def _words(body: Mapping[str, object], tools: Sequence[object], family: Family) -> str:
    lines = "\n".join(map(_dumps, tools))
    return _TOLD.format(tools=lines, example=family.call(*_EXAMPLE), choice=_choice(body))


def _choice(body: Mapping[str, object]) -> str:
    match body.get("tool_choice"):
        case {"function": {"name": str(name)}}:
            return _CHOICES["named"].format(name=name)
        case "required":
            return _CHOICES["required"]
        case _:
            return _CHOICES["one"] if body.get("parallel_tool_calls") is False else ""


def _in_system(messages: Sequence[Message], words: str) -> list[Message]:
    first = messages[0] if messages else {}
    if first.get("role") not in ("system", "developer"):
        return [{"role": "system", "content": words}, *messages]
    system = _text(first.get("content"))
    return [{**first, "content": f"{system}\n\n{words}" if system else words}, *messages[1:]]


def _written(messages: Iterable[object], family: Family) -> Iterable[Message]:
    before, behind = family.result
    for message in messages:
        if not isinstance(message, Mapping):
            continue  # the server would refuse it
        calls = message.get("tool_calls")
        if message.get("role") == "tool":
            yield {"role": "user", "content": before + _text(message.get("content")) + behind}
        elif isinstance(calls, list):
            yield _with_calls(message, calls, family)
        else:
            yield message


def _with_calls(message: Message, calls: Sequence[object], family: Family) -> Message:
    pieces = [_text(message.get("content"))]
    for call in calls:
        match call:
            case {"function": {"name": str(name), **told}}:
                pieces.append(family.call(name, _arguments(told.get("arguments"))))
            case _:
                continue
    rest = {name: value for name, value in message.items() if name != "tool_calls"}
    return {**rest, "content": "\n".join(filter(None, pieces))}


def _arguments(written: object) -> Mapping[str, object]:
    if isinstance(written, str) and written.strip():
        try:
            written = json.loads(written)
        except (ValueError, RecursionError):
            return {"arguments": written}
    return written if isinstance(written, Mapping) else {}


def _text(content: object) -> str:
    """Return the words of a message."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, Mapping)]
    return "\n\n".join(text for text in texts if isinstance(text, str))


def _merged(messages: Iterable[Message]) -> list[Message]:
    """Join neighbouring user turns, because templates want turns to alternate."""
    out: list[Message] = []
    for message in messages:
        last = out[-1] if out else {}
        content, before = message.get("content"), last.get("content")
        both = message.get("role") == last.get("role") == "user"
        if both and isinstance(content, str) and isinstance(before, str):
            out[-1] = {**last, "content": f"{before}\n{content}"}
        else:
            out.append(message)
    return out
