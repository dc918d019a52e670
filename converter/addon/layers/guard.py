"""The guards (`PROMISES`, `SPEED`): they list the members of mitmproxy that our layers use, and
what a user loses without them. The layers import mitmproxy's HTTP layers from here, and functions
of this file, such as `is_paused`, use the private members.

The members were read in mitmproxy 12.0.0, 12.2.3 and 12.3.1, whose HTTP layers are the same. There
are two parts: `PROMISES` (proper ends, pings, errors in the dialect) and `SPEED`. If a version
lacks a member, the part that uses it is switched off, and a line of the log says so. Without
`SPEED` the promises still hold. Without `PROMISES` mitmproxy's own layers stay in place.
"""

import asyncio
import inspect
import re
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any

from mitmproxy import proxy
from mitmproxy.proxy.commands import Command
from mitmproxy.proxy.layer import Layer

with suppress(ImportError):  # if a name is missing, `PROMISES` lacks it and is switched off
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
        ResponseData,
        ResponseEndOfMessage,
        ResponseHeaders,
        ResponseProtocolError,
    )
    from mitmproxy.proxy.layers.http._hooks import HttpErrorHook, HttpResponseHook
    from mitmproxy.proxy.layers.http._http1 import Http1Client, Http1Server
    from mitmproxy.proxy.utils import ReceiveBuffer


def _import_member(module: str, name: str) -> Any:
    """Return the member `name` of a module of mitmproxy's; `None` if this mitmproxy lacks it."""
    try:
        return getattr(import_module(module), name, None)
    except ImportError:
        return None


AddonManager = _import_member("mitmproxy.addonmanager", "AddonManager")
ChunkedReader = _import_member("mitmproxy.proxy.layers.http._http1", "ChunkedReader")
ConnectionHandler = _import_member("mitmproxy.proxy.server", "ConnectionHandler")
ConnectionIO = _import_member("mitmproxy.proxy.server", "ConnectionIO")
DestinationKnown = _import_member("mitmproxy.proxy.layers.modes", "DestinationKnown")
Http1Buffer = _import_member("mitmproxy.proxy.layers.http._http1", "ReceiveBuffer")
HttpProxy = _import_member("mitmproxy.proxy.layers.modes", "HttpProxy")
TimeoutWatchdog = _import_member("mitmproxy.proxy.server", "TimeoutWatchdog")
TunnelLayer = _import_member("mitmproxy.proxy.tunnel", "TunnelLayer")
create_task = _import_member("mitmproxy.utils.asyncio_utils", "create_task")
h11 = _import_member("mitmproxy.proxy.layers.http._http1", "h11")
safecall = _import_member("mitmproxy.addonmanager", "safecall")
traverse = _import_member("mitmproxy.addonmanager", "traverse")


_MEMBER_PATTERN = re.compile(r"([\w.]+)(?:\(([^)]*)\))?")
"""Matches a member in the table of a part: its name, and its parameters if they are in brackets."""


class GuardedPart:
    """One part of our layers, which is switched off if this mitmproxy lacks a member that the part
    uses.

    Attributes:
        loses: what users lose without the part, as a line of the log.
        built_upon: the members that the part overrides, calls or reads: path -> parameters, as
            `Http1Client.send` -> `self, event`.
        lacks: the paths of the members that this mitmproxy lacks, or has with other parameters.

    `table`: the members in lines such as `Http1Client: send(self, event) state`, which has a class
    or module, and its members with their parameters.
    """

    def __init__(self, loses: str, table: str) -> None:
        self.loses = loses
        self.built_upon = dict[str, str]()
        for line in table.split("\n"):
            owner, colon, members = line.strip().rpartition(": ")
            for name, parameters in _MEMBER_PATTERN.findall(members):
                self.built_upon[f"{owner}.{name}" if colon else name] = parameters
        self.lacks = self.missing()

    def missing(self) -> list[str]:
        """Return the paths of the members that this mitmproxy lacks, or whose parameters differ."""
        return [
            path for path, parameters in self.built_upon.items() if not _is_member(path, parameters)
        ]


def _is_member(path: str, parameters: str) -> bool:
    """Return True if this mitmproxy has the member at `path` (`Http1Client.send`) with these
    `parameters` (`self, event`). If `parameters` is empty, they are not compared.
    """
    first, *between = path.split(".")
    owner, name = (vars(proxy) | globals()).get(first), between.pop() if between else ""
    for step in between:
        owner = getattr(owner, step, None)
    member = getattr(owner, name, None) if name else owner
    if parameters:
        return callable(member) and parameters == ", ".join(inspect.signature(member).parameters)
    return member is not None or (isinstance(owner, type) and _is_field(owner, name))


def _is_field(owner: type, name: str) -> bool:
    """Return True if objects of a class have this member although the class itself does not: it is
    annotated only, or its name occurs in `__init__`, which probably sets it.
    """
    begins = [vars(base).get("__init__") for base in owner.mro()]
    sets = [begin.__code__.co_names for begin in begins if inspect.isfunction(begin)]
    named = [vars(base).get("__annotations__", {}) for base in owner.mro()]
    return any(name in names for names in (*sets, *named))


PROMISES = GuardedPart(
    "broken streams end without an error, and silent ones without pings",
    """
    ConnectionHandler: drain_writers(self) server_event(self, event) transports
    ConnectionIO: writer
    context.Context: client fork(self) layers options server
    ErrorCode: GENERIC_SERVER_ERROR KILL RESPONSE_TOO_LARGE CANCEL
    HTTPMode: transparent
    HttpClient: child_layer
    HttpEvent: stream_id
    HttpLayer: __init__(self, context, mode) connections event_to_child(self, child, event)
    HttpLayer: get_connection(self, event, reuse) make_stream(self, stream_id) mode
    HttpLayer: register_connection(self, command) streams waiting_for_establishment
    HttpStream: __init__(self, context, stream_id) _handle_event(self, event)
    HttpStream: check_body_size(self, request) check_invalid(self, request) child_layer client_state
    HttpStream: flow flow_done(self) handle_protocol_error(self, event) make_server_connection(self)
    HttpStream: request_body_buf response_body_buf send_response(self, already_streamed)
    HttpStream: server_state start_request_stream(self) start_response_stream(self)
    HttpStream: state_consume_request_body(self, event) state_consume_response_body(self, event)
    HttpStream: state_done(self, _) state_errored(self, _) state_stream_response_body(self, event)
    HttpStream: state_wait_for_response_headers(self, event) stream_id
    Http1Client: __init__(self, context) buf conn read_headers(self, event) request
    Http1Client: send(self, event) state stream_id
    Http1Buffer: maybe_extract_lines(self)
    layer.Layer: _handle_event(self, event) _paused _paused_event_queue context
    layer.Layer: handle_event(self, event)
    layer.NextLayer: data_client(self) layer
    layer.Paused: command
    ReceiveBuffer: __iadd__(self, other) __len__(self) clear(self)
    ReceiveHttp: event
    RegisterHttpConnection: connection err
    RequestData: data
    RequestHeaders: end_stream request
    ResponseData: data
    ResponseProtocolError: code
    SendHttp: event
    TunnelLayer: child_layer
    commands: CloseConnection RequestWakeup SendData
    commands.OpenConnection: connection
    commands.StartHook: name
    events.ConnectionClosed: connection
    events.DataReceived: connection data
    events: Event OpenConnectionCompleted Start
    events.Wakeup: command
    GetHttpConnection HttpErrorHook HttpResponseHook Http1Server RequestEndOfMessage
    RequestProtocolError ResponseEndOfMessage ResponseHeaders
    """,
)
"""The part that gives streams proper ends, pings, and errors in the client's dialect."""
SPEED = GuardedPart(
    "each chunk, hook and line of the log costs as much as without the addon",
    """
    AddonManager: chain handle_lifecycle(self, event) lookup trigger(self, event)
    AddonManager: trigger_event(self, event)
    ChunkedReader: __call__(self, buf) _bytes_in_chunk _bytes_to_discard _reading_trailer
    ChunkedReader: read_eof(self)
    ConnectionHandler: client handle_hook(self, hook) log(self, message, level, exc_info)
    ConnectionHandler: server_event(self, event) timeout_watchdog transports
    ConnectionIO: reader writer
    Http1Buffer: maybe_extract_at_most(self, count)
    Http1Client: body_reader read_body(self, event)
    Http1Server: response
    TimeoutWatchdog: register_activity(self)
    commands.SendData: connection data
    commands.StartHook: blocking
    events: HookCompleted(command, reply)
    h11: Data EndOfMessage ProtocolError RemoteProtocolError
    layer.Layer: debug
    DestinationKnown HttpProxy create_task(coro, name, keep_ref, client) safecall traverse(chain)
    """,
)
"""The part that makes the addon take less processor time than mitmproxy."""
PARTS = [part for part in list(globals().values()) if isinstance(part, GuardedPart)]
"""The parts of our layers, each of which can be switched off."""


def is_paused(layer: Layer) -> bool:
    """Return True if a layer waits for a hook or a connection, and queues its events meanwhile."""
    return layer._paused is not None


def awaited_command(layer: Layer) -> Command | None:
    """Return the command whose completion a paused layer awaits; `None` if it is not paused."""
    return layer._paused.command if layer._paused else None


def drop_queued_events(layer: Layer, kinds: tuple[type, ...]) -> None:
    """Drop the events of these `kinds` that a paused layer has queued and not handled yet."""
    waiting = [event for event in layer._paused_event_queue if not isinstance(event, kinds)]
    layer._paused_event_queue.clear()
    layer._paused_event_queue.extend(waiting)


def layer_within(layer: Any, kind: type) -> Any:
    """Return `layer` if it is of this kind. Else return the first layer of this kind among its
    child, the child's child and so on (a TLS layer has the HTTP layer as its child). Return `None`
    if there is none.
    """
    while layer is not None and not isinstance(layer, kind):
        layer = getattr(layer, "child_layer", None)
    return layer


def is_outermost(layer: Layer) -> bool:
    """Return True if no other layer changes the data that `layer` sends to the client, because
    `layer` is within no TLS and no tunnel.
    """
    above = layer.context.layers[: layer.context.layers.index(layer)]
    return all(isinstance(outer, (DestinationKnown, HttpProxy)) for outer in above)


def unread_line_break(reader: Any) -> bytes | None:
    """Return the bytes that h11's reader of a chunked body still expects before the size line of
    the next chunk: the rest of the last chunk's line break, perhaps none. `None` if the reader is
    in the middle of a chunk or after the last chunk.
    """
    within = reader._bytes_in_chunk or reader._reading_trailer
    return None if within else bytes(reader._bytes_to_discard)


def waits_for_data(reader: asyncio.StreamReader) -> bool:
    """Return True if a task waits in `reader.read()`. The reader's buffer is then empty, so that no
    earlier bytes must be handled before new ones.
    """
    return getattr(reader, "_waiter", None) is not None


def set_event_handler(client: "HttpClient", handle: Callable[..., Any]) -> None:
    """Make `handle` the function that handles the events of `client`, which is mitmproxy's layer of
    a server connection.
    """
    client._handle_event = handle
