"""List the huge and hostile exchanges (`CASES`), and build their bytes. `gap_server.py` runs them
while `gaps.py` measures another client's stream.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass

from tools.bench.server import STREAM_HEAD, WHOLE_RESPONSE

MEGABYTE = 1_000_000
"""The number of bytes or characters that the cases call a megabyte."""
MESSAGES = 20_000
"""The longest conversation has one message more than this, so that the user's message is last."""
THOUGHTS = 23_500
"""The number of thoughts in the cases `... of 23,500 thoughts`."""
ESCAPES = '\n"é🙂\\'
"""Characters each of which JSON in ASCII writes as an escape, such as `\\u00e9`."""
CHAT, MESSAGES_API, RESPONSES = "/v1/chat/completions", "/v1/messages", "/v1/responses"
COUNT_TOKENS, MODELS = "/v1/messages/count_tokens", "/v1/models"
ENDPOINTS = {"chat": CHAT, "Messages": MESSAGES_API, "Responses": RESPONSES}
"""Name of an endpoint in the table -> its path."""

type Value = dict[str, object]
type BodyMaker = Callable[[], bytes]
"""A function that returns the body of a request or reply."""


@dataclass(frozen=True)
class Case:
    """One exchange: its request or its reply is huge or hostile."""

    name: str
    """The name in the table."""
    path: str = CHAT
    """The path of the request."""
    request: BodyMaker | None = None
    """Builds the body of a POST; `None` if the request is a GET."""
    reply: BodyMaker | None = None
    """Builds head and body of the server's reply; `None` if that is a small one."""

    @property
    def wire_bytes(self) -> bytes:
        """The request's head and body, as the client sends them."""
        body = self.request() if self.request else b""
        method = "POST" if self.request else "GET"
        head = (
            f"{method} {self.path} HTTP/1.1\r\nhost: 127.0.0.1\r\nanthropic-version: 2023-06-01\r\n"
            f"content-type: application/json\r\ncontent-length: {len(body)}\r\nconnection: close"
            "\r\n\r\n"
        )
        return head.encode() + body


def _body(path: str, messages: list[Value], stream: bool = False, **more: object) -> bytes:
    """Return the body of a request. `path`: decides its dialect; `more`: further fields."""
    field = "input" if path == RESPONSES else "messages"
    fields = {"model": "m", "max_tokens": 99, "stream": stream, field: messages, **more}
    if path != MESSAGES_API:
        del fields["max_tokens"]
    if path == COUNT_TOKENS:
        del fields["stream"]
    return json.dumps(fields, ensure_ascii="é" in str(messages[0])[:60]).encode()


def _user_turn(text: str) -> list[Value]:
    """Return a conversation of one user's message."""
    return [{"role": "user", "content": text}]


def many_messages(path: str) -> bytes:
    """Return the body of a request with 20,001 messages; `path` decides its dialect."""
    roles = ("user", "assistant")
    messages: list[Value] = [
        {"role": roles[at % 2], "content": f"word {at}"} for at in range(MESSAGES + 1)
    ]
    return _body(path, messages)


def long_text(path: str, megabytes: int = 31) -> bytes:
    """Return the body of a request with one text of `megabytes`; `path` decides its dialect."""
    return _body(path, _user_turn("word " * (megabytes * MEGABYTE // 5)))


def long_escapes(path: str) -> bytes:
    """Return the body of a request with one long text, in which JSON escapes each character."""
    return _body(path, _user_turn(ESCAPES * (25 * MEGABYTE // 24)))


def long_chinese(path: str) -> bytes:
    """Return the body of a request with one long Chinese text: three bytes a character in UTF-8."""
    return _body(path, _user_turn("你好 " * (25 * MEGABYTE // 7)))


def long_schema(path: str) -> bytes:
    """Return the body of a request that offers a tool whose schema lists eight million numbers."""
    schema: Value = {"type": "object", "properties": {"a": {"enum": [1] * (8 * MEGABYTE)}}}
    tools: list[Value] = [{"name": "f", "input_schema": schema}]
    if path == CHAT:
        tools = [{"type": "function", "function": {"name": "f", "parameters": schema}}]
    if path == RESPONSES:
        tools = [{"type": "function", "name": "f", "parameters": schema}]
    return _body(path, _user_turn("word"), tools=tools)


def _whole_reply(text: str) -> bytes:
    """Return head and body of a whole reply whose content is `text`."""
    message = {"role": "assistant", "content": text}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    body = json.dumps({"id": "c", "object": "chat.completion", "model": "m", "choices": choices})
    return WHOLE_RESPONSE % (len(body), body.encode())


def _streamed_reply(texts: list[str]) -> bytes:
    """Return head and body of a stream with a frame for each text."""
    frames = [_frame({"content": text}) for text in texts]
    body = b"".join([*frames, _frame({}, "stop"), b"data: [DONE]\n\n"])
    return STREAM_HEAD + b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)


def _frame(delta: Value, finish: str | None = None) -> bytes:
    """Return a frame of chat completions. `finish`: its finish reason, if it has one."""
    choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
    head = {"id": "c", "object": "chat.completion.chunk", "model": "m"}
    return b"data: %b\n\n" % json.dumps({**head, "choices": choices}).encode()


def _model_list() -> bytes:
    """Return head and body of the response that lists 100,000 models."""
    data = [{"id": f"model-{at}", "object": "model", "created": at} for at in range(100_000)]
    body = json.dumps({"object": "list", "data": data}).encode()
    return WHOLE_RESPONSE % (len(body), body)


def _thoughts(piece: int) -> list[str]:
    """Return a text of `THOUGHTS` thoughts and answers, cut into pieces of `piece` characters."""
    text = "<think>thought</think>answer" * THOUGHTS
    return [text[at : at + piece] for at in range(0, len(text), piece)]


def _small_request(path: str, stream: bool) -> BodyMaker:
    """Return a function that builds a small request, for a case whose reply is huge."""
    return lambda: _body(path, _user_turn("word"), stream)


def _request_cases(name: str, path: str) -> list[Case]:
    """Return the cases with a huge request at the endpoint `path`, which the table calls `name`."""
    return [
        Case(f"request of 20,000 messages, {name}", path, lambda: many_messages(path)),
        Case(f"request of 31 MB, {name}", path, lambda: long_text(path)),
        Case(f"request of 25 MB of escapes, {name}", path, lambda: long_escapes(path)),
        Case(f"request of 25 MB of Chinese, {name}", path, lambda: long_chinese(path)),
        Case(f"request of 24 MB of numbers, {name}", path, lambda: long_schema(path)),
        Case(f"request of 60 MB, {name}", path, lambda: long_text(path, 60)),
    ]


def _reply_cases(name: str, path: str) -> list[Case]:
    """Return the cases with a huge reply at the endpoint `path`, which the table calls `name`."""
    whole, stream = _small_request(path, stream=False), _small_request(path, stream=True)
    long, odd = "word " * (4 * MEGABYTE), ESCAPES * (2 * MEGABYTE)
    return [
        Case(
            f"whole reply of 23,500 thoughts, {name}",
            path,
            whole,
            lambda: _whole_reply("".join(_thoughts(9))),
        ),
        Case(f"whole reply of 20 MB, {name}", path, whole, lambda: _whole_reply(long)),
        Case(f"whole reply of 40 MB of escapes, {name}", path, whole, lambda: _whole_reply(odd)),
        Case(
            f"stream of 23,500 thoughts, {name}",
            path,
            stream,
            lambda: _streamed_reply(_thoughts(9)),
        ),
        Case(
            f"stream of one frame of 3.9 MB, {name}",
            path,
            stream,
            lambda: _streamed_reply([long[:3_900_000]]),
        ),
        Case(
            f"stream of a frame of 3.9 MB of escapes, {name}",
            path,
            stream,
            lambda: _streamed_reply([odd[: 3_900_000 * len(ESCAPES) // 24]]),
        ),
        Case(
            f"stream of 1 MB of newlines, {name}",
            path,
            stream,
            lambda: _streamed_reply(["a", "\n" * MEGABYTE]),
        ),
        Case(
            f"stream of 1 MB of openers, {name}",
            path,
            stream,
            lambda: _streamed_reply(["a", "<think" * 200_000]),
        ),
        Case(
            f"stream of 1 MB of backticks, {name}",
            path,
            stream,
            lambda: _streamed_reply(["a", "`a`` \n" * 170_000]),
        ),
    ]


CASES = [
    *(case for name, path in ENDPOINTS.items() for case in _request_cases(name, path)),
    *(case for name, path in ENDPOINTS.items() for case in _reply_cases(name, path)),
    Case("count of 20,000 messages' tokens", COUNT_TOKENS, lambda: many_messages(COUNT_TOKENS)),
    Case("list of 100,000 models", MODELS, None, _model_list),
]
"""All exchanges: a row each in the table that `gaps.py` prints."""
