"""The addon of mitmproxy that puts our layers into each client's connection, changes three of
mitmproxy's options, and ends running replies properly when mitmproxy ends.

If this mitmproxy lacks a member that the layers use (`guard`), its own layers stay in place.
"""

import asyncio
import logging
from collections.abc import Awaitable

from mitmproxy import ctx, version
from mitmproxy.proxy.layer import NextLayer
from mitmproxy.proxy.mode_specs import ProxyMode, ReverseMode

from converter.addon import mitmproxy_internals
from converter.addon.layer_contract import QUITTING, Listener
from converter.addon.layers.guard import PARTS, PROMISES

if not PROMISES.lacks:
    from converter.addon.layers import hook_table
    from converter.addon.layers.connection import LIVE_LAYERS, Quit, replace_layer
    from converter.addon.layers.stream_turns import give_turns

MOST_NAMED = 3
"""How many missing members of mitmproxy a log line names. There may be many: if a module is
missing, so are all its members.
"""
SECONDS_TO_QUIT = 2.0
"""How many seconds clients have to take their last bytes when mitmproxy ends. On loopback they need
milliseconds.
"""

_log = logging.getLogger(__name__)


class OwnLayers:
    """An addon of mitmproxy: puts our layers in place of mitmproxy's HTTP layers, and ends running
    replies properly when mitmproxy ends. `listener`: answers the layers' calls about exchanges.
    """

    name = "think-layers"
    """The name under which mitmproxy registers this addon."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._chose_lazy = False

    def running(self) -> None:
        """Log the members that the addon uses and this mitmproxy lacks. If our layers are switched
        on, have mitmproxy call its hooks by our table from now on. If mitmproxy has reloaded the
        script, also give the layers of open connections the new listener.
        """
        for part in PARTS:
            if part.lacks:
                _log.warning(
                    "think: mitmproxy %s lacks members that the addon uses (%s): %s",
                    version.VERSION,
                    ", ".join(part.lacks[:MOST_NAMED]),
                    part.loses,
                )
        if PROMISES.lacks:
            return
        hook_table.install(ctx.master.addons)
        for layer in LIVE_LAYERS:
            layer.listener = self._listener

    def configure(self, updated: set[str]) -> None:
        """Change three of mitmproxy's options; only the first if our layers are switched off. The
        last two keep a value that the user has set.

        - `stream_large_bodies` is switched off, because a body that is rewritten must be complete,
          and the addon streams all other bodies anyway.
        - `connection_strategy` becomes `lazy` in a reverse proxy: the connection to the server is
          opened for a request. With `eager` mitmproxy opens a connection to the server for each
          client that connects, and closes the client's connection without a message if the server
          cannot be reached.
        - `http2` becomes False, so that clients choose HTTP/1. For an HTTP/2 client that reads
          slowly, mitmproxy 12.3.1 buffers all that the server sends, and opens five connections to
          the server.

        The options are set here, and not in `running`, because clients can connect before
        mitmproxy calls `running`.
        """
        if "stream_large_bodies" in updated and ctx.options.stream_large_bodies:
            _log.warning("think: stream_large_bodies is switched off: a body may have to be whole")
            ctx.options.update(stream_large_bodies=None)
        if "mode" not in updated or PROMISES.lacks:
            return
        if not mitmproxy_internals.is_set_by_user("http2"):
            ctx.options.update(http2=False)
        ours = self._chose_lazy and ctx.options.connection_strategy == "lazy"
        if ours or not mitmproxy_internals.is_set_by_user("connection_strategy"):
            # a forward proxy also carries protocols in which the server sends the first bytes, such
            # as SSH, and needs `eager` for them
            modes = map(ProxyMode.parse, ctx.options.mode)
            self._chose_lazy = all(isinstance(mode, ReverseMode) for mode in modes)
            if self._chose_lazy is not ours:
                ctx.options.update(connection_strategy="lazy" if self._chose_lazy else "eager")

    def next_layer(self, nextlayer: NextLayer) -> None:
        """Put our HTTP layer in place of the one that mitmproxy chooses for a connection. Have our
        layer give other connections a turn of the event loop after each long read (`give_turns`).
        """
        if not PROMISES.lacks:
            mitmproxy_internals.choose_layer(nextlayer)
            handlers = mitmproxy_internals.connection_handlers()
            handler = handlers.get(nextlayer.context.client.id)
            ours = replace_layer(nextlayer, self._listener, handler)
            if ours and handler:
                give_turns(ours, handler)

    async def think_unfinished_hook(self, task: Awaitable[object]) -> None:
        """Wait for a task of our layers. mitmproxy calls this function for an `UnfinishedHook`, and
        pauses the exchange until it returns.
        """
        await task

    def done(self) -> Awaitable[None] | None:
        """Return a task that ends every running reply properly. mitmproxy calls this hook when it
        ends, and waits for the task. Return `None` if only the script is reloaded, or if our layers
        are switched off.
        """
        if PROMISES.lacks or not mitmproxy_internals.is_shutting_down():
            return None
        return break_off()


async def break_off() -> None:
    """Break off all running replies, and wait until their clients have taken the last bytes, at
    most `SECONDS_TO_QUIT`.
    """
    handlers = mitmproxy_internals.connection_handlers()
    busy = [one for one in LIVE_LAYERS if one.exchanges and one.context.client.id in handlers]
    waiting = {one.context.client.id: handlers[one.context.client.id] for one in busy}
    try:
        async with asyncio.timeout(SECONDS_TO_QUIT):
            for handler in waiting.values():
                await handler.server_event(Quit(QUITTING))
            while any(layer.exchanges for layer in busy):
                await asyncio.sleep(0.01)  # until the `error` hook of each exchange is over
            for handler in waiting.values():
                await handler.drain_writers()
    except TimeoutError:
        _log.warning("think: some clients did not take the end of their replies in time")
