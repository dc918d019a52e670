"""Back pressure of a reply that waits: its server is read no further.

While a hook waits, for what a server says about itself or for a person, mitmproxy reads on, holds
all that comes, and rewrites it in one go afterwards: two seconds for five megabytes of thoughts, in
which no other stream moves. So the task that reads the server waits as well, and with it that one
socket. A server of HTTP/2 is read on: other exchanges may wait for what it sends.
"""

import asyncio
from typing import TYPE_CHECKING

from mitmproxy.connection import Connection

from converter.shell.layers.client_connection import HTTP_2
from converter.shell.layers.hooks import UnfinishedHook
from converter.shell.mitmproxy_internals import awaited_command

if TYPE_CHECKING:
    from converter.shell.layers.reply_layer import ReplyLayer
    from converter.shell.layers.stream_layer import StreamLayer


async def hold_back(layer: "ReplyLayer", read: Connection | None) -> None:
    """Wait, in the task that has read from a connection, for the exchange whose reply that was."""
    if read is None or read.alpn == HTTP_2:
        return
    for stream in [one for one in layer.streams.values() if one.context.server is read]:
        await _resumed(stream)


async def _resumed(stream: "StreamLayer") -> None:
    """Wait until an exchange goes on, and has taken all that came meanwhile."""
    while isinstance(hook := awaited_command(stream), UnfinishedHook) and not hook.task.cancelled():
        await asyncio.wait([hook.task])
        await asyncio.sleep(0)  # mitmproxy has the exchange go on in one of the next turns
