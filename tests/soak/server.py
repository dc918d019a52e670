"""A server on loopback, in the driver's own loop, that answers each request by its plan."""

import asyncio
import contextlib
import re
import socket
import struct
from collections.abc import Callable
from typing import Self

from tests.faults.hostile_server import Do, Step
from tests.soak.plans import MARK, WAIT, Plan

_NUMBER = re.compile(MARK.encode() + rb"(\d+)-")
_SECONDS = {Do.PAUSE: 0.02, Do.HANG: 10.0}
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


class PlanServer:
    """`plan` gives the plan of a number. `most`: streams that wait for each other before any goes
    on; `at_once`: how many there were at one time, at most.
    """

    def __init__(self, plan: Callable[[int], Plan], most: int = 0) -> None:
        self._plan = plan
        self._most = most
        self._waiting = 0
        self._all_there = asyncio.Event()
        self._open: set[asyncio.StreamWriter] = set()
        self.at_once = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._meet, "127.0.0.1", 0, backlog=2000)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer in self._open:
            writer.transport.abort()
        await self._server.wait_closed()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        self.at_once = max(self.at_once, len(self._open))
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                while not await self._do(await _read(reader), writer):
                    pass
        finally:
            self._open.discard(writer)
            await closed(writer)

    async def _do(self, request: bytes, writer: asyncio.StreamWriter) -> bool:
        """Take the steps; return True if the connection is over."""
        match = _NUMBER.search(request)
        if not match:
            writer.write(b"HTTP/1.1 404 X\r\ncontent-length: 0\r\n\r\n")
            return False
        for step in self._plan(int(match[1])).steps:
            if step in (Do.RESET, Do.CLOSE):
                _end(writer, reset=step == Do.RESET)
                return True
            await self._take(step, writer)
        return False

    async def _take(self, step: Step, writer: asyncio.StreamWriter) -> None:
        if isinstance(step, bytes):
            writer.write(step)
            await writer.drain()
        elif step == WAIT:
            await self._wait()
        elif isinstance(step, str):
            await asyncio.sleep(_SECONDS[step])
        elif isinstance(step, float):
            await asyncio.sleep(step)

    async def _wait(self) -> None:
        self._waiting += 1
        if self._waiting >= self._most:
            self._all_there.set()
        await self._all_there.wait()


async def closed(writer: asyncio.StreamWriter) -> None:
    """Close a connection, whatever the other side has done."""
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


async def _read(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = _LENGTH.search(head)
    return await reader.readexactly(int(length[1])) if length else head


def _end(writer: asyncio.StreamWriter, reset: bool) -> None:
    if reset:
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
