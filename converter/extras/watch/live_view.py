"""Show a reply while it comes: a few times a second at most, and only where somebody can look.

mitmproxy shows a body when it is complete. Here the flow gets the bytes that the client has
received so far, and is announced as changed; mitmweb's page and the console then request the view
again. The stream itself is not touched, and a chunk costs nothing.
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
"""Seconds between two updates of a running reply: four a second look like steadily growing text."""
PACE = 1 << 21
"""Bytes of a reply that add another interval between two updates, because an update takes time by
the reply's length: 57 ms every 2 s for 17 MB.
"""


class Running:
    """A reply that still comes, with the transcripts of both sides."""

    def __init__(self, record: FlowRecord) -> None:
        self.record = record
        self._sides = {of_server: SideReader(record, of_server) for of_server in (False, True)}
        self.task = asyncio.ensure_future(self._show())

    @property
    def size(self) -> int:
        """The number of bytes that the client has received."""
        return len(self.record.sides.got or b"")

    @property
    def over(self) -> bool:
        """True if the reply is complete, too long to follow, or broke off."""
        record, rewriter = self.record, self.record.rewriter
        # a script that is unloaded and not loaded anew takes nothing from the exchanges under way
        ended = RUNNING_RECORDS.get(record.flow.id) is not record or not record.flow.live
        return ended or rewriter is None or rewriter.closed or self.size > LIVE_LIMIT

    @property
    def facts(self) -> dict[str, object]:
        """The facts of the reply so far."""
        summary = self.record.reply_summary
        return {"still coming": f"{summary.pop('end', 0.0)} s so far"} | summary

    def transcript(self, of_server: bool) -> Transcript:
        """Return the transcript of the client's bytes so far, or of the server's."""
        return self._sides[of_server].transcript()

    async def _show(self) -> None:
        """Put the bytes so far into the flow, and announce the change to all addons, in intervals.

        The last byte, a frame's blank line, is left out. A view renders a flow again only when its
        bytes have changed, so the complete reply has to differ from each earlier state, or its end
        (times, tokens) would never be shown.
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
    """An addon that shows streams while they come, where mitmproxy has a list of flows."""

    name = "think-live"

    def __init__(self) -> None:
        self._wanted: set[str] = set()

    def asked(self, seen: FlowRecord) -> None:
        """Note an exchange, if mitmproxy has a list of flows."""
        if flow_list() is not None:  # not by its truth, because an empty one is false
            self._wanted.add(seen.flow.id)

    def heard(self, seen: FlowRecord, _: Sequence[Event]) -> None:
        """Begin to show a stream with its first events, unless the reply goes out as one body."""
        name = seen.flow.id
        if name in self._wanted and seen.tap is not None:
            self._wanted.discard(name)
            if not seen.tap.holds:
                RUNNING[name] = Running(seen)

    def ended(self, seen: FlowRecord) -> None:
        """Stop showing the stream."""
        self._wanted.discard(seen.flow.id)
        RUNNING.pop(seen.flow.id, None)
