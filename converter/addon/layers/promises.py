"""One exchange: broken-off replies end properly, silent replies are pinged, and failures are
reported in the client's dialect.

mitmproxy's own methods stay as they are. Where one of them is about to send the client an error,
that command alone is replaced (`_in_dialect`), by the stream function's or the addon's.
"""

import asyncio
from collections.abc import Callable, Generator
from time import monotonic
from typing import Any, Self, cast

from mitmproxy.http import Request, Response
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layer import CommandGenerator

from converter.addon.layer_contract import BodyReader, Connections, StreamFunction
from converter.addon.layers.guard import (
    ErrorCode,
    HttpErrorHook,
    HttpLayer,
    HttpResponseHook,
    HttpStream,
    ReceiveBuffer,
    RequestData,
    RequestEndOfMessage,
    RequestHeaders,
    RequestProtocolError,
    ResponseData,
    ResponseEndOfMessage,
    ResponseHeaders,
    ResponseProtocolError,
    SendHttp,
    awaited_command,
    forget_waiting,
    is_paused,
    layer_within,
)
from converter.addon.layers.mends.http1_server import ServerConnection
from converter.addon.layers.splice import splice
from converter.addon.layers.stream_turns import (
    call_in_turns,
    is_stream_function,
    may_follow,
    may_leave,
)
from converter.addon.mitmproxy_internals import value_of
from converter.core.wire.bounds import BODY_LIMIT

type Ending = Callable[[], CommandGenerator[None]]


class Tick(events.Event):
    """A look whether a client has waited too long is due."""


class BodyBuffer(ReceiveBuffer):
    """The first bytes of a body: bytes beyond the limit are dropped."""

    @property
    def fault(self) -> str:
        """The fault of a body that had to be complete and is too long; else empty."""
        too_long = f"reply too long: more than {BODY_LIMIT >> 20} megabytes in one piece"
        return too_long if len(self) > BODY_LIMIT else ""

    def __iadd__(self, piece: bytes) -> Self:
        if len(self) <= BODY_LIMIT:
            super().__iadd__(piece)
        return self


class StreamLayer(HttpStream):
    """mitmproxy's stream, with the promises above.

    Attributes:
        spoke: when the client was last sent anything, by the monotonic clock.
    """

    def __init__(self, context: Context, stream_id: int, layer: Connections) -> None:
        super().__init__(context, stream_id)
        self._layer = layer
        self._function: StreamFunction | None = None
        self._early: Response | None = None
        self._resumed: asyncio.Future[None] | None = None
        self.spoke = monotonic()
        self.response_body_buf: BodyBuffer = BodyBuffer()  # type: ignore[no-untyped-call]  # theirs

    @property
    def streams(self) -> bool:
        """Return True if the server's body is being passed on as it comes."""
        return bool(self.server_state == self.state_stream_response_body)

    @property
    def _waits(self) -> bool:
        """Return True if the request is complete and no byte of a reply has been sent."""
        waiting = (self.state_wait_for_response_headers, self.state_consume_response_body)
        unanswered = self.server_state in waiting and self._function is None
        return unanswered and self.client_state == self.state_done

    def has_spoken(self) -> None:
        """Note that the client was sent something."""
        self.spoke = monotonic()

    async def resumed(self) -> None:
        """Return when no hook is waited for, and all events of the meantime were taken."""
        while isinstance(awaited_command(self), commands.StartHook):
            if self._resumed is None:
                self._resumed = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._resumed)

    def handle_event(self, event: events.Event) -> CommandGenerator[None]:
        """Wake those who wait in `resumed` when the exchange continues after a hook."""
        yield from super().handle_event(event)
        if self._resumed and not is_paused(self):
            self._resumed.set_result(None)
            self._resumed = None

    def _handle_event(self, event: events.Event) -> CommandGenerator[None]:
        return self._tick() if isinstance(event, Tick) else super()._handle_event(event)

    def _tick(self) -> CommandGenerator[None]:
        if monotonic() < self.spoke + self._layer.listener.seconds_of_silence:
            return
        self.has_spoken()
        if self._function:
            yield from self._say(self._function.ping())
        elif self._waits and self.server_state == self.state_wait_for_response_headers:
            yield from self._start_early()

    def _start_early(self) -> CommandGenerator[None]:
        """Begin the stream before the server does. The server's own head is read when it comes."""
        early = self._layer.listener.early(self.flow)
        if early is None or not is_stream_function(early.stream):
            return
        self.flow.response = self._early = early
        yield from super().start_response_stream()
        self.server_state = self.state_wait_for_response_headers
        self._function = early.stream
        yield from self._say(self._function.ping())

    def start_request_stream(self) -> CommandGenerator[None]:
        """Pass a request on as it comes. mitmproxy breaks if an addon behind ours has answered."""
        if self.flow.response:
            self.client_state = self.state_consume_request_body
        else:
            yield from super().start_request_stream()

    def start_response_stream(self) -> CommandGenerator[None]:
        """Send the head, if no head was sent early; from now on the body's bytes pass."""
        if self._early is None:
            yield from super().start_response_stream()
        else:
            self.server_state = self.state_stream_response_body
        assert self.flow.response
        if is_stream_function(self.flow.response.stream):
            self._function = self.flow.response.stream
        self.has_spoken()
        splice(self._layer.connection_handler, cast(HttpLayer, self._layer), self)

    def state_stream_response_body(self, event: events.Event) -> CommandGenerator[None]:
        """Pass bytes through the layers: with the head, through TLS, or in a long call."""
        function = self._function
        if function and isinstance(event, ResponseData):
            if event.data:  # an empty frame of HTTP/2 is no end
                yield from call_in_turns(function, event.data, self._say)
                if may_leave(function) and function.stopped:
                    yield from self._leave(function)
            return
        if may_follow(function) and isinstance(event, ResponseEndOfMessage):
            yield from self._leave(function)
            return
        if function and function.is_long and isinstance(event, ResponseEndOfMessage):
            yield from call_in_turns(function, b"", self._say)
            self.flow.response.stream = True  # type: ignore[union-attr]  # it has had its end
        yield from super().state_stream_response_body(event)

    def _leave(self, function: StreamFunction | BodyReader) -> CommandGenerator[None]:
        """Leave the server, in the middle of its reply or behind it; send another request, or end
        the client's body.
        """
        server = self.context.server
        connection = self._layer.connections.get(server)
        ours = layer_within(connection, ServerConnection)
        again = function.next_request(possible=bool(ours))
        forget_waiting(self, (ResponseData, ResponseEndOfMessage, ResponseProtocolError))
        if ours:
            yield from ours.leave()
        else:
            reason, code = "the addon leaves the reply", ErrorCode.CANCEL
            yield SendHttp(RequestProtocolError(self.stream_id, reason, code), server)
        if again:
            yield from self._ask_again(again)
        else:
            yield from self.server_state(ResponseEndOfMessage(self.stream_id))

    def _ask_again(self, request: Request) -> CommandGenerator[None]:
        """Send another request, whose reply continues the body that the client is getting."""
        self._early = self.flow.response if self.streams else self._early
        self.server_state = self.state_wait_for_response_headers
        self.response_body_buf.clear()  # type: ignore[no-untyped-call]  # theirs
        first, self.flow.request = self.flow.request, request
        connected = yield from self.make_server_connection()
        self.flow.request = first
        if connected:
            server, body = self.context.server, request.raw_content or b""
            yield SendHttp(RequestHeaders(self.stream_id, request, end_stream=False), server)
            yield SendHttp(RequestData(self.stream_id, body), server)
            yield SendHttp(RequestEndOfMessage(self.stream_id), server)

    def state_consume_request_body(self, event: events.Event) -> CommandGenerator[None]:
        """Hold a request up to its limit, and drop the bytes beyond, so that the client gets the
        answer in place of a connection that breaks.
        """
        if isinstance(event, RequestData):
            size = len(self.request_body_buf) + len(event.data)
            if not self._layer.listener.takes(self.flow, size):
                return
        yield from super().state_consume_request_body(event)

    def state_consume_response_body(self, event: events.Event) -> CommandGenerator[None]:
        """Hold a whole reply, up to its limit. A stream function that holds the body itself gets it
        instead.
        """
        watch = self._layer.listener.watcher(self.flow)
        watch = watch if isinstance(event, ResponseData) else None
        if watch and isinstance(event, ResponseData) and event.data:  # an empty frame is no end
            if is_stream_function(watch):
                yield from call_in_turns(watch, event.data, _drop)
            else:
                watch(event.data)
        if watch is None or not watch.holds:
            yield from super().state_consume_response_body(event)
        if watch and watch.stopped:
            yield from self._leave(watch)
        if watch:
            return
        if fault := self.response_body_buf.fault:
            self.response_body_buf.clear()  # type: ignore[no-untyped-call]  # theirs
            code = ErrorCode.RESPONSE_TOO_LARGE
            failure = ResponseProtocolError(self.stream_id, fault, code)
            yield from self.handle_protocol_error(failure)
            yield commands.CloseConnection(self.context.server)

    def send_response(self, already_streamed: bool = False) -> CommandGenerator[None]:
        """Send a whole reply, or its content in the stream that began early."""
        self._function = None
        if already_streamed or self._early is None:
            yield from super().send_response(already_streamed)
            return
        replies = super().send_response(already_streamed=True)
        for command in replies:
            yield command
            if isinstance(command, HttpResponseHook) and is_stream_function(self._early.stream):
                late = self._layer.listener.late(self.flow, self._early.stream)
                yield from self._say(late)

    def handle_protocol_error(
        self, event: RequestProtocolError | ResponseProtocolError
    ) -> CommandGenerator[None]:
        """End the exchange because a side has failed; report the server's failure to the client."""
        failing = super().handle_protocol_error(event)
        if isinstance(event, RequestProtocolError):
            yield from failing
        elif self.server_state != self.state_errored:  # a bad chunk is followed by the closing
            yield from self._in_dialect(failing)

    def check_invalid(self, request: bool) -> CommandGenerator[bool]:
        """Refuse a head with bad headers. Note the client's own `Host`, which a request has only
        here.
        """
        if request:
            self._layer.listener.hosts[self.flow] = self.flow.request.host_header or ""
        checks = super().check_invalid(request)
        return checks if request else self._in_dialect(checks)

    def check_body_size(self, request: bool) -> CommandGenerator[bool]:
        """Refuse a body that is larger than mitmproxy's `body_size_limit`, if that is set. No body
        is streamed for its size (`OwnLayers.configure`). mitmproxy checks eight times in an
        exchange.
        """
        if not value_of("body_size_limit", self.context.options):
            return _nothing()
        checks = super().check_body_size(request)
        return checks if request else self._in_dialect(checks)

    def _in_dialect[T](self, failing: CommandGenerator[T]) -> Generator[Any, Any, T]:
        """Run mitmproxy's handling of a failure, but send the client an error of ours."""
        ending: Ending | None = None
        answer = None
        while True:
            try:
                command = failing.send(answer)
            except StopIteration as stop:
                return stop.value  # type: ignore[no-any-return]
            if isinstance(command, HttpErrorHook) and self.flow.error:
                ending = yield from self._fail(self.flow.error.msg)
            if ending and _is_error(command):
                yield from ending()
                answer = None
            else:
                answer = yield command

    def _fail(self, reason: str) -> CommandGenerator[Ending | None]:
        """Send the reason why the reply is not whole; return how the client's part of the exchange
        ends.
        """
        function, self._function = self._function, None
        if function:
            yield from self._say(function.abort(reason))
            return self._end
        if self._waits and (answer := self._layer.listener.failed(self.flow, reason)):
            self.flow.response = answer
            return self._answer
        return None

    def _answer(self) -> CommandGenerator[None]:
        response, client = self.flow.response, self.context.client
        assert response
        yield SendHttp(ResponseHeaders(self.stream_id, response, end_stream=False), client)
        yield SendHttp(ResponseData(self.stream_id, response.raw_content or b""), client)
        yield from self._end()

    def _end(self) -> CommandGenerator[None]:
        yield SendHttp(ResponseEndOfMessage(self.stream_id), self.context.client)

    def _say(self, pieces: list[bytes]) -> CommandGenerator[None]:
        """Send the client the pieces of a stream function, at once and in one piece."""
        data = b"".join(pieces)
        if not data:
            return
        self.has_spoken()
        if self.context.options.store_streamed_bodies:
            self.response_body_buf += data
        yield SendHttp(ResponseData(self.stream_id, data), self.context.client)


def _drop(_pieces: list[bytes]) -> CommandGenerator[None]:
    """Send nothing of a body that is held."""
    yield from ()


def _nothing() -> CommandGenerator[bool]:
    """Return the check of a body that has no limit."""
    return False
    yield  # makes the function a generator


def _is_error(command: commands.Command) -> bool:
    """Return True if a command sends the client an error. A flow that a person killed just ends."""
    if not isinstance(command, SendHttp) or not isinstance(command.event, ResponseProtocolError):
        return False
    return command.event.code is not ErrorCode.KILL
