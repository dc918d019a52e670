"""Calls of stream functions that take long: only the exchange itself waits for them.

The end of a long frame is rewritten beside mitmproxy's loop. A long read of short frames, up to
64 kB when the client is slow or a hook has waited, is rewritten on the loop, in steps between which
others have their turn; to read less of it at a time would cost a tenth more. What becomes of it is
said a few pieces at a time: a Responses client is told a frame of 20 MB five times.
"""

import asyncio
from collections.abc import Callable, Iterator

from mitmproxy.proxy.layer import CommandGenerator

from converter.shell.layers.contract import StreamFunction
from converter.shell.layers.turns import LONG_READ, UnfinishedHook

MOST_BEHIND = 64 * 1024
"""Bytes that may come meanwhile before the reading waits too: all that waits is rewritten in one go
afterwards, which may take 40 milliseconds.
"""
MOST_SAID = 1 << 20
"""Bytes that are sent between two turns, unless one piece has more, because the way to the client
copies them three times.
"""


class LongCalls:
    """Those of one client's connection."""

    def __init__(self) -> None:
        self._under_way: set[asyncio.Future[list[bytes]]] = set()
        self._behind = 0

    def call(
        self,
        function: StreamFunction,
        chunk: bytes,
        say: Callable[[list[bytes]], CommandGenerator[None]],
        at_once: bool = False,
    ) -> CommandGenerator[None]:
        """Call the function and say what it returns; the exchange waits where that takes long.

        `at_once`: the client takes no more now, and its server would be read on in the meantime.
        """
        if not function.is_long and (at_once or len(chunk) <= LONG_READ):
            yield from say(function(chunk))
            return
        task = asyncio.ensure_future(_in_steps(function, chunk))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        yield UnfinishedHook(task)
        for at, few in enumerate(_few(task.result())):
            if at:
                yield UnfinishedHook(asyncio.ensure_future(asyncio.sleep(0)))
            yield from say(few)

    def came(self, size: int) -> None:
        """Note that so many bytes were read."""
        self._behind = self._behind + size if self._under_way else 0

    async def keep_up(self) -> None:
        """Wait for a call that too many bytes wait for already."""
        if self._under_way and self._behind > MOST_BEHIND:
            await asyncio.wait(self._under_way)


def _few(pieces: list[bytes]) -> Iterator[list[bytes]]:
    """Yield all pieces, as many at a time as are said between two turns."""
    few, size = list[bytes](), 0
    for piece in pieces:
        if few and size + len(piece) > MOST_SAID:
            yield few
            few, size = [], 0
        few.append(piece)
        size += len(piece)
    yield few


async def _in_steps(function: StreamFunction, chunk: bytes) -> list[bytes]:
    """Return what a function says of a chunk, which it gets in pieces."""
    pieces: list[bytes] = []
    for at in range(0, max(len(chunk), 1), LONG_READ):
        if function.is_long:
            return pieces + list(await function.beside(chunk[at:]))
        pieces += function(chunk[at : at + LONG_READ])
        await asyncio.sleep(0)
    return pieces
