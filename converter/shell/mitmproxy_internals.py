"""Every member of mitmproxy that is private, or public without being documented, in one place.

Read in mitmproxy 12.0.0, 12.2.3 and 12.3.1, whose HTTP layers are the same. What a later version
lacks of these is named by `missing()`; the addon then leaves mitmproxy's own layers in place.
"""

import asyncio
import inspect
import logging
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from mitmproxy import ctx, log, optmanager
from mitmproxy.flow import Flow
from mitmproxy.http import HTTPFlow
from mitmproxy.proxy.commands import Command
from mitmproxy.proxy.layer import Layer, NextLayer

if TYPE_CHECKING:  # mitmdump's own binary is without it
    from mitmproxy.addons.view import View

_not_importable = ""
try:
    from mitmproxy.addonmanager import safecall
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
        RequestHeaders,
        RequestProtocolError,
        RequestTrailers,
        ResponseData,
        ResponseEndOfMessage,
        ResponseHeaders,
        ResponseProtocolError,
    )
    from mitmproxy.proxy.layers.http._hooks import HttpErrorHook, HttpResponseHook
    from mitmproxy.proxy.layers.http._http1 import (  # type: ignore[attr-defined]
        ChunkedReader,
        Http1Client,
        Http1Server,
        h11,
    )
    from mitmproxy.proxy.layers.http._http2 import Http2Server
    from mitmproxy.proxy.layers.modes import DestinationKnown, HttpProxy
    from mitmproxy.proxy.server import ConnectionHandler
    from mitmproxy.proxy.utils import ReceiveBuffer
    from mitmproxy.utils.asyncio_utils import create_task
except ImportError as error:
    _not_importable = str(error)

BUILT_UPON = {
    "ConnectionHandler.handle_hook": "self, hook",
    "ConnectionHandler.max_conns": "",
    "ConnectionHandler.log": "self, message, level, exc_info",
    "ConnectionHandler.server_event": "self, event",
    "Layer.handle_event": "self, event",
    "Layer._paused": "",
    "HttpLayer.__init__": "self, context, mode",
    "HttpLayer.event_to_child": "self, child, event",
    "HttpLayer.get_connection": "self, event, reuse",
    "HttpLayer.make_stream": "self, stream_id",
    "HttpLayer.waiting_for_establishment": "",
    "HttpLayer.register_connection": "self, command",
    "HttpClient.child_layer": "",
    "HttpStream.__init__": "self, context, stream_id",
    "HttpStream._handle_event": "self, event",
    "HttpStream.check_body_size": "self, request",
    "HttpStream.check_invalid": "self, request",
    "HttpStream.flow_done": "self",
    "HttpStream.handle_protocol_error": "self, event",
    "HttpStream.make_server_connection": "self",
    "HttpStream.response_body_buf": "",
    "HttpStream.send_response": "self, already_streamed",
    "HttpStream.start_request_stream": "self",
    "HttpStream.start_response_stream": "self",
    "HttpStream.state_consume_request_body": "self, event",
    "HttpStream.state_consume_response_body": "self, event",
    "HttpStream.state_done": "self, _",
    "HttpStream.state_stream_response_body": "self, event",
    "HttpStream.state_wait_for_response_headers": "self, event",
    "Http1Client.__init__": "self, context",
    "Http1Client.read_body": "self, event",
    "Http1Client.read_headers": "self, event",
    "Http1Client.body_reader": "",
    "Http1Client.send": "self, event",
    "Http1Server.__init__": "self, context",
    "Http1Server.read_body": "self, event",
    "Http2Server._handle_event": "self, event",
    "Http2Server.h2_conn": "",
    "Http2Server.is_closed": "self, stream_id",
    "Http2Server.streams": "",
    "ChunkedReader.__call__": "self, buf",
    "ConnectionHandler.drain_writers": "self",
}
"""What the layers of our own override or call, with the parameters of what is a function."""


def missing() -> list[str]:
    """Return what this mitmproxy lacks for our layers: nothing, in the versions named above."""
    if _not_importable:
        return [_not_importable]
    return [name for name, parameters in BUILT_UPON.items() if not _is_there(name, parameters)]


def _is_there(path: str, parameters: str) -> bool:
    owner, _, name = path.partition(".")
    found = getattr(globals()[owner], name, None)
    if found is None:
        return any(name in vars(base).get("__annotations__", {}) for base in globals()[owner].mro())
    return not parameters or parameters == ", ".join(inspect.signature(found).parameters)


def is_paused(layer: Layer) -> bool:
    """Tell whether a layer waits for a hook or a connection, so that its events are queued."""
    return layer._paused is not None


def awaited_command(layer: Layer) -> Command | None:
    """Return what a layer waits for, if it is paused."""
    return layer._paused.command if layer._paused else None


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


def is_set_by_user(option: str) -> bool:
    """Tell whether somebody has given an option a value, be it the default one."""
    return ctx.options._options[option].value is not optmanager.unset


def choose_layer(nextlayer: NextLayer) -> None:
    """Let mitmproxy decide now: its own hook comes after the scripts', and keeps a decision."""
    if nextlayer.layer is None:
        ctx.master.addons.get("nextlayer").next_layer(nextlayer)


def is_legacy_log(handler: logging.Handler) -> bool:
    """Tell whether a handler shows nothing, but calls the deprecated `add_log` hook."""
    return isinstance(handler, getattr(log, "LegacyLogEvents", ()))


def is_shutting_down() -> bool:
    """Tell whether mitmproxy ends; a script's `done` hook also runs when it is loaded anew."""
    return bool(ctx.master.should_exit.is_set())


def connection_handlers() -> dict[Any, Any]:
    """Return what moves the bytes of each connected client, by the client's id."""
    handlers: dict[Any, Any] = ctx.master.addons.get("proxyserver").connections
    return handlers


def hand_events_to(client: "HttpClient", handle: Callable[..., Any]) -> None:
    """Have another function than the client's own take its events from now on."""
    client._handle_event = handle


def state_before(flow: Flow | None) -> Mapping[str, Any]:
    """Return the state that *Revert* would restore, empty for none; not a copy, which is costly."""
    state: Any = flow and flow._backup
    return state or {}


def forget_state_before(flow: Flow) -> None:
    """Leave *Revert* nothing to restore."""
    flow._backup = None


def flow_list() -> "View | None":
    """Return mitmweb's and the console's list of flows; mitmdump has none."""
    view: View | None = ctx.master.addons.get("view")
    return view


def is_replayed_by_the_server(flow: HTTPFlow) -> bool:
    """Tell whether mitmproxy's server replay, whose turn comes after ours, holds a reply to this
    very request.
    """
    playback = ctx.master.addons.get("serverplayback")
    return bool(playback and playback.flowmap) and playback._hash(flow) in playback.flowmap


def somebody_looks() -> bool:
    """Tell whether anybody could see a change: in mitmweb a page that is open, in the console
    always.
    """
    web = sys.modules.get("mitmproxy.tools.web.app")  # imported by mitmweb alone
    return web is None or bool(web.ClientConnection.connections)


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
