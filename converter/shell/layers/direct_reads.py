"""A read of a streaming reply, carried from one socket to the other at once.

mitmproxy reads through asyncio's streams: bytes wait in a buffer, a task is woken in the loop's
next turn, takes two locks, makes an event for the layers and drains all writers. That is a third of
a paced token's cost. Here the protocol of the server's connection is ours while a reply streams,
and hands a read to the short way by itself. mitmproxy's way is taken whenever there is anything to
wait for: its task is still at an earlier read, the exchange is paused, the client's socket has not
taken all that was written, or a read is so long that others must have their turn. So back pressure,
order and ends stay mitmproxy's.
"""

import asyncio
from typing import Any

from mitmproxy.connection import Connection
from mitmproxy.proxy.events import DataReceived

from converter.shell.layers.shortcut import Shortcut
from converter.shell.layers.turns import LONG_READ
from converter.shell.mitmproxy_internals import create_task, waits_for_data


class DirectReads(asyncio.Protocol):
    """The protocol of a server's connection; `theirs` is the one whose place it takes."""

    def __init__(self, handler: Any, server: Connection, shortcut: Shortcut) -> None:
        self._handler = handler
        self._server = server
        self._shortcut = shortcut
        self._reader = handler.transports[server].reader
        self._transport = handler.transports[server].writer.transport
        self._client = handler.transports[handler.client].writer.transport
        self.theirs = self._transport.get_protocol()

    def begin(self) -> None:
        """Take the place."""
        if isinstance(self.theirs, DirectReads):  # of an earlier reply, which ended otherwise
            self.theirs = self.theirs.theirs
        self._transport.set_protocol(self)
        _read_at_once(self._transport, LONG_READ)

    def data_received(self, data: bytes) -> None:
        """Hand on a read."""
        if len(data) > LONG_READ or not self._is_free():
            self.theirs.data_received(data)
            return
        self._handler.timeout_watchdog.register_activity()
        if said := self._shortcut.take(data):
            self._client.write(said)
        if not self._shortcut.goes_on:
            self._end()

    def _is_free(self) -> bool:
        """Tell whether nothing is to be waited for."""
        client = self._client
        return (
            waits_for_data(self._reader)
            and not client.get_write_buffer_size()
            and not client.is_closing()
            and self._shortcut.is_open()
        )

    def _end(self) -> None:
        """Give the place back, and have the layers see to the reply's end, which waits in them."""
        self._transport.set_protocol(self.theirs)
        _read_at_once(self._transport, None)
        event, handler = DataReceived(self._server, b""), self._handler
        peer = handler.client.peername
        create_task(handler.server_event(event), name="end of reply", keep_ref=True, client=peer)

    def eof_received(self) -> bool | None:
        """Pass it on."""
        ends: bool | None = self.theirs.eof_received()
        return ends

    def connection_lost(self, error: Exception | None) -> None:
        """Pass it on."""
        self.theirs.connection_lost(error)

    def pause_writing(self) -> None:
        """Pass it on."""
        self.theirs.pause_writing()

    def resume_writing(self) -> None:
        """Pass it on."""
        self.theirs.resume_writing()


def _read_at_once(transport: Any, size: int | None) -> None:
    """Have a transport read so many bytes at most, None: as many as it is used to. uvloop's cannot
    be told; what it reads beyond `LONG_READ` takes mitmproxy's way.
    """
    if hasattr(transport, "max_size"):
        transport.max_size = size or type(transport).max_size


def read_directly(handler: Any, server: Connection, shortcut: Shortcut) -> None:
    """Have reads of a reply take the direct way, where both ends are plain sockets."""
    ends = (handler.transports.get(server), handler.transports.get(handler.client))
    if all(end and isinstance(end.writer, asyncio.StreamWriter) for end in ends):
        DirectReads(handler, server, shortcut).begin()
