"""Ask a model server one question in any of four dialects, with the official SDKs.

`Question` and `Answer` are free of any dialect. Each dialect has a function that writes a question
as a request, and reads the answer from the reply.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import anthropic
import httpx
import ollama
import openai

from tests.support.sdks import SAMPLING, anthropic_client, openai_client
from tools.lab.servers import MODEL

DIALECTS = ("chat", "messages", "responses", "ollama")
"""The names of the dialects in which the lab sends questions."""
DELIVERIES = {True: "streamed", False: "whole"}
"""Names of the two ways to get a reply: True for a stream, False for a whole reply -> the name."""
WEATHER: dict[str, Any] = {
    "name": "get_weather",
    "description": "Get the weather in a city",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    },
}
"""The tool that questions with `tool` offer, as OpenAI's APIs write a function."""
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "maxLength": 12},
        "degrees": {"type": "integer", "minimum": 0, "maximum": 40},
    },
    "required": ["city", "degrees"],
    "additionalProperties": False,
}
"""The JSON schema that the answer must fit if `Question.schema` is True."""
_NAMED_SCHEMA = {"name": "weather", "schema": SCHEMA, "strict": True}
"""`SCHEMA` with a name, because OpenAI's APIs require one."""
_SCHEMA_FIELDS: Mapping[str, dict[str, Any]] = {
    "chat": {"response_format": {"type": "json_schema", "json_schema": _NAMED_SCHEMA}},
    "messages": {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
    "responses": {"text": {"format": {"type": "json_schema", **_NAMED_SCHEMA}}},
    "ollama": {"format": SCHEMA},
}
"""Dialect -> the fields by which a request demands JSON of `SCHEMA`."""
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
"""A picture of one pixel (PNG), as base64."""
_THINKING_OFF: Mapping[str, dict[str, Any]] = {
    "chat": {"extra_body": {"chat_template_kwargs": {"enable_thinking": False}, **SAMPLING}},
    "messages": {"thinking": {"type": "disabled"}},
    "responses": {"reasoning": {"effort": "none"}},
    "ollama": {"think": False},
}
"""Dialect -> the fields by which a request turns thinking off."""
SECONDS_TO_ANSWER = 300.0
"""How long a whole reply of the Messages API may take."""
STOP_REASONS = {"end_turn": "stop", "completed": "stop", "stop_sequence": "stop"}
"""A dialect's word for a reply that ended by itself or at a stop string -> `stop`."""
LIMIT_REASONS = {"max_tokens": "length", "incomplete": "length"}
"""A dialect's word for a reply that was cut at the limit of tokens -> `length`."""
ERRORS = (openai.APIError, anthropic.APIError, ollama.ResponseError)
"""The exceptions that the SDKs raise if the server answers with an error."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question to a model, with the fields of its request that matter to the lab."""

    text: str
    """The user's text."""
    max_tokens: int = 300
    """The limit of tokens for the reply."""
    tool: bool = False
    """True if the request offers the tool `get_weather`."""
    thinking_off: bool = False
    """True if the request turns thinking off."""
    stop: str = ""
    """The stop string of the request; empty for none."""
    picture: bool = False
    """True if the message holds a picture."""
    model: str = MODEL
    """The name of the requested model."""
    with_result: bool = False
    """True if the request also has a call of the tool and its result after the user's text."""
    schema: bool = False
    """True if the request demands JSON that fits `SCHEMA`."""
    choices: int = 1
    """How many answers the request asks for (the field `n` of chat completions)."""


@dataclass(slots=True)
class Answer:
    """A model's reply, or the error that came in its place."""

    thinking: str = ""
    """The text of all thoughts."""
    text: str = ""
    """The text of the answer."""
    calls: list[tuple[str, object]] = field(default_factory=list)
    """For each call its name and its parsed arguments; arguments that are no JSON stay text."""
    finish: str = ""
    """Why the reply ended: `stop`, `length`, or for other reasons the dialect's own word."""
    error: str = ""
    """Status, code and message of the error; empty if there was none."""
    others: list["Answer"] = field(default_factory=list)
    """If the request asked for several choices: the answers of all but the first."""


def ask(port: int, dialect: str, question: Question, streamed: bool) -> Answer:
    """Send a question to the proxy at `port` in a dialect; return the answer or the error."""
    try:
        answer = _ASKS[dialect](port, question, streamed)
    except ERRORS as error:
        # clients act on an error's code, which OpenAI's SDK (3.57) leaves out of the message
        details = (getattr(error, "status_code", ""), getattr(error, "code", None) or "", error)
        return Answer(error=" ".join(" ".join(map(str, details)).split()))
    except (OSError, httpx.HTTPError) as error:  # the connection broke off
        return Answer(error=f"{type(error).__name__}: {error}")
    for choice in (answer, *answer.others):
        choice.finish = {**STOP_REASONS, **LIMIT_REASONS}.get(choice.finish, choice.finish)
    return answer


def _messages_of(question: Question, called: Sequence[Any], result: Any) -> list[Any]:
    """Return the question as messages of a dialect.

    The user's message comes first. If `with_result` of the question is True, the messages `called`
    (a tool call) and `result` (its result) follow.
    """
    messages: list[Any] = [{"role": "user", "content": question.text}]
    return [*messages, *called, *result] if question.with_result else messages


def _parse_arguments(written: str) -> object:
    """Return a call's arguments parsed from `written`; `written` itself if it is no JSON."""
    with suppress(ValueError):
        return json.loads(written)
    return written


_CALL_ID, _CALLED, _RESULT = "call_1", {"city": "Oslo"}, "sunny, 21 degrees"


def _ask_chat(port: int, question: Question, streamed: bool) -> Answer:
    """Ask a question in chat completions; return the first choice's answer, with the other ones in
    `others`.
    """
    function = {"name": "get_weather", "arguments": json.dumps(_CALLED)}
    call = {"id": _CALL_ID, "type": "function", "function": function}
    turns = _messages_of(
        question,
        [{"role": "assistant", "content": None, "tool_calls": [call]}],
        [{"role": "tool", "tool_call_id": _CALL_ID, "content": _RESULT}],
    )
    if question.picture:
        part = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}}
        turns = [{"role": "user", "content": [{"type": "text", "text": question.text}, part]}]
    fields: dict[str, Any] = {
        "model": question.model,
        "messages": turns,
        "max_tokens": question.max_tokens,
        "extra_body": SAMPLING,
        **({"tools": [{"type": "function", "function": WEATHER}]} if question.tool else {}),
        **({"stop": [question.stop]} if question.stop else {}),
        **({"n": question.choices} if question.choices > 1 else {}),
        **(_THINKING_OFF["chat"] if question.thinking_off else {}),
        **(_SCHEMA_FIELDS["chat"] if question.schema else {}),
    }
    with openai_client(port) as client:
        if streamed:
            answers = _streamed_chat(client.chat.completions.create(**fields, stream=True))
        else:
            answers = [*map(_answer_of_choice, client.chat.completions.create(**fields).choices)]
    first, *others = answers or [Answer()]
    first.others = others
    return first


def _answer_of_choice(choice: Any) -> Answer:
    """Return the answer in one choice of a whole chat completion."""
    message = choice.message
    calls = [
        (call.function.name, _parse_arguments(call.function.arguments))
        for call in message.tool_calls or []
    ]
    thinking = getattr(message, "reasoning_content", None) or ""
    return Answer(thinking, message.content or "", calls, str(choice.finish_reason))


def _streamed_chat(chunks: Any) -> list[Answer]:
    """Return the answer of each choice in a stream of chat completions, in the choices' order."""
    answers, pieces = dict[int, Answer](), dict[tuple[int, int], list[str]]()
    for chunk in chunks:
        for choice in chunk.choices:
            answer = answers.setdefault(choice.index, Answer())
            answer.thinking += getattr(choice.delta, "reasoning_content", None) or ""
            answer.text += choice.delta.content or ""
            answer.finish = choice.finish_reason or answer.finish
            for call in choice.delta.tool_calls or []:
                parts = pieces.setdefault((choice.index, call.index), ["", ""])
                parts[0] += call.function.name or ""
                parts[1] += call.function.arguments or ""
    for (index, _), (name, written) in pieces.items():
        answers[index].calls.append((name, _parse_arguments(written)))
    return [answers[index] for index in sorted(answers)]


def _ask_messages(port: int, question: Question, streamed: bool) -> Answer:
    """Ask a question in the Messages API; return the answer."""
    call = {"type": "tool_use", "id": _CALL_ID, "name": "get_weather", "input": _CALLED}
    result = {"type": "tool_result", "tool_use_id": _CALL_ID, "content": _RESULT}
    turns = _messages_of(
        question,
        [{"role": "assistant", "content": [call]}],
        [{"role": "user", "content": [result]}],
    )
    if question.picture:
        source = {"type": "base64", "media_type": "image/png", "data": PICTURE}
        part = {"type": "image", "source": source}
        turns = [{"role": "user", "content": [{"type": "text", "text": question.text}, part]}]
    tool: Any = {name: WEATHER[name] for name in ("name", "description")}
    fields: dict[str, Any] = {
        "model": question.model,
        "messages": turns,
        "max_tokens": question.max_tokens,
        "extra_body": SAMPLING,
        **({"tools": [{**tool, "input_schema": WEATHER["parameters"]}]} if question.tool else {}),
        **({"stop_sequences": [question.stop]} if question.stop else {}),
        **(_THINKING_OFF["messages"] if question.thinking_off else {}),
        **(_SCHEMA_FIELDS["messages"] if question.schema else {}),
    }
    with anthropic_client(port) as client:
        if streamed:
            with client.messages.stream(**fields) as stream:
                message = stream.get_final_message()
        else:
            # without a timeout the SDK refuses to ask for a long reply that is not streamed
            message = client.messages.create(**fields, timeout=SECONDS_TO_ANSWER)
    answer = Answer(finish=str(message.stop_reason))
    for block in message.content:
        answer.thinking += block.thinking if block.type == "thinking" else ""
        answer.text += block.text if block.type == "text" else ""
        answer.calls += [(block.name, block.input)] if block.type == "tool_use" else []
    return answer


def _ask_responses(port: int, question: Question, streamed: bool) -> Answer:
    """Ask a question in the Responses API; return the answer."""
    call = {"type": "function_call", "call_id": _CALL_ID, "name": "get_weather"}
    result = {"type": "function_call_output", "call_id": _CALL_ID, "output": _RESULT}
    turns = _messages_of(question, [{**call, "arguments": json.dumps(_CALLED)}], [result])
    if question.picture:
        url = f"data:image/png;base64,{PICTURE}"
        part = {"type": "input_image", "image_url": url, "detail": "auto"}
        text = {"type": "input_text", "text": question.text}
        turns = [{"role": "user", "content": [text, part]}]
    fields: dict[str, Any] = {
        "model": question.model,
        "input": turns,
        "max_output_tokens": question.max_tokens,
        "extra_body": SAMPLING,
        **({"tools": [{"type": "function", "strict": False, **WEATHER}]} if question.tool else {}),
        **(_THINKING_OFF["responses"] if question.thinking_off else {}),
        **(_SCHEMA_FIELDS["responses"] if question.schema else {}),
    }
    with openai_client(port) as client:
        response = client.responses.create(**fields) if not streamed else None
        for event in client.responses.create(**fields, stream=True) if streamed else ():
            if event.type in ("response.completed", "response.incomplete", "response.failed"):
                response = event.response
    return _answer_of_response(response)


def _answer_of_response(response: Any) -> Answer:
    """Return the answer in an object of the Responses API, or its error.

    `response` is None if the stream ended without such an object; that is an error too.
    """
    if response is None or response.error:
        return Answer(error=str(response and response.error))
    answer = Answer(finish=str(response.status))
    for item in response.output:
        match item.type:
            case "reasoning":
                answer.thinking += "".join(part.text for part in item.summary)
            case "message":
                answer.text += "".join(getattr(part, "text", "") for part in item.content)
            case "function_call":
                answer.calls.append((item.name, _parse_arguments(item.arguments)))
    return answer


def _ask_ollama(port: int, question: Question, streamed: bool) -> Answer:
    """Ask a question in Ollama's API; return the answer."""
    call = {"function": {"name": "get_weather", "arguments": _CALLED}}
    turns = _messages_of(
        question,
        [{"role": "assistant", "content": "", "tool_calls": [call]}],
        [{"role": "tool", "tool_name": "get_weather", "content": _RESULT}],
    )
    if question.picture:
        turns = [{"role": "user", "content": question.text, "images": [PICTURE]}]
    stop = {"stop": [question.stop]} if question.stop else {}
    fields: dict[str, Any] = {
        "model": question.model,
        "messages": turns,
        "options": {**SAMPLING, "num_predict": question.max_tokens, **stop},
        **({"tools": [{"type": "function", "function": WEATHER}]} if question.tool else {}),
        **(_THINKING_OFF["ollama"] if question.thinking_off else {}),
        **(_SCHEMA_FIELDS["ollama"] if question.schema else {}),
    }
    answer = Answer()
    with ollama.Client(f"http://127.0.0.1:{port}", headers={"connection": "close"}) as client:
        replies = client.chat(**fields, stream=True) if streamed else [client.chat(**fields)]
        for reply in replies:
            answer.thinking += reply.message.thinking or ""
            answer.text += reply.message.content or ""
            answer.calls += [
                (call.function.name, dict(call.function.arguments))
                for call in reply.message.tool_calls or []
            ]
            answer.finish = reply.done_reason or answer.finish
    return answer


_ASKS = {
    "chat": _ask_chat,
    "messages": _ask_messages,
    "responses": _ask_responses,
    "ollama": _ask_ollama,
}
"""Dialect -> the function that asks a question in it, and returns the answer."""
