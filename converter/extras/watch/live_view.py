"""A reply shown while it comes: a few times a second at most, and only where somebody can look.

mitmproxy shows a body when it is complete. Here the flow gets what the client has got so far, and
is announced as changed; mitmweb's page and the console then ask for the view again. The stream
itself is not touched; nothing is done for a chunk.
"""

import asyncio
from collections.abc import Sequence

from mitmproxy import ctx
from mitmproxy.hooks import UpdateHook

from converter.addon.keep.flow_record import RUNNING_RECORDS, FlowRecord
from converter.addon.keep.side_reader import SideReader
from converter.addon.mitmproxy_internals import flow_list, somebody_looks
from converter.addon.transcript.turns import Transcript
from converter.addon.watcher import Watcher
from converter.core.model.events import Event
from converter.core.wire.bounds import Bound

LIVE_LIMIT = Bound(
    16 << 20,
    "bytes",
    "a running reply that is followed in mitmweb",
    "shown further when it is complete",
)
"""60,000 tokens, more than people read while they come."""

INTERVAL = 0.25
"""Seconds between two looks at a running reply: four a second read as steadily growing text."""
PACE = 1 << 21
"""Bytes of a reply for which as long again passes between two looks: to show a reply takes time by
its length, of 17 MB 57 ms every 2 s.
"""


class Running:
    """Both sides of a reply that still comes, as people look at them."""

    def __init__(self, record: FlowRecord) -> None:
        self.record = record
        self._sides = {of_server: SideReader(record, of_server) for of_server in (False, True)}
        self.task = asyncio.ensure_future(self._show())

    @property
    def size(self) -> int:
        """The number of bytes that the client has got."""
        return len(self.record.sides.got or b"")

    @property
    def over(self) -> bool:
        """Tell whether the last byte has come, or too many, or the reply broke off."""
        record, rewriter = self.record, self.record.rewriter
        # a script that is unloaded and not loaded anew takes nothing from the exchanges under way
        ended = RUNNING_RECORDS.get(record.flow.id) is not record or not record.flow.live
        return ended or rewriter is None or rewriter.closed or self.size > LIVE_LIMIT

    @property
    def facts(self) -> dict[str, object]:
        """The facts known of the reply so far."""
        summary = self.record.reply_summary
        return {"still coming": f"{summary.pop('end', 0.0)} s so far"} | summary

    def transcript(self, of_server: bool) -> Transcript:
        """Return what the client has got so far, or what the server has sent."""
        return self._sides[of_server].transcript()

    async def _show(self) -> None:
        """Give the flow the bytes so far, and tell all addons that show flows.

        The last byte, a frame's blank line, is left out. A view looks at a flow again only when its
        bytes have changed, so the complete reply has to differ from each earlier state, or its end
        (times, tokens) would never be seen.
        """
        flow, shown = self.record.flow, 0
        while not self.over:
            await asyncio.sleep(INTERVAL * (1 + self.size / PACE))
            got = self.record.sides.got
            if self.size != shown and not self.over and somebody_looks():
                shown = self.size
                if flow.response and got:
                    flow.response.data.content = bytes(got[:-1])
                    await ctx.master.addons.trigger_event(UpdateHook([flow]))


RUNNING: dict[str, Running] = {}
"""Replies that are shown while they come, by their flows' ids."""


class LiveView(Watcher):
    """An addon of its own: it shows streams that come, where there is anything that shows flows."""

    name = "think-live"

    def __init__(self) -> None:
        self._wanted: set[str] = set()

    def asked(self, seen: FlowRecord) -> None:
        """Take note of what somebody may look at."""
        if flow_list() is not None:  # not by its truth, because an empty one is false
            self._wanted.add(seen.flow.id)

    def heard(self, seen: FlowRecord, _: Sequence[Event]) -> None:
        """Begin to show a stream with its first piece, unless it is held for one body."""
        name = seen.flow.id
        if name in self._wanted and seen.tap is not None:
            self._wanted.discard(name)
            if not seen.tap.holds:
                RUNNING[name] = Running(seen)

    def ended(self, seen: FlowRecord) -> None:
        """Show it no more."""
        self._wanted.discard(seen.flow.id)
        RUNNING.pop(seen.flow.id, None)
