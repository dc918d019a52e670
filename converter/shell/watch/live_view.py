"""A reply shown while it comes: a few times a second at most, and only where somebody can look.

mitmproxy shows a body when it is complete. Here the flow gets what the client has got so far, and
is announced as changed; mitmweb's page and the console then ask for the view again. The stream
itself is not touched; nothing is done for a chunk.
"""

import asyncio
from dataclasses import dataclass, field

from mitmproxy import ctx
from mitmproxy.hooks import UpdateHook
from mitmproxy.http import HTTPFlow

from converter.parsing.reading import Expected
from converter.shell.keep.flow_record import FlowRecord
from converter.shell.mitmproxy_internals import flow_list, somebody_looks
from converter.transcript.reply import AS_WRITTEN, ReplyReader
from converter.transcript.turns import Transcript
from converter.wire.bounds import LIVE_LIMIT

INTERVAL = 0.25
"""Seconds between two looks at a running reply: four a second read as steadily growing text."""
PACE = 1 << 21
"""Bytes of a reply for which as long again passes between two looks: to show a reply takes time by
its length, of 17 MB 57 ms every 2 s.
"""


@dataclass
class Running:
    """One reply that still comes. What came is read once, however often it is looked at."""

    kept: FlowRecord
    task: asyncio.Future[None] | None = None
    _readers: dict[bool, tuple[ReplyReader, int]] = field(default_factory=dict)

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
        sides = self.kept.sides
        reader, read = self._readers.get(of_server) or (self._reader(of_server), 0)
        came = b"".join(sides.chunks) if of_server else bytes(sides.got or b"")
        self._readers[of_server] = reader, len(came)
        if len(came) > read:
            reader.feed(came[read:])
        return reader.transcript()

    def _reader(self, of_server: bool) -> ReplyReader:
        exchange = self.kept.exchange
        if not of_server:
            return ReplyReader(AS_WRITTEN)
        expected = self.kept.awaited.expected if self.kept.awaited else Expected()
        shown = Expected(expected.initial, expected.model)  # all of a thought, told to nobody
        return ReplyReader(exchange.settings, expected=shown)


COMING: dict[str, Running] = {}
"""Replies that come now, by the ids of their flows."""


class LiveView:
    """An addon of its own."""

    name = "think-live"

    def follow(self, kept: FlowRecord) -> None:
        """Show a reply that begins, where there is anything that shows flows; to be called in
        mitmproxy's loop.
        """
        if flow_list() is not None:  # not by its truth, because an empty one is false
            running = COMING[kept.flow.id] = Running(kept)
            running.task = asyncio.ensure_future(self._show(running))

    def response(self, flow: HTTPFlow) -> None:
        """The reply is complete, or broke off."""
        self._leave(flow.id)

    error = response

    def done(self) -> None:
        """The script is loaded anew, or mitmproxy ends."""
        for name in list(COMING):
            self._leave(name)

    def _leave(self, name: str) -> None:
        running = COMING.pop(name, None)
        if running and running.task:
            running.task.cancel()

    async def _show(self, running: Running) -> None:
        shown = 0
        while not running.over:
            await asyncio.sleep(INTERVAL * (1 + running.size / PACE))
            if running.size != shown and not running.over and somebody_looks():
                shown = running.size
                await _announce(running)


async def _announce(running: Running) -> None:
    """Give the flow what has come, and tell all that show flows.

    The last byte, a frame's blank line, is left out: who shows a flow looks again only when its
    bytes are others than before, so that the complete reply has to differ from all that was shown
    of it, or its end (times, tokens) would never be seen.
    """
    flow, got = running.kept.flow, running.kept.sides.got
    if flow.response and got:
        flow.response.data.content = bytes(got[:-1])
        await ctx.master.addons.trigger_event(UpdateHook([flow]))
