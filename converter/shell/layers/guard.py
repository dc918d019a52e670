"""The guards: every member of mitmproxy's proxy core that our layers build upon, by what is lost
without it.

Read in mitmproxy 12.0.0, 12.2.3 and 12.3.1, whose HTTP layers are the same. Each part asks only for
what it uses itself, so where a later version lacks something, what builds upon it is left out, the
rest stays, and a line of the log says so. Without the footing of the promises mitmproxy's own
layers stay in place.
"""

import asyncio
import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any

from mitmproxy import hooks
from mitmproxy.proxy import commands, context, events, layer
from mitmproxy.proxy.commands import Command
from mitmproxy.proxy.layer import Layer

with suppress(ImportError):  # the promises lack every name that is not there
    from mitmproxy.proxy.layers.http import (
        GetHttpConnection,
        HttpClient,
        HttpLayer,
        HTTPMode,
        HttpStream,
        RegisterHttpConnection,
        SendHttp,
    )
    from mitmproxy.proxy.layers.http._base import HttpEvent, ReceiveHttp
    from mitmproxy.proxy.layers.http._events import (
        ErrorCode,
        RequestData,
        RequestEndOfMessage,
        RequestHeaders,
        RequestProtocolError,
        RequestTrailers,
        ResponseData,
        ResponseEndOfMessage,
        ResponseHeaders,
        ResponseProtocolError,
    )
    from mitmproxy.proxy.layers.http._hooks import HttpErrorHook, HttpResponseHook
    from mitmproxy.proxy.layers.http._http1 import Http1Client, Http1Server
    from mitmproxy.proxy.layers.http._http2 import Http2Server
    from mitmproxy.proxy.utils import ReceiveBuffer


def _if_there(module: str, name: str) -> Any:
    """Return what no promise builds upon; `None` where this mitmproxy lacks it."""
    try:
        return getattr(import_module(module), name, None)
    except ImportError:
        return None


AddonManager = _if_there("mitmproxy.addonmanager", "AddonManager")
BufferedH2Connection = _if_there("mitmproxy.proxy.layers.http._http2", "BufferedH2Connection")
ChunkedReader = _if_there("mitmproxy.proxy.layers.http._http1", "ChunkedReader")
ConnectionHandler = _if_there("mitmproxy.proxy.server", "ConnectionHandler")
ConnectionIO = _if_there("mitmproxy.proxy.server", "ConnectionIO")
DestinationKnown = _if_there("mitmproxy.proxy.layers.modes", "DestinationKnown")
Http1Buffer = _if_there("mitmproxy.proxy.layers.http._http1", "ReceiveBuffer")
HttpProxy = _if_there("mitmproxy.proxy.layers.modes", "HttpProxy")
TimeoutWatchdog = _if_there("mitmproxy.proxy.server", "TimeoutWatchdog")
TunnelLayer = _if_there("mitmproxy.proxy.tunnel", "TunnelLayer")
create_task = _if_there("mitmproxy.utils.asyncio_utils", "create_task")
h11 = _if_there("mitmproxy.proxy.layers.http._http1", "h11")
safecall = _if_there("mitmproxy.addonmanager", "safecall")
traverse = _if_there("mitmproxy.addonmanager", "traverse")


_MODULES = {
    "commands": commands,
    "context": context,
    "events": events,
    "hooks": hooks,
    "layer": layer,
}


class Part:
    """One part of our layers. `loses`: what a user loses without it. `built_upon`: what it
    overrides, calls or reads, with the parameters of what is a function.
    """

    def __init__(self, loses: str, built_upon: Mapping[str, str]) -> None:
        self.loses = loses
        self.built_upon = built_upon
        self.lacks = self.look()

    def look(self) -> list[str]:
        """Return what this mitmproxy lacks for the part: nothing, in the versions named above."""
        return [path for path, given in self.built_upon.items() if not _is_there(path, given)]


def _is_there(path: str, parameters: str) -> bool:
    first, *between = path.split(".")
    owner, name = (globals() | _MODULES).get(first), between.pop() if between else ""
    for step in between:
        owner = getattr(owner, step, None)
    member = getattr(owner, name, None) if name else owner
    if parameters:
        return callable(member) and parameters == ", ".join(inspect.signature(member).parameters)
    return member is not None or (isinstance(owner, type) and _is_field(owner, name))


def _is_field(owner: type, name: str) -> bool:
    """Tell whether objects have a member that their class only names, or sets as it begins."""
    begins = [vars(base).get("__init__") for base in owner.mro()]
    sets = [begin.__code__.co_names for begin in begins if inspect.isfunction(begin)]
    named = [vars(base).get("__annotations__", {}) for base in owner.mro()]
    return any(name in names for names in (*sets, *named))


PROMISES = Part(
    "broken streams end without an error, and silent ones without pings",
    {
        "ConnectionHandler.drain_writers": "self",
        "ConnectionHandler.server_event": "self, event",
        "ConnectionHandler.transports": "",
        "ConnectionIO.writer": "",
        "context.Context.client": "",
        "context.Context.fork": "self",
        "context.Context.layers": "",
        "context.Context.options": "",
        "context.Context.server": "",
        "ErrorCode.GENERIC_SERVER_ERROR": "",
        "ErrorCode.KILL": "",
        "ErrorCode.RESPONSE_TOO_LARGE": "",
        "GetHttpConnection": "",
        "HTTPMode.transparent": "",
        "HttpClient.child_layer": "",
        "HttpErrorHook": "",
        "HttpEvent.stream_id": "",
        "HttpLayer.__init__": "self, context, mode",
        "HttpLayer.connections": "",
        "HttpLayer.event_to_child": "self, child, event",
        "HttpLayer.get_connection": "self, event, reuse",
        "HttpLayer.make_stream": "self, stream_id",
        "HttpLayer.mode": "",
        "HttpLayer.register_connection": "self, command",
        "HttpLayer.streams": "",
        "HttpLayer.waiting_for_establishment": "",
        "HttpResponseHook": "",
        "HttpStream.__init__": "self, context, stream_id",
        "HttpStream._handle_event": "self, event",
        "HttpStream.check_body_size": "self, request",
        "HttpStream.check_invalid": "self, request",
        "HttpStream.child_layer": "",
        "HttpStream.client_state": "",
        "HttpStream.flow": "",
        "HttpStream.flow_done": "self",
        "HttpStream.handle_protocol_error": "self, event",
        "HttpStream.make_server_connection": "self",
        "HttpStream.request_body_buf": "",
        "HttpStream.response_body_buf": "",
        "HttpStream.send_response": "self, already_streamed",
        "HttpStream.server_state": "",
        "HttpStream.start_request_stream": "self",
        "HttpStream.start_response_stream": "self",
        "HttpStream.state_consume_request_body": "self, event",
        "HttpStream.state_consume_response_body": "self, event",
        "HttpStream.state_done": "self, _",
        "HttpStream.state_errored": "self, _",
        "HttpStream.state_stream_response_body": "self, event",
        "HttpStream.state_wait_for_response_headers": "self, event",
        "HttpStream.stream_id": "",
        "Http1Client.__init__": "self, context",
        "Http1Client.buf": "",
        "Http1Client.conn": "",
        "Http1Client.read_headers": "self, event",
        "Http1Client.request": "",
        "Http1Client.send": "self, event",
        "Http1Client.state": "",
        "Http1Client.stream_id": "",
        "Http1Server": "",
        "Http2Server._handle_event": "self, event",
        "Http2Server.h2_conn": "",
        "Http2Server.is_closed": "self, stream_id",
        "Http2Server.streams": "",
        "BufferedH2Connection.stream_buffers": "",
        "Http1Buffer.maybe_extract_lines": "self",
        "layer.Layer._handle_event": "self, event",
        "layer.Layer._paused": "",
        "layer.Layer._paused_event_queue": "",
        "layer.Layer.context": "",
        "layer.Layer.handle_event": "self, event",
        "layer.NextLayer.data_client": "self",
        "layer.NextLayer.layer": "",
        "ReceiveBuffer.__iadd__": "self, other",
        "ReceiveBuffer.__len__": "self",
        "ReceiveBuffer.clear": "self",
        "ReceiveHttp.event": "",
        "RegisterHttpConnection.connection": "",
        "RegisterHttpConnection.err": "",
        "ErrorCode.CANCEL": "",
        "RequestData.data": "",
        "RequestEndOfMessage": "",
        "RequestHeaders.end_stream": "",
        "RequestHeaders.request": "",
        "RequestProtocolError": "",
        "RequestTrailers": "",
        "ResponseData.data": "",
        "ResponseEndOfMessage": "",
        "ResponseHeaders": "",
        "ResponseProtocolError.code": "",
        "SendHttp.event": "",
        "TunnelLayer.child_layer": "",
        "commands.CloseConnection": "",
        "commands.OpenConnection.connection": "",
        "commands.RequestWakeup": "",
        "commands.SendData": "",
        "commands.StartHook.name": "",
        "events.ConnectionClosed.connection": "",
        "events.DataReceived.connection": "",
        "events.DataReceived.data": "",
        "events.Event": "",
        "events.OpenConnectionCompleted": "",
        "events.Start": "",
        "events.Wakeup.command": "",
    },
)
TURNS = Part(
    "a stream may wait for another's",
    {
        "ConnectionHandler.drain_writers": "self",
        "layer.Layer._paused": "",
        "layer.Paused.command": "",
        "commands.StartHook": "",
    },
)
MANY_STREAMS = Part(
    "the sixth reply to a client of HTTP/2 waits for another's end",
    {"ConnectionHandler.max_conns": ""},
)
TRAILERS = Part(
    "a request in chunks with trailers, or a broken chunk, is not answered",
    {
        "Http1Server.__init__": "self, context",
        "Http1Server.body_reader": "",
        "Http1Server.conn": "",
        "Http1Server.read_body": "self, event",
        "Http1Server.request_done": "",
        "Http1Server.response": "",
        "h11.EndOfMessage": "",
    },
)
HOOKS = Part(
    "each hook of an exchange takes a turn of the loop",
    {
        "ConnectionHandler.handle_hook": "self, hook",
        "ConnectionHandler.server_event": "self, event",
        "commands.StartHook.blocking": "",
        "create_task": "coro, name, keep_ref, client",
        "events.HookCompleted": "command, reply",
    },
)
HOOK_TABLE = Part(
    "all addons are asked for each hook",
    {
        "AddonManager.chain": "",
        "AddonManager.lookup": "",
        "AddonManager.trigger_event": "self, event",
        "hooks.Hook.args": "self",
        "safecall": "",
        "traverse": "chain",
    },
)
CHUNKS = Part(
    "each chunk of a read is rewritten and sent by itself",
    {
        "ChunkedReader.__call__": "self, buf",
        "ChunkedReader._bytes_in_chunk": "",
        "ChunkedReader._bytes_to_discard": "",
        "ChunkedReader._reading_trailer": "",
        "ChunkedReader.read_eof": "self",
        "Http1Buffer.maybe_extract_at_most": "self, count",
        "Http1Client.body_reader": "",
        "Http1Client.read_body": "self, event",
        "h11.Data": "",
        "h11.EndOfMessage": "",
        "h11.ProtocolError": "",
        "h11.RemoteProtocolError": "",
    },
)
SPLICE = Part(
    "reads of a stream pass through all layers",
    {
        **CHUNKS.built_upon,
        "ConnectionHandler.client": "",
        "ConnectionHandler.server_event": "self, event",
        "ConnectionHandler.timeout_watchdog": "",
        "ConnectionHandler.transports": "",
        "ConnectionIO.reader": "",
        "ConnectionIO.writer": "",
        "DestinationKnown": "",
        "Http1Server.response": "",
        "HttpProxy": "",
        "layer.Layer.debug": "",
        "TimeoutWatchdog.register_activity": "self",
        "create_task": "coro, name, keep_ref, client",
    },
)
LINES = Part(
    "lines of the log that nobody sees are made",
    {"ConnectionHandler.log": "self, message, level, exc_info"},
)
PARTS = (PROMISES, TURNS, MANY_STREAMS, TRAILERS, HOOKS, HOOK_TABLE, CHUNKS, SPLICE, LINES)


def is_paused(layer: Layer) -> bool:
    """Tell whether a layer waits for a hook or a connection, so that its events are queued."""
    return layer._paused is not None


def awaited_command(layer: Layer) -> Command | None:
    """Return what a layer waits for, if it is paused."""
    return layer._paused.command if layer._paused else None


def forget_waiting(layer: Layer, kinds: tuple[type, ...]) -> None:
    """Have a layer never hear of events of these kinds that came while it was paused."""
    waiting = [event for event in layer._paused_event_queue if not isinstance(event, kinds)]
    layer._paused_event_queue.clear()
    layer._paused_event_queue.extend(waiting)


def is_outermost(layer: Layer) -> bool:
    """Tell whether what a layer sends to the client goes into its socket as it is."""
    above = layer.context.layers[: layer.context.layers.index(layer)]
    return all(isinstance(outer, (DestinationKnown, HttpProxy)) for outer in above)


def between_chunks(reader: Any) -> bytes | None:
    """Return what h11's reader of a chunked body expects before the size of the next chunk: what is
    left of the last one's line break. None within a chunk, or behind the last one.
    """
    within = reader._bytes_in_chunk or reader._reading_trailer
    return None if within else bytes(reader._bytes_to_discard)


def waits_for_data(reader: asyncio.StreamReader) -> bool:
    """Tell whether a task waits in `read()` for the next bytes, so that none are before them."""
    return getattr(reader, "_waiter", None) is not None


def hand_events_to(client: "HttpClient", handle: Callable[..., Any]) -> None:
    """Have another function than the client's own take its events from now on."""
    client._handle_event = handle


# mitmproxy's own, for our layers
__all__ = [
    "ChunkedReader",
    "ConnectionHandler",
    "ErrorCode",
    "GetHttpConnection",
    "HTTPMode",
    "Http1Client",
    "Http1Server",
    "Http2Server",
    "HttpClient",
    "HttpErrorHook",
    "HttpEvent",
    "HttpLayer",
    "HttpResponseHook",
    "HttpStream",
    "ReceiveBuffer",
    "ReceiveHttp",
    "RegisterHttpConnection",
    "RequestData",
    "RequestEndOfMessage",
    "RequestHeaders",
    "RequestProtocolError",
    "RequestTrailers",
    "ResponseData",
    "ResponseEndOfMessage",
    "ResponseHeaders",
    "ResponseProtocolError",
    "SendHttp",
    "create_task",
    "h11",
    "safecall",
]
