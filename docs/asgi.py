"""Thinking in its place for an ASGI server of chat completions (Starlette, FastAPI), without a
proxy. It needs `converter/core` and the standard library.

    app = Thinking(app)

The app answers `/v1/chat/completions`. Around it `/v1/messages`, `/v1/responses` and `/api/chat`
are answered as well, and thinking that stands in tags arrives in each API's own place.
"""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from converter.core.dialects.dialect import Endpoint, Purpose
from converter.core.dialects.recogniser import is_stream
from converter.core.dialects.table import COMMON, by_name, find_endpoint
from converter.core.library import Request, rewriter, translate
from converter.core.reply.rewriter import Rewriter
from converter.core.wire import json_text

type Message = MutableMapping[str, Any]
type Scope = MutableMapping[str, Any]
type Receive = Callable[[], Awaitable[Message]]
type Send = Callable[[Message], Awaitable[None]]
type App = Callable[[Scope, Receive, Send], Awaitable[None]]

OURS = (b"content-length", b"content-type", b"transfer-encoding")
"""Headers that are written anew."""


class Thinking:
    """An app that answers clients of every dialect, around one that answers chat completions."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; one for anything but a model's reply is the app's own."""
        method = scope.get("method", "")
        found = find_endpoint(method, scope["path"]) if scope["type"] == "http" else None
        if found is None or found[0].purpose is not Purpose.REPLY:
            await self._app(scope, receive, send)
            return
        endpoint, prefix = found
        body = await _whole(receive)
        try:
            asked = translate(body, client=endpoint.dialect)
        except ValueError as error:
            answers = by_name(endpoint.dialect).answers
            await _answer(send, 400, answers.error(str(error), "invalid_request_error", 400))
            return
        if endpoint.dialect != COMMON.name:
            path = prefix + COMMON.requests.path
            body = json_text.write(asked.body)
            scope = {**scope, "path": path, "raw_path": path.encode()}
        length = (b"content-length", str(len(body)).encode())
        others = [header for header in scope["headers"] if header[0] not in OURS]
        headers = [*others, length, (b"content-type", b"application/json")]
        reply = Reply(endpoint, asked, send)
        try:
            await self._app({**scope, "headers": headers}, _again(body, receive), reply.send)
        except Exception as error:
            await reply.broke_off(str(error) or type(error).__name__)
            raise


class Reply:
    """A reply of the app, on its way to a client. `send`: takes the app's messages."""

    def __init__(self, endpoint: Endpoint, asked: Request, send: Send) -> None:
        self._dialect = by_name(endpoint.dialect)
        self._asked = asked
        self._send = send
        self._rewriter: Rewriter | None = None
        self._status = 0
        self._error = b""

    async def send(self, message: Message) -> None:
        """Send the client what it can have of one of the app's messages."""
        if message["type"] == "http.response.start":
            await self._start(message)
        elif message["type"] == "http.response.body":
            await self._body(message.get("body", b""), bool(message.get("more_body")))
        else:
            await self._send(message)

    async def _start(self, message: Message) -> None:
        self._status = message["status"]
        if self._status != 200:  # its body tells the rest
            return
        headers = [*message.get("headers", ())]
        kind = next((value.decode() for name, value in headers if name == b"content-type"), "")
        name = self._dialect.name
        self._rewriter = rewriter(client=name, request=self._asked, stream=is_stream(kind))
        framing = self._dialect.wire.framing
        kind = framing.content_type if self._asked.stream else "application/json"
        headers = [header for header in headers if header[0] not in OURS]
        headers.append((b"content-type", kind.encode()))
        await self._send({**message, "headers": headers})

    async def _body(self, chunk: bytes, more: bool) -> None:
        if self._rewriter is None:
            self._error += chunk
            if not more:
                written = self._dialect.answers.error_reply(self._status, self._error, None)
                status, said = written or (self._status, None)
                await _answer(self._send, status, json_text.write(said) if said else self._error)
            return
        out = self._rewriter.feed(chunk)
        out += [] if more else self._rewriter.close()
        if out or not more:
            await self._send(_body(b"".join(out), more))

    async def broke_off(self, reason: str) -> None:
        """End the reply of an app that failed in its middle, in the client's words."""
        if self._rewriter and not self._rewriter.closed:
            await self._send(_body(b"".join(self._rewriter.abort(reason)), False))


async def _whole(receive: Receive) -> bytes:
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message["type"] == "http.request" and message.get("more_body", False)
    return body


def _again(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that tells this body first, and then what comes of the client."""
    told = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return told.pop() if told else await receive()

    return again


def _body(data: bytes, more: bool) -> Message:
    return {"type": "http.response.body", "body": data, "more_body": more}


async def _answer(send: Send, status: int, body: bytes) -> None:
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send(_body(body, False))
