"""Functions that use private and undocumented members of mitmproxy: an option's value, a flow's
backup, the list of flows. Only two other files read private members:
`converter/extras/page/mitmweb_internals.py` those of mitmweb's server, and
`converter/addon/layers/guard.py` those of mitmproxy's layers.

The members were read in mitmproxy 12.0.0, 12.2.3 and 12.3.1.
"""

import logging
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mitmproxy import ctx, log, optmanager
from mitmproxy.flow import Flow
from mitmproxy.http import HTTPFlow
from mitmproxy.proxy.layer import NextLayer

if TYPE_CHECKING:  # the official binary of mitmdump lacks this module
    from mitmproxy.addons.view import View


def is_set_by_user(option: str) -> bool:
    """Return True if the user has set an option, even to its default."""
    return ctx.options._options[option].value is not optmanager.unset


def value_of(option: str, options: optmanager.OptManager | None = None) -> Any:
    """Return the value of an option, None if this version of mitmproxy has no such option.
    `options`: the options of a connection; None: mitmproxy's options in force.

    mitmproxy's own look-up would copy the value twice, and each exchange reads several options.
    """
    row = (ctx.options if options is None else options)._options.get(option)
    if row is None:
        return None
    return row._default if row.value is optmanager.unset else row.value


def undeclared_options() -> list[str]:
    """Return the options that the command line sets and no addon declares. Undeclared options of a
    configuration file are not returned, because their addon may be left out on purpose.
    """
    return [name for name, value in ctx.options.deferred.items() if hasattr(value, "val")]


def choose_layer(nextlayer: NextLayer) -> None:
    """Have mitmproxy choose the next protocol layer of a connection now, so that the addon can
    replace this layer. Do nothing if a layer is chosen already. mitmproxy's own hook, which runs
    after the addon's hook, keeps a layer that is chosen.
    """
    if nextlayer.layer is None:
        ctx.master.addons.get("nextlayer").next_layer(nextlayer)


def is_legacy_log(handler: logging.Handler) -> bool:
    """Return True if a log handler only calls the deprecated hook `add_log`, and shows no lines."""
    return isinstance(handler, getattr(log, "LegacyLogEvents", ()))


def is_shutting_down() -> bool:
    """Return True if mitmproxy is ending. The hook `done` does not show it, because it also runs
    before a reload of the script.
    """
    return bool(ctx.master.should_exit.is_set())


def connection_handlers() -> dict[Any, Any]:
    """Return mitmproxy's handlers, which move the bytes of connected clients: id of a client's
    connection -> its handler.
    """
    handlers: dict[Any, Any] = ctx.master.addons.get("proxyserver").connections
    return handlers


def flow_backup(flow: Flow | None) -> Mapping[str, Any]:
    """Return the flow's backup, which *Revert* would restore; empty if there is none, or no flow.
    It is mitmproxy's object, not a copy, which would take time: callers must not change it.
    """
    state: Any = flow and flow._backup
    return state or {}


def remove_flow_backup(flow: Flow) -> None:
    """Remove a flow's backup, so that *Revert* has nothing to restore."""
    flow._backup = None


def flow_list() -> "View | None":
    """Return the list of flows of mitmweb or the console, None in mitmdump."""
    view: View | None = ctx.master.addons.get("view")
    return view


def is_replayed_by_the_server(flow: HTTPFlow) -> bool:
    """Return True if mitmproxy's server replay, whose hook runs after the addon's, will answer this
    request.
    """
    playback = ctx.master.addons.get("serverplayback")
    return bool(playback and playback.flowmap) and playback._hash(flow) in playback.flowmap


def somebody_looks() -> bool:
    """Return True if a person may see a change of a flow. It is False only in mitmweb, while no
    page is open.
    """
    web = sys.modules.get("mitmproxy.tools.web.app")  # None unless mitmweb runs
    return web is None or bool(web.ClientConnection.connections)
