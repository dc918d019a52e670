"""The watcher that has each exchange's outcome written onto its flow (`FlowRecord.finish`), and
limits the flows that mitmweb and the console keep, so that a proxy can run for weeks.

mitmproxy itself keeps all flows. When they take more memory than the option `think_limits` allows,
the addon first removes the server's side of the oldest flows (their backup: the request that the
server got and the reply that it sent), because it is a second copy. Then it removes whole flows,
the oldest first, also if there are more of them than the option allows. It never removes flows that
a person has marked, running or intercepted flows, flows from a file, and the flow that the console
shows.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from mitmproxy import ctx
from mitmproxy.http import HTTPFlow

from converter.addon.exchange.option_readers import MemoryLimits
from converter.addon.keep.flow_record import MOVED, NOTHING, TROUBLE, FlowRecord, notes_of
from converter.addon.keep.notes import METADATA, without_chunks
from converter.addon.mitmproxy_internals import flow_backup, flow_list, remove_flow_backup
from converter.addon.watcher import Watcher

if TYPE_CHECKING:  # the official binary of mitmdump lacks this module
    from mitmproxy.addons.view import View

OVERHEAD = 16 * 1024
"""The estimated bytes of a flow without its bodies: headers, connections, times."""
_ADDON_MARKERS = ("", MOVED, NOTHING, TROUBLE)
"""The markers of a flow that no person has marked: empty, or one of the addon's."""


class FlowKeeper(Watcher):
    """The part of the addon that writes an exchange's outcome onto its flow, and limits the flows
    that mitmweb and the console keep. `chosen`: a function that returns the limits in force.
    """

    name = "think-keep"
    """The name under which mitmproxy registers this addon."""

    def __init__(self, chosen: Callable[[], MemoryLimits]) -> None:
        self._read_limits = chosen
        self._sizes: dict[str, int] = {}
        """Id of a flow that counts towards the limits -> its bytes; the oldest flow first."""
        self._with_server_side: dict[str, None] = {}
        """Ids of the flows that may still hold the server's side; the oldest flow first."""
        self._total_bytes = 0

    def ended(self, seen: FlowRecord) -> None:
        """Write the outcome of a finished exchange onto its flow."""
        seen.finish()

    def response(self, flow: HTTPFlow) -> None:
        """Count a finished flow towards the limits. If the flows then exceed them, first remove the
        server's side of the oldest flows; if that is not enough, remove the oldest flows. If one of
        the two limits is 0, neither holds.
        """
        view = flow_list()
        if not flow.live or view is None:  # `is None`, because an empty list is false too
            return
        self._stop_counting(flow.id)
        self._count_bytes(flow)
        self._with_server_side[flow.id] = None
        limits = self._read_limits()
        if not (limits.flows and limits.flow_bytes):
            return
        for flow_id in list(self._with_server_side):
            if self._total_bytes <= limits.flow_bytes:
                break
            if oldest := self._removable(view, flow_id):
                del self._with_server_side[flow_id]
                drop_server_bytes(oldest)
                self._count_bytes(oldest)
        for flow_id in list(self._sizes):
            if self._total_bytes <= limits.flow_bytes and len(self._sizes) <= limits.flows:
                break
            if oldest := self._removable(view, flow_id):
                self._stop_counting(flow_id)
                view.remove([oldest])

    error = response
    """mitmproxy's hook for a flow whose connection failed: it counts as a complete flow does."""

    def _count_bytes(self, flow: HTTPFlow) -> None:
        """Count a flow's bytes towards the limits, in place of its earlier count."""
        size = size_of(flow)
        self._total_bytes += size - self._sizes.get(flow.id, 0)
        self._sizes[flow.id] = size

    def _stop_counting(self, flow_id: str) -> None:
        """Subtract the flow with this id from the number of flows and their bytes."""
        self._total_bytes -= self._sizes.pop(flow_id, 0)
        self._with_server_side.pop(flow_id, None)

    def _removable(self, view: "View", flow_id: str) -> HTTPFlow | None:
        """Return the flow with this id. Return None if it must stay as it is, because a person has
        marked it, the console shows it, or it is intercepted. Return None also for a flow that a
        person has removed from mitmweb's list, and stop counting it.
        """
        flow = view.get_by_id(flow_id)
        if not isinstance(flow, HTTPFlow):
            self._stop_counting(flow_id)
            return None
        shown = "console_layout" in ctx.options and view.focus.flow is flow
        stays = flow.marked not in _ADDON_MARKERS or shown or flow.intercepted
        return None if stays else flow


def size_of(flow: HTTPFlow) -> int:
    """Return the estimated bytes that a flow takes in memory, with its backup. A body that flow and
    backup share counts once.
    """
    backup = flow_backup(flow)
    states = [part for part in (backup.get("request"), backup.get("response")) if part]
    bodies = [part.raw_content for part in (flow.request, flow.response) if part]
    bodies += [state.get("content") for state in states]
    texts = [value for value in flow.metadata.values() if isinstance(value, str)]
    sizes = {id(body): len(body) for body in bodies if body}
    return OVERHEAD + sum(sizes.values()) + sum(map(len, texts))


def drop_server_bytes(flow: HTTPFlow) -> None:
    """Remove the server's side, which is the backup, from a flow. The flow keeps the client's
    request and reply, and a note that the server's side was removed. Do nothing if the flow has no
    backup, or no notes of the addon.
    """
    if not (flow_backup(flow) and notes_of(flow)):
        return
    remove_flow_backup(flow)
    flow.metadata[METADATA] = without_chunks(flow.metadata[METADATA])
