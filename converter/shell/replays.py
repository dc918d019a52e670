"""What mitmproxy replays is never rewritten a second time."""

from mitmproxy import ctx
from mitmproxy.http import HTTPFlow

from converter.shell.keeping import METADATA, REPLAYED


def asks_as_before(flow: HTTPFlow) -> bool:
    """Tell whether a flow that was rewritten before is sent again: mitmproxy reverts it first, so it is what the server got."""
    if flow.is_replay != "request" or METADATA not in flow.metadata:
        return False
    flow.metadata[METADATA] = REPLAYED
    return True


def has_a_reply(flow: HTTPFlow) -> bool:
    """Tell whether mitmproxy's server replay, whose turn comes after ours, holds a reply to this very request."""
    playback = ctx.master.addons.get("serverplayback")
    return bool(playback and playback.flowmap) and playback._hash(flow) in playback.flowmap
