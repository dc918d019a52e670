"""The layer of one exchange. It keeps three promises: broken replies end properly, clients of
silent replies get pings, and failures are reported in the client's dialect.

The layer calls mitmproxy's own methods. If such a method is about to send the client an error, only
the command that sends the error is replaced (`_in_dialect`): by the last pieces of the stream
function, or by an error in the client's dialect.
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
from converter.addon.layers.stream_turns import call_in_turns
from converter.addon.mitmproxy_internals import value_of
from converter.core.wire.bounds import BODY_LIMIT

type Ending = Callable[[], CommandGenerator[None]]


class Tick(events.Event):
    """The event at which an exchange's layer checks if its client has waited too long."""


class BodyBuffer(ReceiveBuffer):
    """A buffer for a body up to `BODY_LIMIT`. It drops the bytes beyond the limit."""

    @property
    def fault(self) -> str:
        """The message about a body that is too long to be held; empty if the body fits."""
        too_long = f"reply too long: more than {BODY_LIMIT >> 20} megabytes in one piece"
        return too_long if len(self) > BODY_LIMIT else ""

    def __iadd__(self, piece: bytes) -> Self:
        if len(self) <= BODY_LIMIT:
            super().__iadd__(piece)
        return self


class StreamLayer(HttpStream):
    """mitmproxy's layer of one exchange, changed so that it keeps the promises of this module.

    Attributes:
        spoke: when bytes were last sent to the client, by the monotonic clock.
        response_body_buf: mitmproxy's buffer of a held body, but with a limit.
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
        """Return True while the response's body is streamed to the client."""
        return bool(self.server_state == self.state_stream_response_body)

    @property
    def _waits(self) -> bool:
        """Return True if the request is complete, and the client has got no byte of a response."""
        waiting = (self.state_wait_for_response_headers, self.state_consume_response_body)
        unanswered = self.server_state in waiting and self._function is None
        return unanswered and self.client_state == self.state_done

    def has_spoken(self) -> None:
        """Set `spoke` to now, because bytes are sent to the client."""
        self.spoke = monotonic()

    async def resumed(self) -> None:
        """Wait until the exchange waits for no hook, and has handled the events that were queued
        meanwhile.
        """
        while isinstance(awaited_command(self), commands.StartHook):
            if self._resumed is None:
                self._resumed = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._resumed)

    def handle_event(self, event: events.Event) -> CommandGenerator[None]:
        """Handle an event. If the exchange is then not paused any more, wake the tasks that wait in
        `resumed`.
        """
        yield from super().handle_event(event)
        if self._resumed and not is_paused(self):
            self._resumed.set_result(None)
            self._resumed = None

    def _handle_event(self, event: events.Event) -> CommandGenerator[None]:
        return self._tick() if isinstance(event, Tick) else super()._handle_event(event)

    def _tick(self) -> CommandGenerator[None]:
        """Ping a client that has got no byte for too long, or begin its stream early."""
        if monotonic() < self.spoke + self._layer.listener.seconds_of_silence:
            return
        self.has_spoken()
        if self._function:
            yield from self._say(self._function.ping())
        elif self._waits and self.server_state == self.state_wait_for_response_headers:
            yield from self._start_early()

    def _start_early(self) -> CommandGenerator[None]:
        """Send the client a head and a ping before the server answers, if the listener returns a
        head for this exchange. The server's own head is still awaited.
        """
        early = self._layer.listener.early(self.flow)
        if early is None or not isinstance(early.stream, StreamFunction):
            return
        self.flow.response = self._early = early
        yield from super().start_response_stream()
        self.server_state = self.state_wait_for_response_headers
        self._function = early.stream
        yield from self._say(self._function.ping())

    def start_request_stream(self) -> CommandGenerator[None]:
        """Stream a request to the server. If another addon has set a response, hold the request
        instead, because mitmproxy would raise an exception.
        """
        if self.flow.response:
            self.client_state = self.state_consume_request_body
        else:
            yield from super().start_request_stream()

    def start_response_stream(self) -> CommandGenerator[None]:
        """Send the head, unless a head was sent early, and begin to stream the body."""
        if self._early is None:
            yield from super().start_response_stream()
        else:
            self.server_state = self.state_stream_response_body
        assert self.flow.response
        if isinstance(self.flow.response.stream, StreamFunction):
            self._function = self.flow.response.stream
        self.has_spoken()
        splice(self._layer.connection_handler, cast(HttpLayer, self._layer), self)

    def state_stream_response_body(self, event: events.Event) -> CommandGenerator[None]:
        """Handle the events of a body that is streamed: call the stream function for data, and send
        another request if the function wants one.
        """
        function = self._function
        if function and isinstance(event, ResponseData):
            if event.data:  # not for an empty HTTP/2 frame: for the function b"" is the body's end
                yield from self._say((yield from call_in_turns(function, event.data)))
                if function.ends_thoughts and function.stopped:
                    yield from self._leave(function)
            return
        if function and function.follows and isinstance(event, ResponseEndOfMessage):
            yield from self._leave(function)
            return
        if function and function.is_long and isinstance(event, ResponseEndOfMessage):
            yield from self._say((yield from call_in_turns(function, b"")))
            self.flow.response.stream = True  # type: ignore[union-attr]  # the function got its end
        yield from super().state_stream_response_body(event)

    def _leave(self, function: StreamFunction | BodyReader) -> CommandGenerator[None]:
        """Close the connection to the server, in the middle of the response or behind it. Then send
        another request if there is one, else end the client's body.
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
        """Send another request, whose response continues the client's body."""
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
        """Hold the request's body. Drop the bytes beyond the limit, so that the whole request is
        read, and the client gets an error and no broken connection.
        """
        if isinstance(event, RequestData):
            size = len(self.request_body_buf) + len(event.data)
            if not self._layer.listener.takes(self.flow, size):
                return
        yield from super().state_consume_request_body(event)

    def state_consume_response_body(self, event: events.Event) -> CommandGenerator[None]:
        """Hold the response's body, up to the limit. The listener's reader gets each chunk, if
        there is a reader, and may hold the body itself or want another request.
        """
        watch = self._layer.listener.watcher(self.flow)
        watch = watch if isinstance(event, ResponseData) else None
        if watch and isinstance(event, ResponseData) and event.data:  # b"" would be the body's end
            if isinstance(watch, StreamFunction):
                yield from call_in_turns(watch, event.data)  # a tap collects the pieces itself
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
        """Send a whole response. If a stream began early, send the content as the rest of that
        stream.
        """
        self._function = None
        if already_streamed or self._early is None:
            yield from super().send_response(already_streamed)
            return
        replies = super().send_response(already_streamed=True)
        for command in replies:
            yield command
            if isinstance(command, HttpResponseHook) and isinstance(
                self._early.stream, StreamFunction
            ):
                late = self._layer.listener.late(self.flow, self._early.stream)
                yield from self._say(late)

    def handle_protocol_error(
        self, event: RequestProtocolError | ResponseProtocolError
    ) -> CommandGenerator[None]:
        """End the exchange after a failure of the client or the server. Report a failure of the
        server to the client.
        """
        failing = super().handle_protocol_error(event)
        if isinstance(event, RequestProtocolError):
            yield from failing
        elif self.server_state != self.state_errored:  # after a failure, the close is another one
            yield from self._in_dialect(failing)

    def check_invalid(self, request: bool) -> CommandGenerator[bool]:
        """Refuse a head with bad headers. Give the listener the request's `Host`, which mitmproxy
        replaces after this check.
        """
        if request:
            self._layer.listener.hosts[self.flow] = self.flow.request.host_header or ""
        checks = super().check_invalid(request)
        return checks if request else self._in_dialect(checks)

    def check_body_size(self, request: bool) -> CommandGenerator[bool]:
        """Refuse a body that is larger than mitmproxy's `body_size_limit`. If the option is not
        set, skip mitmproxy's check, which runs eight times in an exchange. The check also obeys
        `stream_large_bodies`, but `OwnLayers.configure` switches this option off.
        """
        if not value_of("body_size_limit", self.context.options):
            return _nothing()
        checks = super().check_body_size(request)
        return checks if request else self._in_dialect(checks)

    def _in_dialect[T](self, failing: CommandGenerator[T]) -> Generator[Any, Any, T]:
        """Run `failing`, a method of mitmproxy's that may handle a failure. Replace the error that
        the method sends to the client, if `_fail` returns another end.
        """
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
        """Send the last pieces of a stream that broke. Return the function that ends the response
        to the client; `None`: mitmproxy ends it.
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
        """Send the client the whole response of the flow."""
        response, client = self.flow.response, self.context.client
        assert response
        yield SendHttp(ResponseHeaders(self.stream_id, response, end_stream=False), client)
        yield SendHttp(ResponseData(self.stream_id, response.raw_content or b""), client)
        yield from self._end()

    def _end(self) -> CommandGenerator[None]:
        """End the client's response properly."""
        yield SendHttp(ResponseEndOfMessage(self.stream_id), self.context.client)

    def _say(self, pieces: list[bytes]) -> CommandGenerator[None]:
        """Send the client the pieces of a stream function, joined into one."""
        data = b"".join(pieces)
        if not data:
            return
        self.has_spoken()
        if self.context.options.store_streamed_bodies:
            self.response_body_buf += data
        yield SendHttp(ResponseData(self.stream_id, data), self.context.client)


def _nothing() -> CommandGenerator[bool]:
    """Return False, which is the result of mitmproxy's check for a body that is not too large."""
    return False
    yield  # never reached: the statement makes the function a generator, as the check is


def _is_error(command: commands.Command) -> bool:
    """Return True if a command sends the client an error. Return False for the error of a flow that
    the user has killed, which ends without a message.
    """
    if not isinstance(command, SendHttp) or not isinstance(command.event, ResponseProtocolError):
        return False
    return command.event.code is not ErrorCode.KILL
