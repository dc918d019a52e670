"""mitmproxy's own replays: a request that is sent again is a new exchange, a reply that is given
again was rewritten before.
"""

from mitmproxy.http import HTTPFlow

from converter.recordings.notes import METADATA
from converter.shell.keep.flow_record import notes_of
from converter.shell.mitmproxy_internals import forget_state_before


def forget(flow: HTTPFlow) -> None:
    """Take from a flow whose request is sent again what was said of its last reply; *Revert* is to
    show the new one's original.
    """
    if flow.is_replay != "request" or METADATA not in flow.metadata:
        return
    notes = notes_of(flow)
    flow.comment = "" if flow.comment == notes.get("comment") else flow.comment
    flow.marked = "" if flow.marked == notes.get("marker") else flow.marked
    del flow.metadata[METADATA]
    forget_state_before(flow)
