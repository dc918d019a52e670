"""Plain HTTP clients for the end-to-end tests, and the two dialects read by hand, strictly.

The official SDKs hide what a proxy may do wrong (connections, headers, the moment at which
something arrives), so most tests read the bytes themselves.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse
from typing import Any, Self

SECONDS = 120  # a reply that is held for ever must fail the test, not stop it


@dataclass(frozen=True)
class View:
    """The content that a client shows. `blocks`: Anthropic's, as (type, text); `stop`: the
    dialect's own word for why the reply ended.
    """

    thinking: str
    text: str
    stop: object = None
    blocks: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes


class Client:
    """One connection, kept for all requests; it never connects anew by itself."""

    def __init__(self, port: int, seconds: float = SECONDS) -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=seconds)
        self._connection.connect()
        self._connection.auto_open = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def begin(
        self,
        target: str,
        body: bytes,
        headers: Mapping[str, str] | None = None,
        method: str = "POST",
    ) -> None:
        """Send a request and wait for nothing."""
        self._connection.request(
            method, target, body, {"content-type": "application/json", **(headers or {})}
        )

    def send(
        self,
        target: str,
        body: bytes,
        headers: Mapping[str, str] | None = None,
        method: str = "POST",
    ) -> HTTPResponse:
        """Send a request and wait for the head of its reply."""
        self.begin(target, body, headers, method)
        return self._connection.getresponse()

    def answer(self) -> Answer:
        """The whole reply to the request begun before."""
        response = self._connection.getresponse()
        return Answer(response.status, headers_of(response), response.read())

    def ask(
        self,
        target: str,
        body: bytes,
        headers: Mapping[str, str] | None = None,
        method: str = "POST",
    ) -> Answer:
        self.begin(target, body, headers, method)
        return self.answer()


class Live:
    """A reply as it arrives."""

    def __init__(self, response: HTTPResponse) -> None:
        self._response = response
        self.got = b""

    def until(self, marker: bytes) -> bytes:
        """Wait for `marker`; return all bytes so far, which only the proxy can have passed on."""
        while marker not in self.got:
            piece = self._response.read1()
            assert piece, f"the reply ended without {marker!r}: {self.got!r}"
            self.got += piece
        return self.got

    def rest(self) -> bytes:
        """Wait for the reply's end; return all of it."""
        self.got += self._response.read()
        return self.got


def headers_of(response: HTTPResponse) -> dict[str, str]:
    return {name.lower(): value for name, value in response.getheaders()}


def payloads(body: bytes) -> list[dict[str, Any]]:
    """The JSON objects of a stream's data lines."""
    lines = [
        line.removeprefix(b"data:").strip()
        for line in body.split(b"\n")
        if line.startswith(b"data:")
    ]
    return [json.loads(line) for line in lines if line != b"[DONE]"]


def read_openai_stream(body: bytes, index: int = 0) -> View:
    """One choice of a stream."""
    texts: dict[str, str] = {"reasoning_content": "", "content": ""}
    stop = None
    for payload in payloads(body):
        for choice in (choice for choice in payload["choices"] if choice["index"] == index):
            stop = choice.get("finish_reason") or stop
            for name in texts:
                texts[name] += choice["delta"].get(name) or ""
    return View(texts["reasoning_content"], texts["content"], stop)


def read_openai_whole(body: bytes, index: int = 0) -> View:
    choice = json.loads(body)["choices"][index]
    message = choice["message"]
    return View(
        message.get("reasoning_content") or "", message["content"] or "", choice["finish_reason"]
    )


def read_anthropic_stream(body: bytes) -> View:
    """A whole stream, which must be strictly sequential: blocks 0, 1, 2 ... each started, filled
    and stopped before the next.
    """
    reader = _BlockReader()
    for frame in body.strip().split(b"\n\n"):
        if not frame.startswith(b":"):
            name, value = frame.split(b"\n")
            payload = json.loads(value.removeprefix(b"data: "))
            assert name == b"event: " + payload["type"].encode(), frame
            reader.feed(payload)
    assert reader.expects == (), f"the stream ends too early: {body!r}"
    return _shown(reader.blocks, reader.stop)


class _BlockReader:
    """Reads blocks; one field says which event may come next, and any other is an error."""

    def __init__(self) -> None:
        self.expects: tuple[str, ...] = ("message_start",)
        self.blocks: list[dict[str, Any]] = []
        self.stop: object = None

    def feed(self, payload: dict[str, Any]) -> None:
        kind = payload["type"]
        if kind == "ping":
            return
        assert kind in self.expects, (kind, self.expects)
        getattr(self, f"_{kind}")(payload)

    def _message_start(self, payload: dict[str, Any]) -> None:
        assert payload["message"]["content"] == []
        self.expects = ("content_block_start", "message_delta")

    def _content_block_start(self, payload: dict[str, Any]) -> None:
        assert payload["index"] == len(self.blocks)
        self.blocks.append(dict(payload["content_block"]))
        self.expects = ("content_block_delta", "content_block_stop")

    def _content_block_delta(self, payload: dict[str, Any]) -> None:
        assert payload["index"] == len(self.blocks) - 1
        delta = dict(payload["delta"])
        name = delta.pop("type").removesuffix("_delta")
        assert list(delta) == [name]
        self.blocks[-1][name] += delta[name]
        self.expects = ("content_block_stop",) if name == "signature" else self.expects

    def _content_block_stop(self, payload: dict[str, Any]) -> None:
        assert payload["index"] == len(self.blocks) - 1
        self.expects = ("content_block_start", "message_delta")

    def _message_delta(self, payload: dict[str, Any]) -> None:
        self.stop = payload["delta"]["stop_reason"]
        assert payload["usage"]["output_tokens"] >= 0
        self.expects = ("message_stop",)

    def _message_stop(self, _: dict[str, Any]) -> None:
        self.expects = ()


def read_anthropic_whole(body: bytes) -> View:
    message = json.loads(body)
    assert message["type"] == "message", message
    return _shown(message["content"], message["stop_reason"])


def _shown(blocks: list[dict[str, Any]], stop: object) -> View:
    for block in blocks:
        assert block["type"] == "text" or block["signature"], "clients drop unsigned thinking"
        assert block["type"] == "thinking" or block["text"].strip(), (
            "the API refuses a text block of nothing but blanks"
        )
    parts = tuple((block["type"], block[block["type"]]) for block in blocks)
    thoughts = [text for kind, text in parts if kind == "thinking"]
    return View(
        "\n\n".join(thoughts), "".join(text for kind, text in parts if kind == "text"), stop, parts
    )


@dataclass(frozen=True)
class Dialect:
    """A client's dialect, so that one test runs for both."""

    name: str
    path: str
    finished: str
    read_stream: Callable[[bytes], View]
    read_whole: Callable[[bytes], View]

    def read(self, body: bytes, stream: bool) -> View:
        return self.read_stream(body) if stream else self.read_whole(body)


OPENAI = Dialect("openai", "/v1/chat/completions", "stop", read_openai_stream, read_openai_whole)
ANTHROPIC = Dialect(
    "anthropic", "/v1/messages", "end_turn", read_anthropic_stream, read_anthropic_whole
)


def question(stream: bool, **fields: object) -> bytes:
    """A request that means the same in both dialects."""
    body = {
        "model": "small",
        "max_tokens": 200,
        "messages": [{"role": "user", "content": "hi"}],
        "stream": stream,
    }
    return json.dumps(body | fields).encode()


def anthropic_error(body: bytes) -> str:
    """The message of an error in Anthropic's shape."""
    error = json.loads(body)
    assert error["type"] == "error", error
    assert set(error["error"]) >= {"type", "message"}
    return str(error["error"]["message"])
