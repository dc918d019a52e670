"""The record of a dialect."""

import pytest

from converter.core.dialects.dialect import Endpoint
from converter.core.dialects.table import DIALECTS, find_endpoint
from tests.support import endpoints
from tests.support.rows import rows_of

ROWS = rows_of(__file__)


def test_a_dialect_is_shown_by_its_name() -> None:
    assert [repr(dialect) for dialect in DIALECTS] == [dialect.name for dialect in DIALECTS]


CHAT, MESSAGES, COUNT, MODELS = (
    endpoints.CHAT,
    endpoints.MESSAGES,
    endpoints.COUNT_TOKENS,
    endpoints.MODELS,
)
HELLO, TELEMETRY = endpoints.HELLO, endpoints.TELEMETRY

REQUEST_PATHS: list[tuple[str, str, Endpoint, str]] = [
    ("POST", "/v1/chat/completions", CHAT, ""),
    ("POST", "/chat/completions", CHAT, ""),
    (
        "POST",
        "/openai/deployments/small/chat/completions?api-version=1",
        CHAT,
        "/openai/deployments/small",
    ),
    ("POST", "/v1/chat/completions/", CHAT, ""),
    ("POST", "/api/v1/chat/completions/?a=/v1/messages", CHAT, "/api"),
    ("POST", "//v1/chat/completions", CHAT, ""),
    ("POST", "/v1/messages", MESSAGES, ""),
    ("POST", "/v1/messages?beta=true", MESSAGES, ""),
    ("POST", "/v1/v1/messages?beta=true", MESSAGES, ""),
    ("POST", "/gateway/v1/v1/messages/count_tokens", COUNT, "/gateway"),
    ("POST", "/v1/messages/", MESSAGES, ""),
    ("POST", "/v1/messages/?beta=true", MESSAGES, ""),
    ("POST", "/v1/messages?", MESSAGES, ""),
    ("POST", "/gateway/anthropic/v1/messages?beta=true", MESSAGES, "/gateway/anthropic"),
    ("POST", "/v1/messages/v1/messages", MESSAGES, "/v1/messages"),
    ("POST", "/v1/messages/count_tokens", COUNT, ""),
    ("POST", "/gateway/v1/messages/count_tokens/?beta=true", COUNT, "/gateway"),
    ("POST", "/v1/responses", endpoints.RESPONSES, ""),
    ("POST", "/responses?beta=true", endpoints.RESPONSES, ""),
    ("POST", "/v1/responses/compact", endpoints.COMPACT, ""),
    ("POST", "/gateway/v1/responses/input_tokens", endpoints.INPUT_TOKENS, "/gateway"),
    ("GET", "/v1/responses", endpoints.KEPT, ""),
    ("GET", "/v1/responses/resp_1?include=x", endpoints.KEPT, ""),
    ("DELETE", "/v1/responses/resp_1", endpoints.KEPT, ""),
    ("GET", "/v1/responses/resp_1/input_items", endpoints.KEPT, ""),
    ("POST", "/v1/responses/resp_1/cancel", endpoints.KEPT, ""),
    ("POST", "/v1/conversations", endpoints.KEPT, ""),
    ("GET", "/v1/models", MODELS, ""),
    ("GET", "/v1/models/", MODELS, ""),
    ("GET", "/v1/models?limit=1000", MODELS, ""),
    ("GET", "/gateway/v1/models/small", MODELS, "/gateway"),
    ("GET", "/v1/models/small%2Fmodel?beta=true", MODELS, ""),
    ("HEAD", "/", HELLO, ""),
    ("HEAD", "/api/hello", HELLO, ""),
    ("GET", "/", endpoints.RUNNING, ""),
    ("POST", "/api/chat", endpoints.OLLAMA, ""),
    ("POST", "/gateway/api/generate", endpoints.OLLAMA, "/gateway"),
    ("GET", "/api/tags", endpoints.SERVED, ""),
    ("HEAD", "/?beta=true", HELLO, ""),
    ("POST", "/api/event_logging/batch", TELEMETRY, ""),
    ("POST", "/api/event_logging/v2/batch?a=b", TELEMETRY, ""),
    ("POST", "/gateway/api/event_logging/batch", TELEMETRY, "/gateway"),
]


@pytest.mark.parametrize(("method", "path", "route", "prefix"), REQUEST_PATHS, ids=str)
def test_an_endpoint_is_matched_behind_any_prefix_and_query(
    method: str, path: str, route: Endpoint, prefix: str
) -> None:
    assert find_endpoint(method, path) == (route, prefix)


UNKNOWN = ROWS["unknown"]


@pytest.mark.parametrize(("method", "path"), UNKNOWN, ids=repr)
def test_what_only_resembles_an_endpoint_is_unknown(method: str, path: str) -> None:
    assert find_endpoint(method, path) is None


def test_a_recordings_name_says_what_was_requested() -> None:
    chats = {
        endpoint: endpoint.kind
        for each in DIALECTS
        for endpoint in each.endpoints
        if endpoint.is_chat
    }
    assert chats == {
        endpoints.CHAT: "chat",
        endpoints.MESSAGES: "messages",
        endpoints.RESPONSES: "responses",
        endpoints.COMPACT: "compact",
        endpoints.OLLAMA: "ollama",
    }
