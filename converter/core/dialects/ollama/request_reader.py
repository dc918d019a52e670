"""Reader of a request of Ollama's API: `/api/chat`, and `/api/generate`, whose prompt is one turn.
`EmptyRequestError` is raised for a request without a prompt, by which a client has a model loaded
or unloaded.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import starmap

from converter.core.dialects.dialect import TurnOf, read_anew
from converter.core.dialects.ollama.encoder import CHAT, GENERATE, timestamp
from converter.core.dialects.openai_parts import function_of, read_arguments
from converter.core.dialects.request_facts import stop_strings
from converter.core.dialects.server_fields import SAMPLING
from converter.core.model.conversation import (
    Block,
    Conversation,
    Data,
    Image,
    RequestError,
    Role,
    Sampling,
    TextBlock,
    ThinkingBlock,
    ThinkingSwitch,
    ToolResult,
    ToolUse,
    Turn,
)
from converter.core.wire import long_json
from converter.core.wire.checked import Fields

_PICTURES = {"/9j/": "image/jpeg", "iVBOR": "image/png", "R0lG": "image/gif", "UklG": "image/webp"}
"""The beginning of a picture's base64 text -> its media type."""
_PNG = "image/png"
"""The media type of a picture whose beginning has no row in `_PICTURES`."""
_READ_OPTIONS = {"num_predict", "temperature", "top_p", "top_k", "stop"}
"""Entries of `options` that become fields of the conversation."""
_SENT_OPTIONS = {"seed", "min_p", "presence_penalty", "frequency_penalty", "repeat_penalty"}
"""Entries of `options` that go on to the server, as fields of the same names."""
_UNSUPPORTED = (
    *("suffix", "raw", "context", "template", "logprobs", "top_logprobs"),
    *("keep_alive", "truncate", "shift"),
)
"""Fields of a request that are not passed on to the server; a note to the user names those that
are set.
"""
LEFT_OUT = "left out, because no server takes it with a request: {}"
"""Note to the user about fields that are left out. `{}` stands for their names."""


class EmptyRequestError(RequestError):
    """Raised for a request without a prompt, by which a client has a model loaded or unloaded. No
    server is asked, because model servers keep their models loaded: `answer` is the body that the
    client gets. `generates`: True for a request to `/api/generate`, False for `/api/chat`.
    """

    def __init__(self, request: Fields, generates: bool) -> None:
        super().__init__("", "the request has no message for the model: answered as loaded")
        reason = "unload" if request.values.get("keep_alive") in (0, "0", "0s") else "load"
        empty = {"response": ""} if generates else {"message": {"role": "assistant", "content": ""}}
        self.answer = {
            "model": request.required("model", str),
            "created_at": timestamp(int(time.time())),
            **empty,
            "done": True,
            "done_reason": reason,
        }


def read(body: object, turn_of: TurnOf = read_anew) -> Conversation:
    """Return the conversation of a request. Raises RequestError if the request breaks the format,
    and EmptyRequestError if it has no prompt.

    Arguments:
        body: the request's parsed JSON.
        turn_of: returns the turn of a message: it reads the message, or returns the turn that was
            read for the same message in the conversation's previous request.
    """
    request = Fields(body)
    if not any(request.values.get(name) for name in ("messages", "prompt", "images")):
        raise EmptyRequestError(request, "messages" not in request.values)
    options = request.within("options")
    generates = "messages" not in request.values and "prompt" in request.values
    tools = (tool.child("function") or tool for tool in request.children("tools"))
    thinking, effort = _thinking(request)
    limit, turn = options.number("num_predict"), _MessageReader(turn_of).turn
    stream, form = request.optional("stream", bool), request.values.get("format")
    kept = {name: options.values[name] for name in sorted(_SENT_OPTIONS & options.values.keys())}
    unsaid = (name for name in _UNSUPPORTED if request.values.get(name))
    left_out = ", ".join((*sorted(options.values.keys() - _READ_OPTIONS - _SENT_OPTIONS), *unsaid))
    model = request.required("model", str)
    turns = tuple(map(turn, request.children("messages")))
    if generates:
        system, prompt = request.optional("system", str), request.required("prompt", str)
        first = (Turn("system", (TextBlock(system),)),) if system else ()
        turns = (*first, Turn("user", (TextBlock(prompt), *_pictures(request))))
    return Conversation(
        model=model,
        turns=turns,
        max_tokens=int(limit) if limit and limit > 0 else None,
        tools=tuple(map(function_of, tools)),
        stop_sequences=stop_strings(options.values),
        sampling=Sampling(**options.read(SAMPLING)),
        stream=stream is not False,
        thinking=thinking,
        effort=effort,
        output_schema=None if form in (None, "", "json") else Fields(form, "format").values or None,
        extensions=kept | ({"response_format": {"type": "json_object"}} if form == "json" else {}),
        notes=(LEFT_OUT.format(left_out),) if left_out else (),
        own=GENERATE if generates else CHAT,
    )


@dataclass(slots=True)
class _MessageReader:
    """Reads a request's messages, one after another, into turns. The order counts, because a tool's
    result without an id belongs to an earlier call that still waits for its result.
    """

    turn_of: TurnOf
    """Returns the turn of a message: it reads the message, or returns the turn that was read for
    the same message in the conversation's previous request.
    """
    waiting: list[tuple[str, str]] = field(default_factory=list)
    """Name and id of each call that has no result yet."""
    call_count: int = 0
    """How many calls the messages had so far. After 2 calls one without an id gets `call_3`."""

    def turn(self, message: Fields) -> Turn:
        """Return the turn of the next message."""
        role = message.row("role", _ROLES)
        basis = self.call_count, self._call_id(message) if message.values["role"] == "tool" else ""
        turn = self.turn_of(
            message.values, lambda: (Turn(role, _blocks(message, *basis)), False), basis
        )
        for block in turn.blocks:
            if isinstance(block, ToolUse):
                self.call_count += 1
                self.waiting.append((block.name, block.id))
            elif isinstance(block, ToolResult):
                self.waiting = [each for each in self.waiting if each[1] != block.tool_use_id]
        return turn

    def _call_id(self, message: Fields) -> str:
        """Return the id of the call that a tool result belongs to: the id in the result, else the
        id of the first waiting call of the result's tool, else that of the first waiting call of
        any tool. If no call is waiting, return `call_0`.
        """
        named = message.optional("tool_call_id", str)
        tool = message.optional("tool_name", str) or message.optional("name", str)
        calls = [call for name, call in self.waiting if tool in (None, name)]
        return named or next(iter([*calls, *(call for _, call in self.waiting)]), "call_0")


def _blocks(message: Fields, call_count: int, call_id: str) -> tuple[Block, ...]:
    """Return the blocks of a message.

    `call_count`: the number of calls in earlier messages. `call_id`: for a tool's message, the id
    of the call whose result it has; else empty.
    """
    text, role = message.optional("content", str) or "", message.values["role"]
    if role == "tool":
        return (ToolResult(call_id, (TextBlock(text),)),)
    content = (*((TextBlock(text),) if text else ()), *_pictures(message))
    if role != "assistant":
        return content
    thought = message.optional("thinking", str)
    entries = enumerate(message.children("tool_calls"), call_count + 1)
    return (*((ThinkingBlock(thought),) if thought else ()), *content, *starmap(_call, entries))


def _call(number: int, entry: Fields) -> ToolUse:
    """Return the call in an entry of a message's `tool_calls`. `number`: the call's number in the
    conversation; if the entry has no id, the call's id is made from this number.
    """
    function = Fields(entry.values.get("function"), entry.path_of("function"))
    name = function.required("name", str)
    call = entry.optional("id", str) or f"call_{number}"
    return ToolUse(call, name, long_json.spaced(read_arguments(function.values.get("arguments"))))


_ROLES: Mapping[str, Role] = {
    "system": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "user",
}
"""Role of a message in a request -> role of the conversation's turn."""


def _pictures(message: Fields) -> tuple[Image, ...]:
    """Return the pictures in the field `images` of a message, which has them as base64 text."""
    images, kinds = message.strings("images"), _PICTURES.items()
    return tuple(
        Image(Data(next((kind for head, kind in kinds if image.startswith(head)), _PNG), image))
        for image in images
    )


def _thinking(request: Fields) -> tuple[ThinkingSwitch | None, str | None]:
    """Return the switch of thinking and the effort for the field `think`: `true` switches thinking
    on, `"low"` also sets the effort. What the field does not set is None. Raises RequestError for a
    value that the API does not have.
    """
    match request.values.get("think"):
        case None:
            return None, None
        case bool(on):
            return ThinkingSwitch("enabled" if on else "disabled"), None
        case ("low" | "medium" | "high" | "max") as effort:
            return ThinkingSwitch("enabled"), effort
        case _:
            raise request.error("think", "Input should be true, false, low, medium, high or max")
