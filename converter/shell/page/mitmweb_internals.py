"""Every member of mitmweb's server that is used, in one place, because it promises none of them.

Read in mitmproxy 12.2.3 and 12.3.1. Apart from `mitmproxy_internals`, because only mitmweb imports
its server.
"""

from collections.abc import Sequence
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


def add_handlers(app: Any, handlers: Sequence[tuple[object, ...]]) -> Any:
    """Add handlers to mitmweb's server; return the rule that leads to them."""
    app.add_handlers(r".*$", handlers)
    return app.default_router.rules[-2]  # the last one is mitmweb's own


def remove_handlers(app: Any, rule: Any) -> None:
    """Take handlers away again."""
    app.default_router.rules.remove(rule)


def has_sent_all(socket: WebSocketEventBroadcaster) -> bool:
    """Tell whether a page has been sent all that it was to get."""
    return bool(socket._send_queue.empty())
