"""The classes and attributes of mitmweb's server that the page uses, undocumented by mitmproxy.

They were read in mitmproxy 12.2.3 and 12.3.1. This file is not a part of `mitmproxy_internals`,
because only mitmweb imports the server.
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
"""The pattern of the paths at which mitmweb's own page gets a message as a content view shows it.
"""


def add_handlers(app: Any, handlers: Sequence[tuple[object, ...]]) -> Callable[[], None]:
    """Add handlers to mitmweb's server; return a function that removes them again."""
    app.add_handlers(r".*$", handlers)
    rules = app.default_router.rules
    return partial(rules.remove, rules[-2])  # Ours. mitmweb's own handlers stay the last rule.


def has_sent_all(socket: WebSocketEventBroadcaster) -> bool:
    """Return True if no message for the page waits to be sent."""
    return bool(socket._send_queue.empty())
