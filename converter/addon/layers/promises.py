"""`StreamLayer`: our layer of one exchange. It calls the stream function, sends the server a next
request, and keeps three promises: broken replies end properly, clients of silent replies get pings,
and failures are reported in the client's dialect.

The layer calls mitmproxy's own methods. If such a method is about to send the client an error,
`_report_in_dialect` replaces the command that sends it: by the last pieces of the stream function
if the reply is a running stream, else by the error that the listener makes in the client's dialect.
mitmproxy's error stays if the listener makes none, or if a person has killed the flow.
"""

import asyncio
from collections.abc import Callable, Generator
from time import monotonic
from typing import Any, Self, cast

from mitmproxy.http import Response
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
    drop_queued_events,
    is_paused,
    layer_within,
)
from converter.addon.layers.mends.http1_server import ServerConnection
from converter.addon.layers.splice import move_to_splice
from converter.addon.layers.stream_turns import call_in_turns
from converter.addon.mitmproxy_internals import value_of
from converter.core.wire.bounds import BODY_LIMIT

type Ending = Callable[[], CommandGenerator[None]]
"""Sends the client the end of a failed response, in place of mitmproxy's error."""


class Tick(events.Event):
    """The event at which an exchange's layer checks how long ago its client got the last byte."""


class BodyBuffer(ReceiveBuffer):
    """A buffer for a response's body. Once it is longer than `BODY_LIMIT`, it drops new bytes."""

    @property
    def fault(self) -> str:
        """The error's reason if the body was too long for the buffer; empty if the body fits."""
        too_long = f"reply too long: more than {BODY_LIMIT >> 20} megabytes in one piece"
        return too_long if len(self) > BODY_LIMIT else ""

    def __iadd__(self, piece: bytes) -> Self:
        if len(self) <= BODY_LIMIT:
            super().__iadd__(piece)
        return self


class StreamLayer(HttpStream):
    """mitmproxy's layer of one exchange, changed so that it keeps the promises of this module.

    Attributes:
        last_sent_at: when bytes were last sent to the client, in seconds of the monotonic clock.
        response_body_buf: mitmproxy's buffer for the response's body, but with a limit
            (`BodyBuffer`).
    """

    def __init__(self, context: Context, stream_id: int, layer: Connections) -> None:
        super().__init__(context, stream_id)
        self._layer = layer
        self._function: StreamFunction | None = None
        self._early_head: Response | None = None
        self._resumed: asyncio.Future[None] | None = None
        self.last_sent_at = monotonic()
        self.response_body_buf: BodyBuffer = BodyBuffer()  # type: ignore[no-untyped-call]

    @property
    def streams(self) -> bool:
        """Return True while the response's body is streamed to the client."""
        return bool(self.server_state == self.state_stream_response_body)

    @property
    def _is_unanswered(self) -> bool:
        """Return True if the client waits: its request is complete, and it has got no byte of a
        response.
        """
        waiting = (self.state_wait_for_response_headers, self.state_consume_response_body)
        unanswered = self.server_state in waiting and self._function is None
        return unanswered and self.client_state == self.state_done

    def restart_silence(self) -> None:
        """Set `last_sent_at` to now, because bytes are sent to the client."""
        self.last_sent_at = monotonic()

    async def wait_until_resumed(self) -> None:
        """Wait until no hook pauses the exchange, and the events that were queued meanwhile are
        handled.
        """
        while isinstance(awaited_command(self), commands.StartHook):
            if self._resumed is None:
                self._resumed = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._resumed)

    def handle_event(self, event: events.Event) -> CommandGenerator[None]:
        """Have mitmproxy's method handle an event. If the exchange is not paused afterwards, wake
        the tasks that wait in `wait_until_resumed`.
        """
        yield from super().handle_event(event)
        if self._resumed and not is_paused(self):
            self._resumed.set_result(None)
            self._resumed = None

    def _handle_event(self, event: events.Event) -> CommandGenerator[None]:
        """Check for silence at a `Tick`; handle any other event by mitmproxy's method."""
        return self._end_silence() if isinstance(event, Tick) else super()._handle_event(event)

    def _end_silence(self) -> CommandGenerator[None]:
        """Send the client a ping if it has got no byte for too long. If the client has no response
        head yet, first send it the head that the listener returns. Send nothing if there is none,
        or if no `StreamFunction` makes the client's stream.
        """
        if monotonic() < self.last_sent_at + self._layer.listener.seconds_of_silence:
            return
        self.restart_silence()
        if self._function is None:
            waits = self.server_state == self.state_wait_for_response_headers
            early = waits and self._is_unanswered and self._layer.listener.early_head(self.flow)
            if not early or not isinstance(early.stream, StreamFunction):
                return
            self.flow.response = self._early_head = early
            yield from super().start_response_stream()
            # the server's own head is still to come: set the state back to what it was
            self.server_state = self.state_wait_for_response_headers
            self._function = early.stream
        yield from self._send_pieces(self._function.ping())

    def start_request_stream(self) -> CommandGenerator[None]:
        """Begin to stream the request to the server. If another addon has set a response already,
        hold the request instead, because mitmproxy would raise an exception.
        """
        if self.flow.response:
            self.client_state = self.state_consume_request_body
        else:
            yield from super().start_request_stream()

    def start_response_stream(self) -> CommandGenerator[None]:
        """Send the client the response's head, unless it got one early, and begin to stream the
        body, in the splice if possible (`move_to_splice`).
        """
        if self._early_head is None:
            yield from super().start_response_stream()
        else:
            self.server_state = self.state_stream_response_body
        assert self.flow.response
        if isinstance(self.flow.response.stream, StreamFunction):
            self._function = self.flow.response.stream
        self.restart_silence()
        move_to_splice(self._layer.connection_handler, cast(HttpLayer, self._layer), self)

    def state_stream_response_body(self, event: events.Event) -> CommandGenerator[None]:
        """Handle an event of a response's body that is streamed: send the client the pieces that
        the stream function returns for the data. Leave the server in the middle of the body if the
        function needs no more of it (`may_leave_server` and `stopped`), or at the body's end if the
        function then has a request to send (`wants_next_request`).
        """
        function = self._function
        if function and isinstance(event, ResponseData):
            if event.data:  # HTTP/2 has empty frames, but the function takes b"" for the body's end
                yield from self._send_pieces((yield from call_in_turns(function, event.data)))
                if function.may_leave_server and function.stopped:
                    yield from self._leave_server(function)
            return
        if function and function.wants_next_request and isinstance(event, ResponseEndOfMessage):
            yield from self._leave_server(function)
            return
        if function and function.is_long and isinstance(event, ResponseEndOfMessage):
            yield from self._send_pieces((yield from call_in_turns(function, b"")))
            self.flow.response.stream = True  # type: ignore[union-attr]  # the function has got b""
        yield from super().state_stream_response_body(event)

    def _leave_server(self, function: StreamFunction | BodyReader) -> CommandGenerator[None]:
        """Leave the server, because no more of its response is wanted: close its connection
        (HTTP/1), or cancel the stream (HTTP/2). Then send the server the next request that
        `function` returns; if there is none, end the body of the client's response.
        """
        server = self.context.server
        connection = self._layer.connections.get(server)
        ours = layer_within(connection, ServerConnection)
        again = function.next_request(possible=bool(ours))
        drop_queued_events(self, (ResponseData, ResponseEndOfMessage, ResponseProtocolError))
        if ours:
            yield from ours.leave()
        else:
            reason, code = "the addon leaves the reply", ErrorCode.CANCEL
            yield SendHttp(RequestProtocolError(self.stream_id, reason, code), server)
        if again is None:
            yield from self.server_state(ResponseEndOfMessage(self.stream_id))
            return
        # the next response continues the body that the client gets; if the client has got no head
        # yet, it becomes the client's response
        self._early_head = self.flow.response if self.streams else self._early_head
        self.server_state = self.state_wait_for_response_headers
        self.response_body_buf.clear()  # type: ignore[no-untyped-call]  # untyped in mitmproxy
        first, self.flow.request = self.flow.request, again
        connected = yield from self.make_server_connection()
        self.flow.request = first
        if connected:
            server, body = self.context.server, again.raw_content or b""
            yield SendHttp(RequestHeaders(self.stream_id, again, end_stream=False), server)
            yield SendHttp(RequestData(self.stream_id, body), server)
            yield SendHttp(RequestEndOfMessage(self.stream_id), server)

    def state_consume_request_body(self, event: events.Event) -> CommandGenerator[None]:
        """Collect the body of the client's request. Bytes beyond the user's limit are read, but
        dropped, so that the client gets an error as its response and not a broken connection.
        """
        if isinstance(event, RequestData):
            size = len(self.request_body_buf) + len(event.data)
            if not self._layer.listener.allows_size(self.flow, size):
                return
        yield from super().state_consume_request_body(event)

    def state_consume_response_body(self, event: events.Event) -> CommandGenerator[None]:
        """Collect the body of a server's response that is not streamed. If it is longer than
        `BODY_LIMIT`, the client gets an error, and the server's connection is closed. If the
        listener has a reader for the body, the reader gets each chunk. The reader may keep the body
        itself (`holds`), or have the layers leave the server (`stopped`).
        """
        watch = self._layer.listener.body_reader(self.flow)
        watch = watch if isinstance(event, ResponseData) else None
        # an empty chunk is skipped, because a reader takes b"" for the body's end
        if watch and isinstance(event, ResponseData) and event.data:
            if isinstance(watch, StreamFunction):
                # a tap that is called as a reader keeps its pieces itself, in `late_pieces`
                yield from call_in_turns(watch, event.data)
            else:
                watch(event.data)
        if watch is None or not watch.holds:
            yield from super().state_consume_response_body(event)
        if watch and watch.stopped:
            yield from self._leave_server(watch)
        if watch:
            return
        if fault := self.response_body_buf.fault:
            self.response_body_buf.clear()  # type: ignore[no-untyped-call]  # untyped in mitmproxy
            code = ErrorCode.RESPONSE_TOO_LARGE
            failure = ResponseProtocolError(self.stream_id, fault, code)
            yield from self.handle_protocol_error(failure)
            yield commands.CloseConnection(self.context.server)

    def send_response(self, already_streamed: bool = False) -> CommandGenerator[None]:
        """Send the client a whole response. If the client has got a head and the beginning of a
        stream, send the listener's `last_pieces` as the rest of this stream. `already_streamed`:
        True if the client has got the body as a stream, so that only its end is to be sent.
        """
        self._function = None
        if already_streamed or self._early_head is None:
            yield from super().send_response(already_streamed)
            return
        replies = super().send_response(already_streamed=True)
        for command in replies:
            yield command
            if isinstance(command, HttpResponseHook) and isinstance(
                self._early_head.stream, StreamFunction
            ):
                late = self._layer.listener.last_pieces(self.flow, self._early_head.stream)
                yield from self._send_pieces(late)

    def handle_protocol_error(
        self, event: RequestProtocolError | ResponseProtocolError
    ) -> CommandGenerator[None]:
        """End the exchange after a failure of the client or of the server. A failure of the server
        is reported to the client in its dialect.
        """
        failing = super().handle_protocol_error(event)
        if isinstance(event, RequestProtocolError):
            yield from failing
        # only the first failure counts: a second one comes when the failed connection is closed
        elif self.server_state != self.state_errored:
            yield from self._report_in_dialect(failing)

    def check_invalid(self, request: bool) -> CommandGenerator[bool]:
        """Have mitmproxy's method check a head; it refuses a bad head, and then returns True. First
        give the listener the `Host` of the client's request, because mitmproxy replaces it later.
        `request`: True for the head of the client's request, False for the server's response.
        """
        if request:
            self._layer.listener.hosts[self.flow] = self.flow.request.host_header or ""
        checks = super().check_invalid(request)
        return checks if request else self._report_in_dialect(checks)

    def check_body_size(self, request: bool) -> CommandGenerator[bool]:
        """Refuse a body that is larger than mitmproxy's option `body_size_limit`, and return True
        for it. If the option is not set, skip mitmproxy's check, which runs eight times in an
        exchange. The check also obeys `stream_large_bodies`, but `OwnLayers.configure` switches
        this option off. `request`: True for the body of the client's request, False for that of the
        server's response.
        """
        if not value_of("body_size_limit", self.context.options):
            return False
        checks = super().check_body_size(request)
        return (yield from (checks if request else self._report_in_dialect(checks)))

    def _report_in_dialect[T](self, failing: CommandGenerator[T]) -> Generator[Any, Any, T]:
        """Run `failing`, a method of mitmproxy's that may report a failure, and return its result.
        If the method is about to send the client mitmproxy's error, call the function that
        `_end_failed_response` returns, if any, instead.
        """
        ending: Ending | None = None
        answer = None
        while True:
            try:
                command = failing.send(answer)
            except StopIteration as stop:
                return stop.value  # type: ignore[no-any-return]
            if isinstance(command, HttpErrorHook) and self.flow.error:
                ending = yield from self._end_failed_response(self.flow.error.msg)
            # a flow that the user has killed (KILL) ends without a message: its connection closes
            if (
                ending
                and isinstance(command, SendHttp)
                and isinstance(command.event, ResponseProtocolError)
                and command.event.code is not ErrorCode.KILL
            ):
                yield from ending()
                answer = None
            else:
                answer = yield command

    def _end_failed_response(self, reason: str) -> CommandGenerator[Ending | None]:
        """Prepare the end of a response that failed for `reason`. If the response is a running
        stream, send its last pieces. Return the function that ends the client's response, or `None`
        if mitmproxy's own error is to end it.
        """
        function, self._function = self._function, None
        if function:
            yield from self._send_pieces(function.abort(reason))
            return self._end_response
        if self._is_unanswered and (answer := self._layer.listener.make_error(self.flow, reason)):
            self.flow.response = answer
            return self._send_whole_response
        return None

    def _send_whole_response(self) -> CommandGenerator[None]:
        """Send the client the flow's response, which is whole."""
        response, client = self.flow.response, self.context.client
        assert response
        yield SendHttp(ResponseHeaders(self.stream_id, response, end_stream=False), client)
        yield SendHttp(ResponseData(self.stream_id, response.raw_content or b""), client)
        yield from self._end_response()

    def _end_response(self) -> CommandGenerator[None]:
        """End the client's response as complete."""
        yield SendHttp(ResponseEndOfMessage(self.stream_id), self.context.client)

    def _send_pieces(self, pieces: list[bytes]) -> CommandGenerator[None]:
        """Send the client the pieces that a stream function has returned, joined into one."""
        data = b"".join(pieces)
        if not data:
            return
        self.restart_silence()
        if self.context.options.store_streamed_bodies:
            self.response_body_buf += data
        yield SendHttp(ResponseData(self.stream_id, data), self.context.client)
