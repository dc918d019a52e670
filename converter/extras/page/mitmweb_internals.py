"""The used members of mitmweb's server, none of which mitmproxy promises.

Read in mitmproxy 12.2.3 and 12.3.1. Apart from `mitmproxy_internals`, because only mitmweb imports
the server.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from mitmproxy.tools.web.app import (
    APIError,
    FlowContentView,
    RequestHandler,
    WebSocketEventBroadcaster,
)

CONTENT = (
    r"/flows/(?P<flow_id>[0-9a-f\-]+)/(?P<message>request|response)"
    r"/content/(?P<content_view>[0-9a-zA-Z\-\_%]+)(?:\.json)?"
)
"""Where mitmweb's page gets a message as a content view shows it."""


def add_handlers(app: Any, handlers: Sequence[tuple[object, ...]]) -> Callable[[], None]:
    """Add handlers to mitmweb's server; return the call that takes them away again."""
    app.add_handlers(r".*$", handlers)
    rules = app.default_router.rules
    return partial(rules.remove, rules[-2])  # the last one is mitmweb's own


def has_sent_all(socket: WebSocketEventBroadcaster) -> bool:
    """Return True if all messages for a page have been sent."""
    return bool(socket._send_queue.empty())
