"""mitmproxy's own replays: a request that is sent again is a new exchange, a reply that is given
again was rewritten before.
"""

from mitmproxy import ctx
from mitmproxy.http import HTTPFlow

from converter.recordings.notes import METADATA
from converter.shell.flow_record import told


def forget(flow: HTTPFlow) -> None:
    """Take from a flow whose request is sent again what was said of its last reply; *Revert* is to
    show the new one's original.
    """
    if flow.is_replay != "request" or METADATA not in flow.metadata:
        return
    said = told(flow)
    flow.comment = "" if flow.comment == said.get("comment") else flow.comment
    flow.marked = "" if flow.marked == said.get("marker") else flow.marked
    del flow.metadata[METADATA]
    flow._backup = None


def has_a_reply(flow: HTTPFlow) -> bool:
    """Tell whether mitmproxy's server replay, whose turn comes after ours, holds a reply to this
    very request.
    """
    playback = ctx.master.addons.get("serverplayback")
    return bool(playback and playback.flowmap) and playback._hash(flow) in playback.flowmap
