"""What has become of a reply, in one word.

*full*: everything was said, and the reply ends as a good one does. *cut*: all that was said before
the fault, then the dialect's error, then a proper end of HTTP. *failed*: a JSON error in the
dialect, with an error's status and the server's words. All else is wrong, and told how.
"""

import json
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from laws.response_view import StrictResponseReader, text_of_item
from tests.support.clients import ANTHROPIC, OPENAI, View, question

SECONDS = 60  # only when a test has failed; less than a server hangs
FULL, CUT, FAILED = "full", "cut", "failed"
type Listen = Callable[[bytes], object]


class WrongError(Exception):
    """Raised with the reason for a reply that is neither full nor cut nor failed."""


@dataclass(frozen=True)
class Received:
    """A reply as received, without its framing."""

    status: int
    kind: str
    body: bytes


@dataclass(frozen=True)
class Verdict:
    """`word`: full, cut or failed. `parts`: thinking and text. `error`: empty for a full reply."""

    word: str
    parts: tuple[str, str] = ("", "")
    error: str = ""


def hear(port: int, path: str, body: bytes, listen: Listen = len) -> Received:
    """Send a request and read the reply strictly; `listen` gets each chunk as it comes."""
    with socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as client:
        return hear_on(client, path, body, listen)


def hear_on(
    client: socket.socket, target: str, body: bytes, listen: Listen = len, more: str = ""
) -> Received:
    """Send a request on an open connection. `more`: further lines of the head."""
    request = (
        f"POST {target} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{more}"
    )
    client.sendall(f"{request}content-length: {len(body)}\r\n\r\n".encode() + body)
    with client.makefile("rb") as reader:
        try:
            return read_reply(reader, listen)
        except TimeoutError:
            raise WrongError("no end, after seconds") from None
        except OSError as error:
            raise WrongError(f"the connection broke: {error}") from None


def read_reply(reader: Any, listen: Listen = len) -> Received:
    """Read one reply as strictly as a client may."""
    first = reader.readline().split()
    if len(first) < 2:
        raise WrongError("closed without an answer")
    headers: dict[str, str] = {}
    while line := reader.readline().strip():
        name, _, value = line.decode().partition(":")
        headers[name.lower()] = value.strip()
    kind = headers.get("content-type", "")
    if "chunked" in headers.get("transfer-encoding", ""):
        return Received(int(first[1]), kind, b"".join(_chunks(reader, listen)))
    if "content-length" in headers:
        size = int(headers["content-length"])
        body = reader.read(size)
        if len(body) != size:
            raise WrongError(f"{size} bytes announced, {len(body)} came")
        return Received(int(first[1]), kind, body)
    bodiless = first[1] in (b"204", b"304")
    return Received(int(first[1]), kind, b"" if bodiless else reader.read())


def _chunks(reader: Any, listen: Listen) -> list[bytes]:
    chunks: list[bytes] = []
    while True:
        size = reader.readline()
        if not size.endswith(b"\r\n"):
            raise WrongError("HTTP ends in mid-stream")
        chunk = reader.read(int(size, 16) + 2)
        if not chunk.endswith(b"\r\n"):
            raise WrongError("HTTP ends in a chunk")
        if chunk == b"\r\n":
            return chunks
        chunks.append(chunk[:-2])
        listen(chunks[-1])


def frames_of(body: bytes) -> list[tuple[str, str]]:
    """Return the frames of a stream, (name, data) each, read by the standard."""
    try:
        text = body.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise WrongError(f"no UTF-8: {error}") from None
    if text and not text.endswith(("\n\n", "data: [DONE]")):
        raise WrongError(f"the last frame has no end: {text[-60:]!r}")
    frames = [_fields(frame) for frame in text.split("\n\n")]
    return [(name, data) for name, data in frames if data]


def _fields(frame: str) -> tuple[str, str]:
    """Return the event's name and data, empty for a comment; unknown fields are ignored."""
    lines = [line.partition(":") for line in frame.split("\n")]
    names = [value.strip() for field, _, value in lines if field == "event"]
    data = [value.removeprefix(" ") for field, _, value in lines if field == "data"]
    return "".join(names[-1:]), "\n".join(data)


def openai_stream(received: Received) -> Verdict:
    """Read chunks to a finish and [DONE], or to an error."""
    texts = {"reasoning_content": "", "content": ""}
    finished, done, error = False, False, ""
    for _, data in frames_of(received.body):
        done = done or data == "[DONE]"
        payload = {} if done else _object(data)  # SDKs stop there
        if payload.get("error"):
            error = _message_of(payload["error"])
        for choice in payload.get("choices") or []:
            _hear_choice(choice, texts)
            finished = finished or bool(choice.get("finish_reason"))
    if not (error or finished):
        raise WrongError(f"neither finished nor an error ([DONE] {done})")
    return Verdict(CUT if error else FULL, (texts["reasoning_content"], texts["content"]), error)


def _hear_choice(choice: Any, texts: dict[str, str]) -> None:
    """Read a choice; raise WrongError for values of other types than the SDKs'."""
    if not isinstance(choice, dict) or not isinstance(choice.get("delta"), dict):
        raise WrongError(f"a choice without a delta: {choice!r}")
    if type(choice.get("index")) is not int:
        raise WrongError(f"a choice with index {choice.get('index')!r}")
    for name in texts:
        piece = choice["delta"].get(name)
        if not isinstance(piece, str | None):
            raise WrongError(f"{name} is {piece!r}")
        texts[name] += piece or ""


class AnthropicReader:
    """Blocks 0, 1, 2 ... each started, filled and stopped, then the end or the error."""

    def __init__(self) -> None:
        self.blocks: list[dict[str, Any]] = []
        self.is_open = False
        self.end = ""
        self.error = ""

    def feed(self, payload: dict[str, Any]) -> None:
        kind = payload["type"]
        if self.end and kind != "ping":
            raise WrongError(f"{kind} after {self.end}")
        if kind.startswith("content_block"):
            self._feed_block(kind, payload)
        elif kind in ("error", "message_stop"):
            self.end = kind
            self.error = _message_of(payload["error"]) if kind == "error" else ""

    def _feed_block(self, kind: str, payload: dict[str, Any]) -> None:
        starts = kind == "content_block_start"
        if starts == self.is_open or payload["index"] != len(self.blocks) - (not starts):
            raise WrongError(f"{kind} {payload['index']} out of order")
        if starts:
            self.blocks.append(dict(payload["content_block"]))
        self.is_open = kind != "content_block_stop"
        for field in {"thinking", "text"} & payload.get("delta", {}).keys():
            self.blocks[-1][field] += payload["delta"][field]

    def all_of(self, field: str) -> str:
        return "".join(block.get(field, "") for block in self.blocks)


def anthropic_stream(received: Received) -> Verdict:
    """Read a message to its stop, or to an error."""
    reader = AnthropicReader()
    for name, data in frames_of(received.body):
        payload = _object(data)
        if name != payload.get("type"):
            raise WrongError(f"event {name!r} with type {payload.get('type')!r}")
        reader.feed(payload)
    if reader.is_open:
        raise WrongError("a block stays open")
    if not reader.end:
        raise WrongError("neither message_stop nor an error")
    texts = (reader.all_of("thinking"), reader.all_of("text"))
    return Verdict(CUT if reader.error else FULL, texts, reader.error)


def whole_reply(read: Callable[[bytes], View]) -> Callable[[Received], Verdict]:
    def verdict(received: Received) -> Verdict:
        try:
            reply = read(received.body)
        except (ValueError, TypeError, AssertionError, LookupError, RecursionError) as error:
            raise WrongError(f"no reply: {error!r} in {received.body[:80]!r}") from None
        if not (isinstance(reply.thinking, str) and isinstance(reply.text, str)):
            raise WrongError(f"a reply that says {reply.text!r}")
        return Verdict(FULL, (reply.thinking, reply.text))

    return verdict


def failure(received: Received, dialect: str) -> Verdict:
    payload = _object(received.body.decode(errors="replace"))
    if not received.kind.startswith("application/json"):
        raise WrongError(f"an error of type {received.kind!r}")
    if dialect == "ollama":
        return Verdict(FAILED, error=_line_error(payload))
    if dialect == "anthropic" and (
        payload.get("type") != "error" or "type" not in payload.get("error", {})
    ):
        raise WrongError(f"no error of the Messages API: {received.body[:80]!r}")
    return Verdict(FAILED, error=_message_of(payload.get("error")))


def _object(data: str) -> dict[str, Any]:
    try:
        parsed = json.loads(data, parse_constant=_refused)
    except (ValueError, RecursionError):
        raise WrongError(f"no JSON: {data[:80]!r}") from None
    if not isinstance(parsed, dict):
        raise WrongError(f"no object: {data[:80]!r}")
    return parsed


def _refused(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _message_of(error: Any) -> str:
    if not isinstance(error, dict) or not isinstance(error.get("message"), str):
        raise WrongError(f"no words in the error {error!r}")
    return str(error["message"])


def responses_stream(received: Received) -> Verdict:
    """Read a response to its last event, which says whether it failed."""
    reader = StrictResponseReader()
    for name, data in frames_of(received.body):
        event = _object(data)
        if name != event.get("type"):
            raise WrongError(f"event {name!r} with type {event.get('type')!r}")
        try:
            reader.feed(event)
        except (AssertionError, LookupError) as error:
            raise WrongError(f"the response is not in order: {error!r}") from None
    response = reader.response
    if response.get("status") not in ("completed", "incomplete", "failed"):
        raise WrongError("no last event")
    texts = _items_of(response)
    if response["status"] != "failed":
        return Verdict(FULL, texts)
    return Verdict(CUT, texts, _message_of(response["error"]))


def _items_of(response: dict[str, Any]) -> tuple[str, str]:
    texts = {"reasoning": "", "message": ""}
    for item in response["output"]:
        texts[item["type"]] += text_of_item(item)
    return texts["reasoning"], texts["message"]


def _read_response(body: bytes) -> View:
    response = json.loads(body)
    assert response["object"] == "response", response
    assert response["status"] == "completed", response
    return View(*_items_of(response))


def ollama_stream(received: Received) -> Verdict:
    """Read lines to the one that says that it is done, or to an error."""
    reply, error, over = View("", ""), "", False
    text = received.body.decode()
    if text and not text.endswith("\n"):
        raise WrongError(f"the last line has no end: {text[-60:]!r}")
    for line in map(_object, text.split("\n")[:-1]):
        if over:
            raise WrongError(f"{line} after the end")
        if "error" in line:
            error = _line_error(line)
        else:
            more = _ollama_message(line)
            reply = View(reply.thinking + more.thinking, reply.text + more.text)
        over = bool(error) or line["done"]
    if not over:
        raise WrongError("neither done nor an error")
    return Verdict(CUT if error else FULL, (reply.thinking, reply.text), error)


def _ollama_message(reply: dict[str, Any]) -> View:
    """Return the content of a line or a whole reply, in which the package's types have no null."""
    message = reply.get("message")
    if not isinstance(reply.get("done"), bool) or not isinstance(message, dict):
        raise WrongError(f"no reply of Ollama's: {reply}")
    thinking, content = message.get("thinking", ""), message.get("content")
    if not (isinstance(thinking, str) and isinstance(content, str)):
        raise WrongError(f"a message that says {message}")
    return View(thinking, content)


def _read_ollama(body: bytes) -> View:
    reply = json.loads(body)
    assert reply["done"] is True, reply
    return _ollama_message(reply)


def _line_error(line: dict[str, Any]) -> str:
    if not isinstance(line.get("error"), str):
        raise WrongError(f"no words in the error {line!r}")
    return str(line["error"])


@dataclass(frozen=True)
class Client:
    """A client of a dialect: its requests, and its readers of replies."""

    name: str
    path: str
    question: Callable[[bool], bytes]
    stream: Callable[[Received], Verdict]
    whole: Callable[[bytes], View]
    streams_as: str = "text/event-stream"


def _asks(stream: bool) -> bytes:
    return question(stream=stream)


def _asks_for_a_response(stream: bool) -> bytes:
    return json.dumps({"model": "small", "input": "hi", "stream": stream}).encode()


CLIENTS = {
    "openai": Client("openai", OPENAI.path, _asks, openai_stream, OPENAI.read_whole),
    "anthropic": Client("anthropic", ANTHROPIC.path, _asks, anthropic_stream, ANTHROPIC.read_whole),
    "responses": Client(
        "responses", "/v1/responses", _asks_for_a_response, responses_stream, _read_response
    ),
    "ollama": Client(
        "ollama", "/api/chat", _asks, ollama_stream, _read_ollama, "application/x-ndjson"
    ),
}


STREAMS = {client.name: client.stream for client in CLIENTS.values()}


def judge(port: int, dialect: str, stream: bool) -> Verdict:
    """Send a dialect's request; return the verdict on the reply. Raises WrongError."""
    client = CLIENTS[dialect]
    return verdict_of(hear(port, client.path, client.question(stream)), client, stream)


def verdict_of(received: Received, client: Client, stream: bool) -> Verdict:
    """Return the verdict on a received reply. Raises WrongError."""
    dialect = client.name
    if received.status >= 400:
        return failure(received, dialect)
    if received.kind.startswith(client.streams_as) != stream:
        raise WrongError(f"a reply of type {received.kind!r}")
    return client.stream(received) if stream else whole_reply(client.whole)(received)
