"""What a request is for, by its method and path: one row per endpoint that the addon knows.
Prefixes and queries are free.
"""

import enum
import re


class Route(enum.Enum):
    """An endpoint. HELLO and TELEMETRY are Claude Code's, and none of a model server's business."""

    CHAT = enum.auto()
    MESSAGES = enum.auto()
    COUNT_TOKENS = enum.auto()
    MODELS = enum.auto()
    HELLO = enum.auto()
    TELEMETRY = enum.auto()


_ROWS = (
    ("POST", r"(?:/v1)?/chat/completions", Route.CHAT),
    ("POST", r"/v1/messages", Route.MESSAGES),
    ("POST", r"/v1/messages/count_tokens", Route.COUNT_TOKENS),
    ("GET", r"/v1/models(?:/[^?]+?)?", Route.MODELS),
    ("POST", r"/api/event_logging(?:/v\d+)?/batch", Route.TELEMETRY),
)
_PATTERNS = [
    *(
        (method, re.compile(rf"(?P<prefix>[^?]*?){path}/?(?:\?.*)?"), route)
        for method, path, route in _ROWS
    ),
    (
        "HEAD",
        re.compile(r"(?P<prefix>)/(?:\?.*)?"),
        Route.HELLO,
    ),  # with a prefix it would be any HEAD
]


def find(method: str, path: str) -> tuple[Route, str] | None:
    """Return the endpoint and what stands before it in the path; None for one the addon does not
    know.
    """
    for known, pattern, route in _PATTERNS:
        if method == known and (found := pattern.fullmatch(path)):
            return route, found["prefix"].rstrip("/")
    return None
