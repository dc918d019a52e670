"""The addon that puts our layers in place, if this mitmproxy has the members that they use."""

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
    from converter.addon.layers.connection import LIVE, Quit, replace_layer
    from converter.addon.layers.stream_turns import give_turns

MOST_NAMED = 3
"""Missing members that are named, because a module that is gone lacks all of them."""
SECONDS_TO_QUIT = 2.0
"""Seconds for the last bytes to clients when mitmproxy ends. Loopback needs milliseconds."""

_log = logging.getLogger(__name__)


class OwnLayers:
    """An addon of its own. `listener`: answers the layers."""

    name = "think-layers"

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._lazy = False

    def running(self) -> None:
        """Log the members that this mitmproxy lacks. If the script was loaded anew, answer open
        connections from now on.
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
        for layer in LIVE:
            layer.listener = self._listener

    def configure(self, updated: set[str]) -> None:
        """Let no body be streamed for its size, because a body that is rewritten has to be
        complete, and all others stream anyway. Have the server's connection opened for a request,
        from the first client on, because the port is open before `running`.

        By default mitmproxy opens a server's connection for each client that connects, and closes
        the client without a message where it cannot. Have clients choose HTTP/1, because mitmproxy
        takes all that a server sends an HTTP/2 client, however slowly it reads, and opens five
        connections to the server for it (12.3.1). A value that a person has set stays.
        """
        if "stream_large_bodies" in updated and ctx.options.stream_large_bodies:
            _log.warning("think: stream_large_bodies is switched off: a body may have to be whole")
            ctx.options.update(stream_large_bodies=None)
        if "mode" in updated and not PROMISES.lacks:
            self._choose_strategy()
            if not mitmproxy_internals.is_set_by_user("http2"):
                ctx.options.update(http2=False)

    def _choose_strategy(self) -> None:
        ours = self._lazy and ctx.options.connection_strategy == "lazy"
        if ours or not mitmproxy_internals.is_set_by_user("connection_strategy"):
            # through a forward proxy goes other traffic, such as SSH, whose server speaks first
            modes = map(ProxyMode.parse, ctx.options.mode)
            self._lazy = all(isinstance(mode, ReverseMode) for mode in modes)
            if self._lazy is not ours:
                ctx.options.update(connection_strategy="lazy" if self._lazy else "eager")

    def next_layer(self, nextlayer: NextLayer) -> None:
        """Replace mitmproxy's HTTP layer."""
        if not PROMISES.lacks:
            mitmproxy_internals.choose_layer(nextlayer)
            handlers = mitmproxy_internals.connection_handlers()
            handler = handlers.get(nextlayer.context.client.id)
            ours = replace_layer(nextlayer, self._listener, handler)
            if ours and handler:
                give_turns(ours, handler)

    async def think_unfinished_hook(self, task: Awaitable[object]) -> None:
        """Wait for work that our layers have begun and not finished, and the exchange with it."""
        await task

    def done(self) -> Awaitable[None] | None:
        """Give every client a proper end when mitmproxy ends, but not when the script is loaded
        anew.
        """
        if PROMISES.lacks or not mitmproxy_internals.is_shutting_down():
            return None
        return break_off()


async def break_off() -> None:
    """Break off all running replies, and wait until the clients have the last bytes."""
    handlers = mitmproxy_internals.connection_handlers()
    busy = [one for one in LIVE if one.exchanges and one.context.client.id in handlers]
    waiting = {one.context.client.id: handlers[one.context.client.id] for one in busy}
    try:
        async with asyncio.timeout(SECONDS_TO_QUIT):
            for handler in waiting.values():
                await handler.server_event(Quit(QUITTING))
            while any(layer.exchanges for layer in busy):
                await asyncio.sleep(0.01)  # an addon's `error` hook still runs
            for handler in waiting.values():
                await handler.drain_writers()
    except TimeoutError:
        _log.warning("think: some clients did not take the end of their replies in time")
