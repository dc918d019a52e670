"""`LiveView`, an addon, shows a running reply in mitmweb and mitmproxy's console, a few times a
second at most. `views.py` finds the transcript so far in `RUNNING`.

mitmproxy shows a body only when it is complete. So a task puts the bytes that the client has
received so far into the flow, and announces the flow as changed; mitmweb's page and the console
then render the view again. The task does nothing while nobody looks. The stream itself is not
touched, and no time is spent on a chunk.
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
"""A stream of 60,000 tokens has 16 MB. Nobody reads more of a reply while it comes."""

INTERVAL = 0.25
"""The least seconds between two updates of a running reply; `PACE` adds to them. Four updates a
second look like steady growth.
"""
PACE = 1 << 21
"""Each further `PACE` bytes of a reply make the time between two updates longer by one `INTERVAL`,
because an update of a long reply takes long: at 17 MB it takes 57 ms, and comes every 2 s.
"""


class RunningReply:
    """A running reply that is shown: a transcript of the client's bytes, one of the server's bytes,
    and the task that updates the flow.
    """

    def __init__(self, record: FlowRecord) -> None:
        self.record = record
        self._sides = {of_server: SideReader(record, of_server) for of_server in (False, True)}
        self.task = asyncio.ensure_future(self._update_flow())

    @property
    def size(self) -> int:
        """The number of bytes that the client has received."""
        return len(self.record.sides.client_bytes or b"")

    @property
    def over(self) -> bool:
        """True if the reply is complete, too long to follow, or broke off."""
        record, rewriter = self.record, self.record.rewriter
        # `live` is checked, too: after a reload of the script, the old script's exchanges stay in
        # RUNNING_RECORDS, so that without this check they would never be over.
        ended = RUNNING_RECORDS.get(record.flow.id) is not record or not record.flow.live
        return ended or rewriter is None or rewriter.closed or self.size > LIVE_LIMIT

    @property
    def facts(self) -> dict[str, object]:
        """The reply's counts and times so far."""
        summary = self.record.reply_summary
        return {"still coming": f"{summary.pop('end', 0.0)} s so far"} | summary

    def transcript(self, of_server: bool) -> Transcript:
        """Return the transcript of the bytes that have come so far: of the server's bytes if
        `of_server` is True, else of the client's.
        """
        return self._sides[of_server].transcript()

    async def _update_flow(self) -> None:
        """Put the bytes so far into the flow, and announce the change to all addons. Repeat this
        until the reply is over, but do nothing while nobody looks.

        The last byte, the line feed of a frame's blank line, is left out. mitmproxy renders a view
        again only if the bytes differ, so the complete reply must differ from each earlier state.
        Else the lines at its end (times, tokens) would never appear.
        """
        flow, shown = self.record.flow, 0
        while not self.over:
            await asyncio.sleep(INTERVAL * (1 + self.size / PACE))
            got = self.record.sides.client_bytes
            if self.size != shown and not self.over and somebody_looks():
                shown = self.size
                if flow.response and got:
                    flow.response.data.content = bytes(got[:-1])
                    await ctx.master.addons.trigger_event(UpdateHook([flow]))


RUNNING: dict[str, RunningReply] = {}
"""The running replies that are shown, by their flows' ids."""


class LiveView(Watcher):
    """An addon that shows running streams, if mitmproxy has a list of flows (mitmdump has none)."""

    name = "think-live"

    def heard(self, seen: FlowRecord, _: Sequence[Event]) -> None:
        """Begin to show a stream at its first events, unless the client gets one whole body."""
        name, streams = seen.flow.id, seen.tap is not None and not seen.tap.holds
        # `flow_list()` is compared with None, because an empty list of flows is false.
        if streams and name not in RUNNING and flow_list() is not None:
            RUNNING[name] = RunningReply(seen)

    def ended(self, seen: FlowRecord) -> None:
        """Forget the exchange's running reply. Its task ends by itself, once `over` is True."""
        RUNNING.pop(seen.flow.id, None)
