"""Texts that the addon adds to a request's messages: an instruction to think (`ask_to_think`), a
description of the tools in place of their field (`describe_tools`), or the beginning of a reply
that the server is to continue (`with_begun_turn`).

- `ask_to_think`: the system turn asks for a thought in tags, for models that do not think by
  themselves.
- `describe_tools`: the messages describe the tools in text, for servers and chat templates without
  tools. The tools go to the end of the system turn, earlier calls into the text of their turns, and
  results into user turns. The request then has no field of tools, and the reply may hold calls as
  text. Calls have the form of the model's row in `CALL_STYLES`, else the form of Hermes
  (`<tool_call>{"name": ...}</tool_call>`), on which most models have been trained.
- `with_begun_turn`: the request ends with an assistant turn that has the reply so far, and the
  server continues this turn. The server's row says how the turn is written (`Server.continues`).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from converter.addon.servers.profiles import Server
from converter.core.dialects.openai_parts import read_arguments
from converter.core.model.events import Text, Thinking
from converter.core.model.raw_messages import (
    SYSTEM,
    content_of,
    content_texts,
    messages_of,
    role_of,
    with_messages,
)
from converter.core.reading.family_choice import for_model
from converter.core.wire.json_text import as_object, objects
from converter.core.wire.long_json import spaced

_TOOL_PROMPT = """# Tools

You can use these tools:
<tools>
{tools}
</tools>

To use one, write
{example}{choice}"""
"""The text that describes tools to the model: `{tools}` is their JSON, `{example}` a call, and
`{choice}` a sentence of `_CHOICES` or nothing.
"""
_CHOICES = {
    "required": "\n\nUse at least one of them now.",
    "one": "\n\nUse one at a time.",
    "named": "\n\nUse the tool {name} now.",
}
"""Demand of the request's `tool_choice` or `parallel_tool_calls` -> the sentence that passes the
demand on to the model.
"""
_EXAMPLE = ("the tool", {"parameter": "value"})
"""Name and arguments of the call that `_TOOL_PROMPT` shows."""
_REQUEST_FIELDS = ("tools", "tool_choice", "parallel_tool_calls")
"""Fields that are left out of a request whose tools are written as text."""


@dataclass(frozen=True, slots=True)
class CallStyle:
    """A group of models that write calls in the same form."""

    name: str
    """The name of the group."""
    pattern: str
    """A regular expression that finds the models' names."""
    form: str
    """The text of a call, a template of `str.format`. It has `{whole}` for the JSON of name and
    arguments, or `{name}` and `{parameters}`.
    """
    parameter: str = ""
    """The text of one argument, such as `<parameter={key}>{value}</parameter>`. `{parameters}` in
    `form` stands for these texts of all arguments. Empty if `form` has `{whole}`.
    """

    def write_call(self, name: str, arguments: Mapping[str, object]) -> str:
        """Return the text of a call in this style."""
        parameters = "".join(
            self.parameter.format(key=key, value=value if isinstance(value, str) else spaced(value))
            for key, value in arguments.items()
        )
        whole = spaced({"name": name, "arguments": arguments})
        return self.form.format(name=name, parameters=parameters, whole=whole)


HERMES = CallStyle("hermes", "", "<tool_call>\n{whole}\n</tool_call>")
"""The style for models that no row of `CALL_STYLES` fits, because most models have been trained on
it.
"""
CALL_STYLES = (
    CallStyle(
        "qwen3-coder",
        r"qwen3?-?coder|qwen-?3\.[5-9]|nemotron-?3|step-?3\.5",
        "<tool_call>\n<function={name}>\n{parameters}</function>\n</tool_call>",
        "<parameter={key}>\n{value}\n</parameter>\n",
    ),
    CallStyle(
        "glm",
        r"glm-?[45]",
        "<tool_call>{name}\n{parameters}</tool_call>",
        "<arg_key>{key}</arg_key>\n<arg_value>{value}</arg_value>\n",
    ),
    CallStyle(
        "minimax",
        r"minimax-?m2",
        '<minimax:tool_call>\n<invoke name="{name}">\n{parameters}</invoke>\n</minimax:tool_call>',
        '<parameter name="{key}">{value}</parameter>\n',
    ),
)
"""The styles of models that do not write calls as Hermes does (`<tool_call>{"name": ...}`). The
first row whose pattern fits a model's name counts.
"""
_RESULT = "<tool_response>\n{}\n</tool_response>"
"""The text of a tool's result, with `{}` for its content. It is the same for all models."""


def call_style_of(model: str) -> CallStyle:
    """Return the first row of `CALL_STYLES` whose pattern fits a model's name, else `HERMES`."""
    rows = (row for row in CALL_STYLES if re.search(row.pattern, model, re.IGNORECASE))
    return next(rows, HERMES)


def describe_tools(body: Mapping[str, object]) -> dict[str, object] | None:
    """Return a chat-completions request without fields for tools: its system turn describes the
    tools (not if `tool_choice` is `none`), and earlier calls and results are text in the messages.
    Return `None` if the request offers no tools, or has no list of messages.
    """
    messages, tools = body.get("messages"), body.get("tools")
    if not isinstance(messages, list) or not isinstance(tools, list) or not tools:
        return None
    style = call_style_of(str(body.get("model") or ""))
    written: list[Any] = _with_joined_user_turns(_with_calls_as_text(messages, style))
    match body.get("tool_choice"):
        case {"function": {"name": str(name)}}:
            choice = _CHOICES["named"].format(name=name)
        case "required":
            choice = _CHOICES["required"]
        case _:
            choice = _CHOICES["one"] if body.get("parallel_tool_calls") is False else ""
    if body.get("tool_choice") != "none":
        lines, example = "\n".join(map(spaced, tools)), style.write_call(*_EXAMPLE)
        text = _TOOL_PROMPT.format(tools=lines, example=example, choice=choice)
        written = _with_system_text(written, text)
    rest = {name: value for name, value in body.items() if name not in _REQUEST_FIELDS}
    return with_messages(rest, written)


def _with_system_text(messages: Sequence[Any], text: str) -> list[object]:
    """Return the messages with `text` at the end of their first turn, if that is a system turn. If
    it is not, a system turn with `text` is put before it.
    """
    first = messages[0] if messages else {}
    if role_of(first) not in SYSTEM:
        return [{"role": "system", "content": text}, *messages]
    system = _text_of(first)
    return [{**first, "content": f"{system}\n\n{text}" if system else text}, *messages[1:]]


def _with_calls_as_text(
    messages: Iterable[object], style: CallStyle
) -> Iterable[Mapping[str, object]]:
    """Yield the messages with calls as text, written in this style, and with results of tools as
    user turns. A call without a name is left out.
    """
    for message in messages:
        if not isinstance(message, Mapping):
            continue  # left out: a server would refuse a message that is not an object
        calls = message.get("tool_calls")
        if role_of(message) == "tool":
            yield {"role": "user", "content": _RESULT.format(_text_of(message))}
        elif isinstance(calls, list):
            functions = [as_object(call.get("function")) for call in objects(calls)]
            written = [
                style.write_call(str(function["name"]), read_arguments(function.get("arguments")))
                for function in functions
                if isinstance(function.get("name"), str)
            ]
            rest = {name: value for name, value in message.items() if name != "tool_calls"}
            yield {**rest, "content": "\n".join(filter(None, (_text_of(message), *written)))}
        else:
            yield message


def _text_of(message: object) -> str:
    """Return the text of a message: its parts' texts, with an empty line between two parts."""
    return "\n\n".join(content_texts(message))


def _with_joined_user_turns(messages: Iterable[Mapping[str, object]]) -> list[Mapping[str, object]]:
    """Return the messages with neighbouring user turns joined into one if both are plain text,
    because templates want user and assistant turns to alternate.
    """
    out: list[Mapping[str, object]] = []
    for message in messages:
        last = out[-1] if out else {}
        content, before = content_of(message), content_of(last)
        both = role_of(message) == role_of(last) == "user"
        if both and isinstance(content, str) and isinstance(before, str):
            out[-1] = {**last, "content": f"{before}\n{content}"}
        else:
            out.append(message)
    return out


TAG = "<thinking>"
"""The opener that the instruction to think names. A system turn that has it needs no instruction.
"""
_INSTRUCTION = (
    "Before you answer, think step by step inside <thinking> and </thinking> tags{limit}. "
    "Close the tag, then write the answer outside of the tags."
)
"""The instruction to think in tags; `{limit}` is `_BUDGET_CLAUSE` or nothing."""
_BUDGET_CLAUSE = ", in at most about {budget} tokens"
"""The clause of `_INSTRUCTION` about a client's budget of thinking tokens."""


def ask_to_think(body: Mapping[str, object], budget: int | None) -> dict[str, object] | None:
    """Return the request with an instruction to think in `<thinking>` tags, at the end of its first
    turn if that is a system turn, else in a new system turn before it. Return `None` if a system
    turn names the tags already, or if the request has no list of messages. `budget`: how many
    tokens of thinking the instruction allows; `None`: it names no limit.
    """
    messages = body.get("messages")
    if not isinstance(messages, list):
        return None
    if any(role_of(each) == "system" and TAG in str(content_of(each)) for each in messages):
        return None
    asks = _INSTRUCTION.format(limit=_BUDGET_CLAUSE.format(budget=budget) if budget else "")
    return with_messages(body, _with_system_text(messages, asks))


_LIMITS = ("max_tokens", "max_completion_tokens")
"""Names of the fields that limit a reply's tokens."""
_USUAL_MARKS = "<think>", "</think>"
"""The opener and closer of a thought, if the model's name shows no others."""

type Turn = Sequence[Text | Thinking]
"""The blocks of the reply so far; the last one is a thought."""
type Marks = tuple[str, str]
"""The opener and closer of a thought."""


def with_begun_turn(
    body: Mapping[str, object],
    server: Server,
    turn: Turn,
    *,
    marks: Marks | None,
    inside: bool,
    tokens: int,
) -> dict[str, object]:
    """Return the request for the rest of a reply: the first request (`body`), and at its end the
    reply so far (`turn`) as an assistant turn, which the server continues.

    Arguments:
        marks: The opener and closer of the model's thoughts; `None`: they are chosen by the model's
            name.
        inside: True if the prompt of the first request ended with the opener of the thought.
        tokens: How many tokens the reply has so far. The limits of the new request are lowered by
            this number.
    """
    limits = {
        name: max(1, limit - tokens) for name in _LIMITS if type(limit := body.get(name)) is int
    }
    if marks is None:
        families = for_model(str(body.get("model") or ""))
        marks = (families[0].open, families[0].close) if families else _USUAL_MARKS
    message: dict[str, object] = {"role": "assistant"}
    if server.continues == "reasoning" and isinstance(turn[0], Thinking):
        # If `content` is an empty string, llama.cpp takes the thought as unfinished, and continues
        # it. With an empty text part its template closes the thought.
        rest = _text_with_marks(turn[1:], marks) or [{"type": "text", "text": ""}]
        message |= {"reasoning_content": turn[0].text, "content": rest}
    else:
        text = _text_with_marks(turn, marks)
        opened = server.continues == "prompt" and inside
        message["content"] = text.removeprefix(f"{marks[0]}\n") if opened else text
    goes_on = with_messages(body, [*messages_of(body), message])
    return {**goes_on, **limits, **server.prefill}


def _text_with_marks(turn: Turn, marks: Marks) -> str:
    """Return the reply so far as one text, with each thought between `marks`."""
    return "".join(
        part.text if isinstance(part, Text) else f"{marks[0]}\n{part.text}\n{marks[1]}\n\n"
        for part in turn
    )
