"""Bodies of other traffic that mitmproxy's options or a script need complete."""

from types import ModuleType

from mitmproxy import ctx
from mitmproxy.http import Response

from converter.addon.mitmproxy_internals import value_of
from converter.core.dialects.recogniser import is_stream

# Traffic that is not the addon's streams by. mitmproxy calls the hook of a streamed request after
# sending it, so that it would reach its server in spite of `block_list`. So a body is held where an
# option or a script may act on it, as it is without the addon.
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
"""Options of mitmproxy that act on a body when it is complete."""
_NO_SCRIPTS = ("mitmproxy", "converter", "think_addon")
_LINES = ("application/x-ndjson", "application/jsonl")


def must_hold_request() -> bool:
    """Return True if a request that is not the addon's has to be complete before it goes on."""
    return _is_set(OF_REQUESTS) or _has_script("request")


def must_hold_reply(response: Response) -> bool:
    """Return True if a reply that is not the addon's has to be complete before it goes on. A stream
    passes although a script has the hook, because the script may only count; it can set
    `flow.response.stream` to False.
    """
    kind = response.headers.get("content-type", "")
    streams = is_stream(kind) or kind.lower().startswith(_LINES)
    return _is_set(OF_REPLIES) or (not streams and _has_script("response"))


def _is_set(options: tuple[str, ...]) -> bool:
    return any(map(value_of, options))


def _has_script(hook: str) -> bool:
    """Return True if an addon has a hook that is neither mitmproxy's nor ours."""
    having = (addon for addon in ctx.master.addons.lookup.values() if hasattr(addon, hook))
    return any(_home(addon) not in _NO_SCRIPTS for addon in having)


def _home(addon: object) -> str:
    """Return the package or the script that an addon is defined in."""
    name = addon.__name__ if isinstance(addon, ModuleType) else type(addon).__module__
    return name.removeprefix("__mitmproxy_script__.").partition(".")[0]
