"""`ReplyLayer`: our layer of one client's connection. It makes our layers of exchanges and of
server connections, calls the hooks of exchanges, joins writes, and has one timer by which all of
its streams check whether they are silent.
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
from converter.addon.layers.mends.http1_server import replace_server_layer
from converter.addon.layers.promises import StreamLayer, Tick
from converter.addon.log_lines import log_if_read

SECONDS_TO_OPEN = 0.5
"""Seconds between two checks of the server connections that are being opened (`_check_openings`).
"""
LIVE_LAYERS: WeakSet["ReplyLayer"] = WeakSet()
"""The layers of all open client connections."""
LONGEST_JOINED = 1 << 16
"""The most bytes of a joined write. Longer writes are not joined, because that copies the data."""


class Quit(events.Event):
    """The event that breaks off every running reply of a connection when mitmproxy ends. `reason`:
    the text of the error that clients get.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason


def join_writes(handling: CommandGenerator[None]) -> CommandGenerator[None]:
    """Yield the commands of `handling` (the handling of one event), but join successive writes to
    one connection into one write of at most `LONGEST_JOINED` bytes.

    Without this, mitmproxy writes a response's head and its body in two system calls. If `handling`
    raises an error, as a script's stream function may, data that it has yielded is still sent.
    """
    waiting: commands.SendData | None = None
    try:
        for command in handling:
            send = command if isinstance(command, commands.SendData) else None
            if (
                waiting
                and send
                and send.connection is waiting.connection
                and len(waiting.data) + len(send.data) <= LONGEST_JOINED
            ):
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


class ReplyLayer(HttpLayer):
    """mitmproxy's HTTP layer of one client's connection, changed so that it makes our layers for
    exchanges (`StreamLayer`) and server connections (`ServerConnection`).

    Attributes:
        connection_handler: mitmproxy's handler of the client's connection. If it is `None`, writes
            are not joined (`join_writes`), and mitmproxy itself calls the hooks.
        last_read_bytes: how many bytes the last read had.
        last_read_from: the connection of the last read, the client's or a server's.
    """

    streams: dict[int, StreamLayer]  # type: ignore[assignment]
    """Id of an HTTP stream -> our layer of its exchange."""

    def __init__(
        self, context: Context, mode: HTTPMode, listener: Listener, handler: Any = None
    ) -> None:
        self._is_in_a_tunnel = any(isinstance(outer, HttpLayer) for outer in context.layers)
        super().__init__(context, mode)
        self.listener = listener
        self.connection_handler = handler
        self._silence_timer: commands.RequestWakeup | None = None
        self._opening_commands: dict[Connection, commands.OpenConnection] = {}
        self._opening_timer: commands.RequestWakeup | None = None
        self._closed_servers: set[Connection] = set()
        self.last_read_bytes = 0
        self.last_read_from: Connection | None = None
        LIVE_LAYERS.add(self)

    @property
    def exchanges(self) -> list[StreamLayer]:
        """The layers of the connection's exchanges, without tunnels and WebSockets."""
        return [stream for stream in self.streams.values() if stream.child_layer is None]

    def handle_event(self, event: events.Event) -> CommandGenerator[None]:
        """Handle an event. Store the size and the connection of a read. Handle our own events
        (`Quit`, and the wake-ups by our two timers) here, and leave all others to mitmproxy's
        method. That method queues the events of a paused layer; our own need no queue, because
        mitmproxy never pauses this layer.
        """
        if type(event) is events.DataReceived:
            self.last_read_bytes, self.last_read_from = len(event.data), event.connection
        elif type(event) is Quit:
            yield from self._break_off_replies(event)
            return
        elif type(event) is events.Wakeup and event.command is self._silence_timer:
            yield from self._check_silence()
            return
        elif type(event) is events.Wakeup and event.command is self._opening_timer:
            yield from self._check_openings()
            return
        handling = super().handle_event(event)
        if self.connection_handler and not SPEED.lacks:
            handling = join_writes(handling)
            handling = handling if self._is_in_a_tunnel else self._call_hooks(handling)
        yield from handling
        if type(event) is events.ConnectionClosed and event.connection is not self.context.client:
            self._closed_servers.add(event.connection)

    def _call_hooks(self, handling: CommandGenerator[None]) -> CommandGenerator[None]:
        """Yield the commands of `handling` (the handling of one event), except the hooks of
        exchanges, which are called here and not by mitmproxy. If no addon waits in a hook, the
        exchange goes on while the same event is handled.

        mitmproxy itself starts a task for each hook, which runs in a later turn of its loop: 6% of
        the processor time of a whole reply. The task also waits for the lock that the running event
        holds. If a server's task is cancelled while it waits for this lock, its connection stays
        open (mitmproxy 12.3.1), so that with many streams a server went on generating for a client
        that had left.

        A layer in a tunnel does not call its hooks here, but yields them to the outer layer. The
        reason: when a hook is complete, mitmproxy tells the outer layer first. The outer layer can
        pass this on only if the hook's command went through it.
        """
        over = list[commands.StartHook]()
        for command in handling:
            # a hook for which no `StreamLayer` waits, such as one of a WebSocket, is called by
            # mitmproxy
            if not (
                isinstance(command, commands.StartHook)
                and isinstance(command.blocking, StreamLayer)
            ):
                yield command
                continue
            call = self.connection_handler.handle_hook(command)
            task = asyncio.Task(call, loop=asyncio.get_running_loop(), eager_start=True)
            if task.done():
                task.result()  # raises the hook's error if mitmproxy has not caught it
                over.append(command)
            else:
                create_task(self._resume_after(command, task), name=command.name, keep_ref=True)
        # as in mitmproxy, the exchange goes on after all other commands of the event
        for hook in over:
            yield from self.handle_event(events.HookCompleted(hook))

    async def _resume_after(self, hook: commands.StartHook, task: asyncio.Task[None]) -> None:
        """Wait for `task`, the call of a hook in which an addon waits. Then resume the exchange."""
        await task
        await self.connection_handler.server_event(events.HookCompleted(hook))

    def make_stream(self, stream_id: int) -> CommandGenerator[None]:
        """Make our stream layer for a new exchange. Start the timer for silent streams if it does
        not run.
        """
        stream = self.streams[stream_id] = StreamLayer(self.context.fork(), stream_id, self)
        yield from self.event_to_child(stream, events.Start())
        if self._silence_timer is None:
            yield from self._start_timer(self.listener.seconds_of_silence)

    def get_connection(
        self, event: GetHttpConnection, *, reuse: bool = True
    ) -> CommandGenerator[None]:
        """Find or open a connection to a server. While it is being opened, a timer checks whether
        the server has reset it (`_check_openings`). `reuse`: True if an open connection may be used
        again.
        """
        self._drop_closed_layers()
        for command in super().get_connection(event, reuse=reuse):
            yield command
            if isinstance(command, commands.OpenConnection):
                self._opening_commands[command.connection] = command
                if self._opening_timer is None:
                    self._opening_timer = commands.RequestWakeup(SECONDS_TO_OPEN)
                    yield self._opening_timer

    def _drop_closed_layers(self) -> None:
        """Drop the layers of closed server connections that no exchange uses. mitmproxy 12.2.3
        keeps each of them, with its last reply, as long as the client stays connected: 15 kB for an
        exchange.
        """
        in_use = {self.context.server, *(stream.context.server for stream in self.streams.values())}
        for connection in self._closed_servers - in_use:
            if connection.state is ConnectionState.CLOSED:
                self._closed_servers.discard(connection)
                self.connections.pop(connection, None)

    def _check_openings(self) -> CommandGenerator[None]:
        """Report a connection as failed if the server reset it while it was being opened.
        mitmproxy's task for such a connection ends with an AssertionError, because the socket has
        no peer, and the client would wait for ever.
        """
        self._opening_timer = None
        for connection, command in list(self._opening_commands.items()):
            if connection not in self.waiting_for_establishment:
                del self._opening_commands[connection]
            elif connection.connected and connection.peername is None:
                del self._opening_commands[connection]
                yield from super().handle_event(
                    events.OpenConnectionCompleted(command, "server closed connection")
                )
        if self._opening_commands:
            self._opening_timer = commands.RequestWakeup(SECONDS_TO_OPEN)
            yield self._opening_timer

    def register_connection(self, command: RegisterHttpConnection) -> CommandGenerator[None]:
        """Put our layer of a server connection in place of mitmproxy's (`replace_server_layer`),
        once the connection is open.

        If the opening failed, clear the connection's error. mitmproxy would answer every later
        request of this client with this error, even when the server is up again.
        """
        if command.err:
            command.connection.error = None
        else:
            replace_server_layer(layer_within(self.connections[command.connection], HttpClient))
        yield from super().register_connection(command)

    def _start_timer(self, seconds: float) -> CommandGenerator[None]:
        """Start the timer after which all streams are checked for silence, unless `seconds` is 0.
        With one timer for all streams, no timer is left over when a stream ends.
        """
        if seconds > 0:
            self._silence_timer = commands.RequestWakeup(seconds)
            yield self._silence_timer

    def _check_silence(self) -> CommandGenerator[None]:
        """Have each stream check how long ago its client got the last byte, and start the timer
        again for the stream that is due next.
        """
        self._silence_timer = None
        exchanges = self.exchanges
        # A paused layer gets no tick: it would queue the ticks, and handle all of them when it goes
        # on.
        for stream in [one for one in exchanges if not is_paused(one)]:
            yield from self.event_to_child(stream, Tick())
        silence = self.listener.seconds_of_silence
        if exchanges and silence > 0:
            spoke = min(monotonic() if is_paused(one) else one.last_sent_at for one in exchanges)
            yield from self._start_timer(min(silence, max(spoke + silence - monotonic(), 0.05)))

    def _break_off_replies(self, event: Quit) -> CommandGenerator[None]:
        """Break off each reply of this connection, because mitmproxy ends. Pass the event on to our
        layers in the connection's tunnels.
        """
        for stream in list(self.streams.values()):
            if stream.child_layer is None:
                error = ErrorCode.GENERIC_SERVER_ERROR
                failure = ResponseProtocolError(stream.stream_id, event.reason, error)
                yield from self.event_to_child(stream, failure)
            # A tunnel gets the event only if one of our layers is in it, because mitmproxy's
            # layers do not know the event.
            elif any(stream in within.context.layers for within in LIVE_LAYERS):
                yield from self.event_to_child(stream, event)


def replace_layer(
    nextlayer: NextLayer, listener: Listener, handler: Any = None
) -> ReplyLayer | None:
    """Replace the HTTP layer that mitmproxy has just chosen for a connection (perhaps inside TLS)
    by ours. Return our layer; `None` if mitmproxy chose another kind of layer. `handler`:
    mitmproxy's handler of the client's connection.
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
