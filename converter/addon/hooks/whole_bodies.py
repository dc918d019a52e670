"""Decides whether a body in traffic that the addon leaves alone is held until it is complete. It is
held if one of mitmproxy's options (`NEED_WHOLE_REQUESTS`, `NEED_WHOLE_REPLIES`) or a script of the
user needs it whole; else it is streamed.
"""

from types import ModuleType

from mitmproxy import ctx
from mitmproxy.http import Response

from converter.addon.mitmproxy_internals import value_of
from converter.core.dialects.recogniser import is_stream

# The addon streams the traffic that it leaves alone. But mitmproxy calls the hooks `request` and
# `response` of a streamed message only after the message was sent: a request would reach its server
# in spite of `block_list`. So if an option below is set, or a script has the hook, the body is held
# until it is complete, as mitmproxy does without the addon.
NEED_WHOLE_REPLIES = ("body_size_limit", "intercept", "modify_body")
"""mitmproxy's options that act on a complete response, and on a complete request too."""
NEED_WHOLE_REQUESTS = (
    *NEED_WHOLE_REPLIES,
    "anticache",
    "anticomp",
    "block_list",
    "map_local",
    "map_remote",
    "server_replay",
    "stickyauth",
    "stickycookie",
)
"""mitmproxy's options that act on a complete request."""
_PACKAGES_WITHOUT_SCRIPTS = {"mitmproxy", "converter", "think_addon"}
"""The top-level names of the modules that hold mitmproxy's own addons and this addon. All other
addons are the user's.
"""
_LINE_STREAM_TYPES = ("application/x-ndjson", "application/jsonl")
"""Content types of streams that have a JSON value on each line."""


def must_hold_request() -> bool:
    """Return True if a request that the addon leaves alone must be complete before the server gets
    it.
    """
    return any(map(value_of, NEED_WHOLE_REQUESTS)) or _has_script("request")


def must_hold_reply(response: Response) -> bool:
    """Return True if a response that the addon leaves alone must be complete before the client gets
    it.

    A stream is not held for a script's `response` hook, because many such scripts only count
    responses. A script that needs the complete body can set `flow.response.stream` to False.
    """
    kind = response.headers.get("content-type", "")
    streams = is_stream(kind) or kind.lower().startswith(_LINE_STREAM_TYPES)
    return any(map(value_of, NEED_WHOLE_REPLIES)) or (not streams and _has_script("response"))


def _has_script(hook: str) -> bool:
    """Return True if a script or addon of the user has this hook. mitmproxy's own addons and this
    addon do not count.
    """
    names = [
        addon.__name__ if isinstance(addon, ModuleType) else type(addon).__module__
        for addon in ctx.master.addons.lookup.values()
        if hasattr(addon, hook)
    ]
    homes = {name.removeprefix("__mitmproxy_script__.").partition(".")[0] for name in names}
    return not homes <= _PACKAGES_WITHOUT_SCRIPTS
