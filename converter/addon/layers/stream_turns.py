"""Gives streams turns in mitmproxy's event loop, so that the work on one stream does not stop the
others. Three rules:

- Other streams get a turn after each long read of one stream.
- A long call of a stream function pauses only its own exchange. The end of a long frame is
  rewritten in a thread. A long read of short frames (up to 64 kB if the client is slow or a hook
  has waited) is rewritten on mitmproxy's loop in steps, and other streams get a turn between the
  steps. With steps for shorter reads the work would take a tenth longer.
- A server is not read while its exchange is paused. Without this rule mitmproxy reads on while a
  hook waits (for a probe's answer, or for a person who intercepts), holds all bytes, and then
  rewrites them in one call. Five megabytes of thoughts took two seconds, in which no other stream
  moved. So here the task that reads this server's socket waits until the hook is over.
"""

import asyncio
from dataclasses import dataclass
from typing import Any

from mitmproxy.connection import Connection
from mitmproxy.proxy.commands import StartHook
from mitmproxy.proxy.layer import CommandGenerator

from converter.addon.layer_contract import Connections, StreamFunction

LONG_READ = 16 * 1024
"""A read of this number of bytes, or of more, is long: other connections get a turn of the event
loop after it. To rewrite 16 kB of the slowest frames takes some 8 milliseconds. mitmproxy's own
layers read up to 256 kB from one server before others get a turn.
"""


@dataclass
class UnfinishedHook(StartHook):
    """A hook of ours, by which a layer waits for a task: mitmproxy pauses the exchange until the
    hook's function in `OwnLayers` has waited for the task.
    """

    name = "think_unfinished_hook"
    """The name of the method of `OwnLayers` that mitmproxy calls for this hook."""
    task: asyncio.Future[Any]
    """The task that the layer waits for."""


def give_turns(layer: Connections, handler: Any) -> None:
    """Give other connections a turn of the event loop after each long read from this client or its
    servers, and stop reading a server while its exchange is paused. `handler`: mitmproxy's handler
    of the client's connection. Its method `drain_writers`, which it calls after each read, is
    replaced here.
    """
    drain = handler.drain_writers

    async def drain_in_turn() -> None:
        """Give others a turn, wait while the exchange is paused, and drain the writers."""
        read = layer.last_read_from
        if layer.last_read_bytes >= LONG_READ:
            await asyncio.sleep(0)
        await wait_while_paused(layer, read)
        await drain()

    handler.drain_writers = drain_in_turn


async def wait_while_paused(layer: Connections, read: Connection | None) -> None:
    """Wait while a hook pauses the exchange of the server's connection `read`; if `read` is `None`,
    do not wait. The task that reads the connection calls this after each read, so that it does not
    read on while the exchange is paused.
    """
    if read is None:
        return
    for stream in [one for one in layer.streams.values() if one.context.server is read]:
        await stream.wait_until_resumed()


def call_in_turns(function: StreamFunction, chunk: bytes) -> CommandGenerator[list[bytes]]:
    """Call a stream function with a chunk, and return its pieces. A call that may take long, or has
    more than `LONG_READ` bytes, runs in a task; until the task ends, the exchange is paused, and
    its server is not read.
    """
    if not function.is_long and len(chunk) <= LONG_READ:
        return function(chunk)
    task = asyncio.ensure_future(_call_in_steps(function, chunk))
    yield UnfinishedHook(task)
    return task.result()


async def _call_in_steps(function: StreamFunction, chunk: bytes) -> list[bytes]:
    """Call a stream function with one part of a chunk after another, and give other tasks a turn
    between the calls. As soon as a call may take long, call it with all that is left of the chunk,
    in a thread. Return the pieces of all calls.
    """
    pieces: list[bytes] = []
    for at in range(0, max(len(chunk), 1), LONG_READ):
        if function.is_long:
            return pieces + list(await function.call_in_thread(chunk[at:]))
        pieces += function(chunk[at : at + LONG_READ])
        await asyncio.sleep(0)
    return pieces
