"""The undocumented members of mitmweb's server that the page uses: base classes of its handlers,
`add_handlers`, and `has_sent_all` for a WebSocket.

They were read in mitmproxy 12.2.3 and 12.3.1. This file is not a part of `mitmproxy_internals`,
because mitmdump must not import mitmweb's server.
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
"""The pattern of the paths at which mitmweb's own page gets a message rendered by a content view:
`/flows/FLOW_ID/response/content/think.json`.
"""


def add_handlers(app: Any, handlers: Sequence[tuple[object, ...]]) -> Callable[[], None]:
    """Add handlers to mitmweb's server; return a function that removes them again."""
    app.add_handlers(r".*$", handlers)
    rules = app.default_router.rules
    # Tornado puts new handlers before the last rule, which has mitmweb's own handlers.
    return partial(rules.remove, rules[-2])


def has_sent_all(socket: WebSocketEventBroadcaster) -> bool:
    """Return True if no message waits in the WebSocket's queue."""
    return bool(socket._send_queue.empty())
