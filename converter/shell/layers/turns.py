"""The turns of streams: others go on after each long read of one, and a server is read no further
while its reply waits.

While a hook waits, for what a server says about itself or for a person, mitmproxy reads on, holds
all that comes, and rewrites it in one go afterwards: two seconds for five megabytes of thoughts, in
which no other stream moves. So the task that reads the server waits as well, and with it that one
socket. A server of HTTP/2 is read on: other exchanges may wait for what it sends.
"""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mitmproxy.connection import Connection
from mitmproxy.proxy.commands import StartHook

from converter.shell.layers.guard import TURNS
from converter.shell.layers.mends.http2_client import HTTP_2

if TYPE_CHECKING:
    from converter.shell.layers.connection import ReplyLayer

LONG_READ = 16 * 1024
"""Bytes of a read after which other connections have their turn: some 8 milliseconds of the slowest
frames. mitmproxy goes on with what has come, of one server up to 256 kB.
"""


@dataclass
class UnfinishedHook(StartHook):
    """Have an exchange wait for what is under way. mitmproxy resumes it after that."""

    name = "think_unfinished_hook"
    task: asyncio.Future[Any]


def give_turns(layer: "ReplyLayer", handler: Any) -> None:
    """Have other connections get their turn after each long read of this one's, and a server wait
    with its reply: mitmproxy reads on while there is anything to read. `handler`: what moves the
    client's bytes.
    """
    if TURNS.lacks:
        return
    drain = handler.drain_writers

    async def drain_in_turn() -> None:
        read = layer.last_from
        if layer.last_read >= LONG_READ:
            await asyncio.sleep(0)
        await layer.long_calls.keep_up()
        await hold_back(layer, read)
        await drain()

    handler.drain_writers = drain_in_turn


async def hold_back(layer: "ReplyLayer", read: Connection | None) -> None:
    """Wait, in the task that has read from a connection, for the exchange whose reply that was."""
    if read is None or read.alpn == HTTP_2:
        return
    for stream in [one for one in layer.streams.values() if one.context.server is read]:
        await stream.resumed()
