"""Endpoints, one row each: method, path and dialect. Prefixes and queries are free."""

import enum
import re
from dataclasses import dataclass

_PREFIX = r"(?P<prefix>[^?]*?)"


class Purpose(enum.Enum):
    """An aim of a request: a reply, the count of its tokens, or its conversation made shorter."""

    REPLY = enum.auto()
    COUNT = enum.auto()
    COMPACTION = enum.auto()


@dataclass(frozen=True, slots=True, eq=False)
class _Row:
    """`method` and `path`: regular expressions. `dialect`: the name of the dialect that its clients
    speak. `is_chat`: the reply is a model's. `is_request`: its body asks a model something, to
    the end that `purpose` says. `is_kept`: it is about replies that the addon keeps. `kind`: in
    the name of a recording.
    """

    method: str
    path: str
    dialect: str
    is_chat: bool = False
    is_request: bool = False
    purpose: Purpose = Purpose.REPLY
    is_kept: bool = False
    kind: str = "exchange"
    prefix: str = _PREFIX


class Endpoint(enum.Enum):
    """An endpoint. HELLO and TELEMETRY are Claude Code's, and none of a model server's business."""

    CHAT = _Row(
        "POST", "(?:/v1)?/chat/completions", "openai", is_chat=True, is_request=True, kind="chat"
    )
    # twice: for a base URL that ends in /v1, as OpenAI's do; Anthropic's SDKs add it themselves
    MESSAGES = _Row(
        "POST", "(?:/v1)?/v1/messages", "anthropic", is_chat=True, is_request=True, kind="messages"
    )
    COUNT_TOKENS = _Row(
        "POST",
        "(?:/v1)?/v1/messages/count_tokens",
        "anthropic",
        is_request=True,
        purpose=Purpose.COUNT,
        kind="count",
    )
    RESPONSES = _Row(
        "POST",
        "(?:/v1)?/responses",
        "responses",
        is_chat=True,
        is_request=True,
        kind="responses",
    )
    INPUT_TOKENS = _Row(
        "POST",
        "(?:/v1)?/responses/input_tokens",
        "responses",
        is_request=True,
        purpose=Purpose.COUNT,
    )
    COMPACT = _Row(
        "POST",
        "(?:/v1)?/responses/compact",
        "responses",
        is_chat=True,
        is_request=True,
        purpose=Purpose.COMPACTION,
        kind="compact",
    )
    KEPT = _Row(
        "GET|DELETE|POST",
        "(?:(?:/v1)?/responses|/v1/conversations)(?:/[^?]+?)?",
        "responses",
        is_kept=True,
    )
    MODELS = _Row("GET", "/v1/models(?:/[^?]+?)?", "anthropic", kind="models")
    HELLO = _Row("HEAD", "", "anthropic", prefix="(?P<prefix>)")  # with a prefix it would be any
    TELEMETRY = _Row("POST", r"/api/event_logging(?:/v\d+)?/batch", "anthropic")

    @property
    def is_chat(self) -> bool:
        """Tell whether the reply is a model's."""
        return self.value.is_chat

    @property
    def is_request(self) -> bool:
        """Tell whether the body asks a model something."""
        return self.value.is_request

    @property
    def purpose(self) -> Purpose:
        """Return the end to which its body asks a model something."""
        return self.value.purpose

    @property
    def is_count(self) -> bool:
        """Tell whether the tokens of its body are to be counted, and no more."""
        return self.purpose is Purpose.COUNT

    @property
    def is_kept(self) -> bool:
        """Tell whether it is about replies that the addon keeps."""
        return self.value.is_kept

    @property
    def kind(self) -> str:
        """Return what its exchanges are called in the names of recordings."""
        return self.value.kind

    @property
    def dialect(self) -> str:
        """Return the name of the dialect that its clients speak."""
        return self.value.dialect


_PATTERNS = [
    (
        re.compile(endpoint.value.method),
        re.compile(rf"{endpoint.value.prefix}{end}(?:\?.*)?"),
        endpoint,
    )
    for endpoint in Endpoint
    for end in [f"{endpoint.value.path}/?" if endpoint.value.path else "/"]
]


def find(method: str, path: str) -> tuple[Endpoint, str] | None:
    """Return the endpoint and what stands before it in the path; None for one the addon does not
    know.
    """
    for known, pattern, endpoint in _PATTERNS:
        if known.fullmatch(method) and (found := pattern.fullmatch(path)):
            return endpoint, found["prefix"].rstrip("/")
    return None
