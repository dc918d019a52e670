"""Endpoints, one row each: method, path and dialect. Prefixes and queries are free."""

import enum
import re
from dataclasses import dataclass


class Purpose(enum.Enum):
    """An aim of a request: a reply, the count of its tokens, its conversation made shorter, replies
    that the addon keeps; or none that needs a model.
    """

    REPLY = enum.auto()
    COUNT = enum.auto()
    COMPACTION = enum.auto()
    KEPT = enum.auto()
    OTHER = enum.auto()


@dataclass(frozen=True, eq=False)
class _Row:
    """`method` and `path`: regular expressions. `dialect`: the name of the dialect that its clients
    speak. `kind`: in the name of a recording.
    """

    method: str
    path: str
    dialect: str
    purpose: Purpose = Purpose.OTHER
    kind: str = "exchange"
    prefix: str = r"(?P<prefix>[^?]*?)"

    @property
    def is_chat(self) -> bool:
        """Tell whether the reply is a model's."""
        return self.purpose in (Purpose.REPLY, Purpose.COMPACTION)

    @property
    def is_count(self) -> bool:
        """Tell whether the tokens of its body are to be counted, and no more."""
        return self.purpose is Purpose.COUNT

    @property
    def is_request(self) -> bool:
        """Tell whether the body asks a model something."""
        return self.is_chat or self.is_count

    @property
    def is_kept(self) -> bool:
        """Tell whether it is about replies that the addon keeps."""
        return self.purpose is Purpose.KEPT


class Endpoint(_Row, enum.Enum):
    """An endpoint. HELLO and TELEMETRY are Claude Code's, and none of a model server's business."""

    # /v1 twice: for a base URL that ends in it, as OpenAI's do; Anthropic's SDKs add it themselves
    CHAT = "POST", "(?:/v1)?/chat/completions", "openai", Purpose.REPLY, "chat"
    MESSAGES = "POST", "(?:/v1)?/v1/messages", "anthropic", Purpose.REPLY, "messages"
    COUNT_TOKENS = (
        "POST",
        "(?:/v1)?/v1/messages/count_tokens",
        "anthropic",
        Purpose.COUNT,
        "count",
    )
    RESPONSES = "POST", "(?:/v1)?/responses", "responses", Purpose.REPLY, "responses"
    INPUT_TOKENS = "POST", "(?:/v1)?/responses/input_tokens", "responses", Purpose.COUNT
    COMPACT = "POST", "(?:/v1)?/responses/compact", "responses", Purpose.COMPACTION, "compact"
    KEPT = (
        "GET|DELETE|POST",
        "(?:(?:/v1)?/responses|/v1/conversations)(?:/[^?]+?)?",
        "responses",
        Purpose.KEPT,
    )
    MODELS = "GET", "/v1/models(?:/[^?]+?)?", "anthropic", Purpose.OTHER, "models"
    # with a prefix it would be any path
    HELLO = "HEAD", "", "anthropic", Purpose.OTHER, "exchange", "(?P<prefix>)"
    TELEMETRY = "POST", r"/api/event_logging(?:/v\d+)?/batch", "anthropic"


_PATTERNS = [
    (
        re.compile(endpoint.method),
        re.compile(rf"{endpoint.prefix}{endpoint.path}/{'?' if endpoint.path else ''}(?:\?.*)?"),
        endpoint,
    )
    for endpoint in Endpoint
]


def find(method: str, path: str) -> tuple[Endpoint, str] | None:
    """Return the endpoint and what stands before it in the path; None for one the addon does not
    know.
    """
    for known, pattern, endpoint in _PATTERNS:
        if known.fullmatch(method) and (found := pattern.fullmatch(path)):
            return endpoint, found["prefix"].rstrip("/")
    return None
