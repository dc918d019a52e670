"""The endpoints of the dialects, by name."""

from converter.core.dialects.dialect import Endpoint
from converter.core.dialects.table import find_endpoint


def _at(method: str, path: str) -> Endpoint:
    matched = find_endpoint(method, path)
    assert matched
    return matched[0]


CHAT = _at("POST", "/v1/chat/completions")
MESSAGES = _at("POST", "/v1/messages")
COUNT_TOKENS = _at("POST", "/v1/messages/count_tokens")
MODELS = _at("GET", "/v1/models")
HELLO = _at("HEAD", "/")
TELEMETRY = _at("POST", "/api/event_logging/batch")
RESPONSES = _at("POST", "/v1/responses")
INPUT_TOKENS = _at("POST", "/v1/responses/input_tokens")
COMPACT = _at("POST", "/v1/responses/compact")
OLLAMA = _at("POST", "/api/chat")
RUNNING = _at("GET", "/")
SERVED = _at("GET", "/api/tags")
KEPT = _at("GET", "/v1/responses/resp_1")
