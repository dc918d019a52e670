"""The layer of one client's connection, which gives its exchanges our stream layer and
one timer.
"""

import asyncio
from time import monotonic
from typing import Any
from weakref import WeakSet

from mitmproxy.connection import Connection, ConnectionState
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layer import CommandGenerator, NextLayer

from converter.addon.layer_contract import Listener
from converter.addon.layers.guard import (
    SPEED,
    ErrorCode,
    GetHttpConnection,
    HttpClient,
    HttpLayer,
    HTTPMode,
    RegisterHttpConnection,
    ResponseProtocolError,
    create_task,
    is_paused,
    layer_within,
)
from converter.addon.layers.mends.http1_server import take_over
from converter.addon.layers.promises import StreamLayer, Tick
from converter.addon.log_lines import log_if_read

SECONDS_TO_OPEN = 0.5
"""Seconds between two checks of the server connections that are being opened."""
LIVE: WeakSet["ReplyLayer"] = WeakSet()
"""The layers of all open client connections."""
LONGEST_JOINED = 1 << 16
"""Longest joined write, in bytes, because joining copies the data."""


class Quit(events.Event):
    """The event that breaks off every running reply of a connection when mitmproxy ends. `reason`:
    the text of the error that clients get.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason


def in_one_write(handling: CommandGenerator[None]) -> CommandGenerator[None]:
    """Yield the commands of `handling`, with neighbouring data for one connection joined.

    mitmproxy alone writes a head and its body in two system calls, of four that a whole reply
    takes. If `handling` raises an error, as a script's stream function may, the data that it has
    yielded before is still sent.
    """
    waiting: commands.SendData | None = None
    try:
        for command in handling:
            send = command if isinstance(command, commands.SendData) else None
            if waiting and send and _fit_together(waiting, send):
                waiting = commands.SendData(send.connection, waiting.data + send.data)
                continue
            if waiting:
                yield waiting
            waiting = send
            if send is None:
                yield command
    except Exception:
        if waiting:
            yield waiting
        raise
    if waiting:
        yield waiting


def _fit_together(one: commands.SendData, more: commands.SendData) -> bool:
    """Return True if two writes go to one connection and are short enough to be joined."""
    short = len(one.data) + len(more.data) <= LONGEST_JOINED
    return short and one.connection is more.connection


class ReplyLayer(HttpLayer):
    """mitmproxy's HTTP layer of one client's connection. It makes our layers for exchanges
    (`StreamLayer`) and server connections (`ServerConnection`).

    Attributes:
        connection_handler: mitmproxy's handler of the client's connection; without it the layer
            leaves writes and hooks to mitmproxy.
        last_read: how many bytes the last read had.
        last_from: the connection of the last read, the client's or a server's.
    """

    streams: dict[int, StreamLayer]  # type: ignore[assignment]

    def __init__(
        self, context: Context, mode: HTTPMode, listener: Listener, handler: Any = None
    ) -> None:
        self._is_in_a_tunnel = any(isinstance(outer, HttpLayer) for outer in context.layers)
        super().__init__(context, mode)
        self.listener = listener
        self.connection_handler = handler
        self._timer: commands.RequestWakeup | None = None
        self._opening: dict[Connection, commands.OpenConnection] = {}
        self._watch: commands.RequestWakeup | None = None
        self._closed: set[Connection] = set()
        self.last_read = 0
        self.last_from: Connection | None = None
        LIVE.add(self)

    @property
    def exchanges(self) -> list[StreamLayer]:
        """The streams with requests and replies, without tunnels and WebSockets."""
        return [stream for stream in self.streams.values() if stream.child_layer is None]

    def handle_event(self, event: events.Event) -> CommandGenerator[None]:
        """Handle an event. Store the size and connection of a read, handle the events that are
        ours (`_own`), and leave all others to mitmproxy. mitmproxy never pauses this layer, so none
        of our events waits in its queue.
        """
        if type(event) is events.DataReceived:
            self.last_read, self.last_from = len(event.data), event.connection
        elif (own := self._own(event)) is not None:
            yield from own
            return
        handling = super().handle_event(event)
        if self.connection_handler and not SPEED.lacks:
            handling = in_one_write(handling)
            handling = handling if self._is_in_a_tunnel else self._with_hooks(handling)
        yield from handling
        if type(event) is events.ConnectionClosed and event.connection is not self.context.client:
            self._closed.add(event.connection)

    def _with_hooks(self, handling: CommandGenerator[None]) -> CommandGenerator[None]:
        """Yield the commands of `handling`, except the hooks of exchanges, which are called here.
        If no addon waits in a hook, the hook is completed while the same event is handled.

        mitmproxy uses a task and a turn of its loop for each hook: 6% of the processor time of a
        whole reply. The task also waits for the lock that the running event holds. If a server's
        task is cancelled while it waits for this lock, its connection stays open (12.3.1), so that
        with many streams a server went on generating for a client that had left.

        A layer in a tunnel does not call its hooks here. It yields them to the outer layer, because
        mitmproxy gives the completion of a hook to the outer layer first, which must know the
        stream that waits for it.
        """
        over = list[commands.StartHook]()
        for command in handling:
            # hooks of a WebSocket are left to mitmproxy: no stream layer of ours waits for them
            if not (
                isinstance(command, commands.StartHook)
                and isinstance(command.blocking, StreamLayer)
            ):
                yield command
                continue
            call = self.connection_handler.handle_hook(command)
            task = asyncio.Task(call, loop=asyncio.get_running_loop(), eager_start=True)
            if task.done():
                task.result()  # raises the errors of a hook that mitmproxy does not catch
                over.append(command)
            else:
                create_task(self._go_on(command, task), name=command.name, keep_ref=True)
        for hook in over:  # completed behind the event's other commands, as in mitmproxy
            yield from self.handle_event(events.HookCompleted(hook))

    async def _go_on(self, hook: commands.StartHook, task: asyncio.Task[None]) -> None:
        """Wait for `task`, the call of a hook in which an addon waits. Then resume the exchange."""
        await task
        await self.connection_handler.server_event(events.HookCompleted(hook))

    def _own(self, event: events.Event) -> CommandGenerator[None] | None:
        """Return the handling of an event that is ours (`Quit`, or a wake-up of our timers); `None`
        for mitmproxy's events.
        """
        if type(event) is Quit:
            return self._quit(event)
        if type(event) is not events.Wakeup:
            return None
        if event.command is self._timer:
            return self._tick()
        return self._look_at_openings() if event.command is self._watch else None

    def make_stream(self, stream_id: int) -> CommandGenerator[None]:
        """Make our stream layer for a new exchange, and start the timer if it does not run."""
        stream = self.streams[stream_id] = StreamLayer(self.context.fork(), stream_id, self)
        yield from self.event_to_child(stream, events.Start())
        if self._timer is None:
            yield from self._arm(self.listener.seconds_of_silence)

    def get_connection(
        self, event: GetHttpConnection, *, reuse: bool = True
    ) -> CommandGenerator[None]:
        """Find or open a connection to a server, and start a timer that checks the opening."""
        self._forget_closed()
        for command in super().get_connection(event, reuse=reuse):
            yield command
            if isinstance(command, commands.OpenConnection):
                self._opening[command.connection] = command
                if self._watch is None:
                    self._watch = commands.RequestWakeup(SECONDS_TO_OPEN)
                    yield self._watch

    def _forget_closed(self) -> None:
        """Drop the layers of closed server connections. mitmproxy 12.2.3 keeps each of them, with
        its last reply, as long as the client stays connected (15 kB for an exchange).
        """
        in_use = {self.context.server, *(stream.context.server for stream in self.streams.values())}
        for connection in self._closed - in_use:
            if connection.state is ConnectionState.CLOSED:
                self._closed.discard(connection)
                self.connections.pop(connection, None)

    def _look_at_openings(self) -> CommandGenerator[None]:
        """Report each connection as failed that the server reset while it was opened. mitmproxy's
        task for such a connection ends with an AssertionError, because the socket has no peer, and
        the client would wait for ever.
        """
        self._watch = None
        for connection, command in list(self._opening.items()):
            if connection not in self.waiting_for_establishment:
                del self._opening[connection]
            elif connection.connected and connection.peername is None:
                del self._opening[connection]
                yield from super().handle_event(
                    events.OpenConnectionCompleted(command, "server closed connection")
                )
        if self._opening:
            self._watch = commands.RequestWakeup(SECONDS_TO_OPEN)
            yield self._watch

    def register_connection(self, command: RegisterHttpConnection) -> CommandGenerator[None]:
        """Replace mitmproxy's layer of a server connection that was opened by ours (`take_over`).

        If the opening failed, clear the connection's error, because mitmproxy would answer every
        later request of this client with this error, even when the server is up again.
        """
        if command.err:
            command.connection.error = None
        else:
            take_over(layer_within(self.connections[command.connection], HttpClient))
        yield from super().register_connection(command)

    def _arm(self, seconds: float) -> CommandGenerator[None]:
        """Set the timer for the next check of all streams, unless `seconds` is 0. With one timer
        for all streams, no timer is left over when a stream ends.
        """
        if seconds > 0:
            self._timer = commands.RequestWakeup(seconds)
            yield self._timer

    def _tick(self) -> CommandGenerator[None]:
        """Have each stream check its silence, and set the timer for the first that is due next."""
        self._timer = None
        exchanges = self.exchanges
        # a paused layer would queue ticks, and handle all of them when it continues
        for stream in [one for one in exchanges if not is_paused(one)]:
            yield from self.event_to_child(stream, Tick())
        silence = self.listener.seconds_of_silence
        if exchanges and silence > 0:
            spoke = min(monotonic() if is_paused(one) else one.spoke for one in exchanges)
            yield from self._arm(min(silence, max(spoke + silence - monotonic(), 0.05)))

    def _quit(self, event: Quit) -> CommandGenerator[None]:
        """Break off each reply of this connection, and pass the event on into tunnels."""
        for stream in list(self.streams.values()):
            if stream.child_layer is None:
                error = ErrorCode.GENERIC_SERVER_ERROR
                failure = ResponseProtocolError(stream.stream_id, event.reason, error)
                yield from self.event_to_child(stream, failure)
            # an event of ours may go into a tunnel only if a `ReplyLayer` is in the tunnel
            elif any(stream in within.context.layers for within in LIVE):
                yield from self.event_to_child(stream, event)


def replace_layer(
    nextlayer: NextLayer, listener: Listener, handler: Any = None
) -> ReplyLayer | None:
    """Replace the HTTP layer that mitmproxy has just chosen, perhaps inside TLS, by ours. Return
    our layer; `None` if mitmproxy chose another layer.
    """
    layers = nextlayer.context.layers
    theirs = layers[-1] if layers else None
    if type(theirs) is not HttpLayer:
        return None
    layers.remove(theirs)
    ours = ReplyLayer(nextlayer.context, theirs.mode, listener, handler)
    if handler and not SPEED.lacks:
        log_if_read(handler)
    if nextlayer.layer is theirs:
        nextlayer.layer = ours
    else:
        layers[-2].child_layer = ours  # type: ignore[attr-defined]
    return ours
