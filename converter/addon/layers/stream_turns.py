"""The turns of streams: no stream waits for the work on another one.

Other streams go on after each long read of one stream, only the exchange itself waits for a long
call of its stream function, and a server is read no further while its reply waits.

While a hook waits, for a server's answer to a probe or for a person, mitmproxy reads on, holds all
bytes, and rewrites them in one go afterwards: two seconds for five megabytes of thoughts, in which
no other stream moves. So the task that reads the server waits as well, and with it this one socket.

The end of a long frame is rewritten beside mitmproxy's loop. A long read of short frames, up to 64
kB when the client is slow or a hook has waited, is rewritten on the loop in steps, between which
other streams have their turn. Steps for shorter reads would cost a tenth more.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeGuard

from mitmproxy.connection import Connection
from mitmproxy.proxy.commands import StartHook
from mitmproxy.proxy.layer import CommandGenerator

from converter.addon.layer_contract import Connections, StreamFunction

LONG_READ = 16 * 1024
"""Bytes of a read after which other connections have their turn: some 8 milliseconds of the slowest
frames. mitmproxy alone goes on with all that has come, up to 256 kB of one server.
"""


@dataclass
class UnfinishedHook(StartHook):
    """A hook in which an exchange waits for a task. mitmproxy resumes the exchange after it."""

    name = "think_unfinished_hook"
    task: asyncio.Future[Any]


def give_turns(layer: Connections, handler: Any) -> None:
    """Give other connections their turn after each long read of this connection, and hold a
    server's reply back while its exchange waits. mitmproxy alone reads as long as there are bytes.
    `handler`: moves the client's bytes.
    """
    drain = handler.drain_writers

    async def drain_in_turn() -> None:
        read = layer.last_from
        if layer.last_read >= LONG_READ:
            await asyncio.sleep(0)
        await hold_back(layer, read)
        await drain()

    handler.drain_writers = drain_in_turn


async def hold_back(layer: Connections, read: Connection | None) -> None:
    """Wait, in the task that has read from a connection, for the exchange of that reply."""
    if read is None:
        return
    for stream in [one for one in layer.streams.values() if one.context.server is read]:
        await stream.resumed()


def call_in_turns(
    function: StreamFunction,
    chunk: bytes,
    say: Callable[[list[bytes]], CommandGenerator[None]],
) -> CommandGenerator[None]:
    """Call the function and send its pieces. Where the call takes long, the exchange waits, and
    with it the reading of its server (`hold_back`).
    """
    if not function.is_long and len(chunk) <= LONG_READ:
        yield from say(function(chunk))
        return
    task = asyncio.ensure_future(_in_steps(function, chunk))
    yield UnfinishedHook(task)
    yield from say(task.result())


async def _in_steps(function: StreamFunction, chunk: bytes) -> list[bytes]:
    """Return the pieces of a function for a chunk, which it gets in steps."""
    pieces: list[bytes] = []
    for at in range(0, max(len(chunk), 1), LONG_READ):
        if function.is_long:
            return pieces + list(await function.beside(chunk[at:]))
        pieces += function(chunk[at : at + LONG_READ])
        await asyncio.sleep(0)
    return pieces


def is_stream_function(function: object) -> TypeGuard[StreamFunction]:
    """Return True if a response's `stream` can be broken off and can ping."""
    return callable(function) and hasattr(function, "abort") and hasattr(function, "ping")


def may_leave(function: object) -> TypeGuard[StreamFunction]:
    """Return True if a stream function may leave its server before the body's end."""
    return getattr(function, "ends_thoughts", False) is True


def may_follow(function: object) -> TypeGuard[StreamFunction]:
    """Return True if another request may follow the body of a stream function."""
    return getattr(function, "follows", False) is True
