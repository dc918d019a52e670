"""Calls of stream functions that take long: they are made beside mitmproxy's loop, and only the
exchange itself waits for them.
"""

import asyncio
from collections.abc import Generator

from converter.shell.layers.contract import StreamFunction
from converter.shell.layers.hooks import UnfinishedHook

MOST_BEHIND = 64 * 1024
"""Bytes that may come meanwhile before the reading waits too: all that waits is rewritten in one go
afterwards, which may take 40 milliseconds.
"""


class LongCalls:
    """Those of one client's connection."""

    def __init__(self) -> None:
        self._under_way: set[asyncio.Future[list[bytes]]] = set()
        self._behind = 0

    def call(
        self, function: StreamFunction, chunk: bytes
    ) -> Generator[UnfinishedHook, None, list[bytes]]:
        """Call the function; have the exchange wait where that takes long."""
        if not function.is_long:
            return function(chunk)
        task = asyncio.ensure_future(function.beside(chunk))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        yield UnfinishedHook(task)
        return task.result()

    def came(self, size: int) -> None:
        """Note that so many bytes were read."""
        self._behind = self._behind + size if self._under_way else 0

    async def keep_up(self) -> None:
        """Wait for a call that too many bytes wait for already."""
        if self._under_way and self._behind > MOST_BEHIND:
            await asyncio.wait(self._under_way)
