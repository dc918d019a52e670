"""Bodies of what is not ours that somebody has to see whole before they go on.

What passes by streams. mitmproxy shows it to an addon when it has gone out, so that a request would
reach its server in spite of `block_list`. Where an option or a script may act on a body, it is held
as it is without the addon.
"""

from types import ModuleType

from mitmproxy import ctx
from mitmproxy.http import Response

from converter.exchange.exchange import is_stream

OF_REPLIES = ("body_size_limit", "intercept", "modify_body")
OF_REQUESTS = (
    *OF_REPLIES,
    "anticache",
    "anticomp",
    "block_list",
    "map_local",
    "map_remote",
    "server_replay",
    "stickyauth",
    "stickycookie",
)
"""Options of mitmproxy's that act when a body is there."""
_NO_SCRIPTS = ("mitmproxy", "converter", "think_addon")
_LINES = ("application/x-ndjson", "application/jsonl")


def must_hold_request() -> bool:
    """Tell whether a request has to be whole."""
    return _is_set(OF_REQUESTS) or _has_script("request")


def must_hold_reply(response: Response) -> bool:
    """Tell whether a reply has to be whole. A stream stays one where only a script has the hook,
    which may do no more than count; it can set `flow.response.stream` to False.
    """
    kind = response.headers.get("content-type", "")
    streams = is_stream(kind) or kind.lower().startswith(_LINES)
    return _is_set(OF_REPLIES) or (not streams and _has_script("response"))


def _is_set(options: tuple[str, ...]) -> bool:
    return any(getattr(ctx.options, name, None) for name in options)


def _has_script(hook: str) -> bool:
    """Tell whether an addon has a hook that is neither mitmproxy's nor ours."""
    having = (addon for addon in ctx.master.addons.lookup.values() if hasattr(addon, hook))
    return any(_home(addon) not in _NO_SCRIPTS for addon in having)


def _home(addon: object) -> str:
    """Return the package or the script that an addon stands in."""
    name = addon.__name__ if isinstance(addon, ModuleType) else type(addon).__module__
    return name.removeprefix("__mitmproxy_script__.").partition(".")[0]
