"""A reply shown while it comes: a few times a second at most, and only where somebody can look.

mitmproxy shows a body when it is complete. Here the flow gets what the client has got so far, and
is announced as changed; mitmweb's page and the console then ask for the view again. The stream
itself is not touched; nothing is done for a chunk.
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from mitmproxy import ctx
from mitmproxy.hooks import UpdateHook
from mitmproxy.http import HTTPFlow

from converter.exchange.settings import Settings
from converter.model.initial_state import InitialState
from converter.parsing.reading import Expected
from converter.shell.keep.flow_record import FlowRecord
from converter.shell.mitmproxy_internals import flow_list, somebody_looks
from converter.transcript.reply import ReplyReader
from converter.transcript.turns import Transcript
from converter.wire.bounds import LIVE_LIMIT

INTERVAL = 0.25
"""Seconds between two looks at a running reply: four a second read as steadily growing text."""
SHARE = 20
"""An update comes no sooner than so many times what the last one cost, so that they take 5% of the
time at most.
"""


@dataclass
class Running:
    """One reply that still comes. What came is read once, however often it is looked at.

    `spent`: seconds that showing it has cost since it was last announced.
    """

    kept: FlowRecord
    spent: float = 0.0
    task: asyncio.Future[None] | None = None
    _readers: dict[bool, ReplyReader] = field(default_factory=dict)
    _bytes: int = 0
    _chunks: int = 0

    @property
    def size(self) -> int:
        """The number of bytes that the client has got."""
        return len(self.kept.sides.got or b"")

    @property
    def over(self) -> bool:
        """Tell whether the last byte has come, or too many."""
        rewriter = self.kept.rewriter
        return rewriter is None or rewriter.closed or self.size > LIVE_LIMIT

    @property
    def facts(self) -> dict[str, object]:
        """The facts known of the reply so far."""
        rewriter = self.kept.rewriter
        summary = rewriter.summary.told() if rewriter else {}
        return {"still coming": f"{summary.pop('end', 0.0)} s so far"} | summary

    def transcript(self, of_server: bool) -> Transcript:
        """Return what the client has got so far, or what the server has sent."""
        if of_server not in self._readers:
            self._readers[of_server] = self._reader(of_server)
        reader = self._readers[of_server]
        if of_server:
            fresh, self._chunks = (
                b"".join(self.kept.sides.chunks[self._chunks :]),
                len(self.kept.sides.chunks),
            )
        else:
            fresh, self._bytes = bytes((self.kept.sides.got or b"")[self._bytes :]), self.size
        if fresh:
            reader.feed(fresh)
        return reader.transcript()

    def _reader(self, of_server: bool) -> ReplyReader:
        exchange = self.kept.exchange
        if not of_server:
            return ReplyReader(rewritten(exchange.settings))
        expected = self.kept.awaited.expected if self.kept.awaited else Expected()
        shown = Expected(expected.initial, expected.model)  # all of a thought, told to nobody
        return ReplyReader(exchange.settings, expected=shown)

    @contextmanager
    def at_cost(self) -> Iterator[None]:
        """Count what is done inside as the cost of showing this reply."""
        begun = time.perf_counter()
        try:
            yield
        finally:
            self.spent += time.perf_counter() - begun


class LiveView:
    """An addon of its own. `replies`: those that come now, by the ids of their flows."""

    name = "think-live"

    def __init__(self) -> None:
        self.replies: dict[str, Running] = {}

    def follow(self, flow: HTTPFlow, kept: FlowRecord) -> None:
        """Show a reply that begins, where there is anything that shows flows; to be called in
        mitmproxy's loop.
        """
        if flow_list() is not None:  # not by its truth, because an empty one is false
            running = self.replies[flow.id] = Running(kept)
            running.task = asyncio.ensure_future(self._show(flow, running))

    def response(self, flow: HTTPFlow) -> None:
        """The reply is complete."""
        self._leave(flow.id)

    def error(self, flow: HTTPFlow) -> None:
        """The reply broke off."""
        self._leave(flow.id)

    def done(self) -> None:
        """The script is loaded anew, or mitmproxy ends."""
        for name in list(self.replies):
            self._leave(name)

    def _leave(self, name: str) -> None:
        running = self.replies.pop(name, None)
        if running and running.task:
            running.task.cancel()

    async def _show(self, flow: HTTPFlow, running: Running) -> None:
        shown, due = 0, 0.0
        while not running.over:
            await asyncio.sleep(INTERVAL)
            now, size = time.perf_counter(), running.size
            if (
                size == shown
                or now < due + SHARE * running.spent
                or running.over
                or not somebody_looks()
            ):
                continue
            shown, due, running.spent = size, now, 0.0
            with running.at_cost():
                await _announce(flow, running)


async def _announce(flow: HTTPFlow, running: Running) -> None:
    """Give the flow what has come, and tell all that show flows.

    The last byte, a frame's blank line, is left out: who shows a flow looks again only when its
    bytes are others than before, so that the complete reply has to differ from all that was shown
    of it, or its end (times, tokens) would never be seen.
    """
    if flow.response and running.kept.sides.got:
        flow.response.data.content = bytes(running.kept.sides.got[:-1])
        await ctx.master.addons.trigger_event(UpdateHook([flow]))


def rewritten(chosen: Settings) -> Settings:
    """Return how to read what the addon itself has written: its thinking stands apart already,
    wherever it began.
    """
    return replace(chosen, start=InitialState.TEXT, markers=False)
