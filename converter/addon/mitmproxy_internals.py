"""Every member of mitmproxy that is private, or public without being documented, in one module.

Read in mitmproxy 12.0.0, 12.2.3 and 12.3.1. The members that our layers use are in
`converter/addon/layers/guard.py`.
"""

import logging
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mitmproxy import ctx, log, optmanager
from mitmproxy.flow import Flow
from mitmproxy.http import HTTPFlow
from mitmproxy.proxy.layer import NextLayer

if TYPE_CHECKING:  # mitmdump's own binary lacks this module
    from mitmproxy.addons.view import View


def is_set_by_user(option: str) -> bool:
    """Return True if anybody has set an option, even to its default."""
    return ctx.options._options[option].value is not optmanager.unset


def value_of(option: str, options: optmanager.OptManager | None = None) -> Any:
    """Return the value of an option; `None` if this mitmproxy has no such option. mitmproxy's own
    look-up copies the value twice, and each exchange reads some options. `options`: those of a
    connection.
    """
    row = (ctx.options if options is None else options)._options.get(option)
    if row is None:
        return None
    return row._default if row.value is optmanager.unset else row.value


def undeclared_options() -> list[str]:
    """Return the options of the command line that no addon declares. Those of a configuration file
    are plain values, and may belong to an addon that is not loaded today.
    """
    return [name for name, value in ctx.options.deferred.items() if hasattr(value, "val")]


def choose_layer(nextlayer: NextLayer) -> None:
    """Have mitmproxy choose the next layer now, because its own hook comes after the scripts', and
    keeps a choice.
    """
    if nextlayer.layer is None:
        ctx.master.addons.get("nextlayer").next_layer(nextlayer)


def is_legacy_log(handler: logging.Handler) -> bool:
    """Return True if a handler shows nothing, but calls the deprecated `add_log` hook."""
    return isinstance(handler, getattr(log, "LegacyLogEvents", ()))


def is_shutting_down() -> bool:
    """Return True if mitmproxy ends. A script's `done` hook also runs when it is loaded anew."""
    return bool(ctx.master.should_exit.is_set())


def connection_handlers() -> dict[Any, Any]:
    """Return the handlers that move the bytes of connected clients, by the clients' ids."""
    handlers: dict[Any, Any] = ctx.master.addons.get("proxyserver").connections
    return handlers


def state_before(flow: Flow | None) -> Mapping[str, Any]:
    """Return the state that *Revert* would restore, empty if there is none. It is no copy, which
    would be costly.
    """
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
    """Return True if mitmproxy's server replay, whose turn comes after ours, holds a reply to this
    request.
    """
    playback = ctx.master.addons.get("serverplayback")
    return bool(playback and playback.flowmap) and playback._hash(flow) in playback.flowmap


def somebody_looks() -> bool:
    """Return True if anybody could see a change: in mitmweb while a page is open, in the console
    always.
    """
    web = sys.modules.get("mitmproxy.tools.web.app")  # only mitmweb imports it
    return web is None or bool(web.ClientConnection.connections)
