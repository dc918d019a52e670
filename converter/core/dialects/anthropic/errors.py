"""Errors of the Messages API. An error of a server, in whatever shape, keeps its message and gets a
type of the API.
"""

from dataclasses import replace
from typing import Any

from converter.core.dialects import context_length
from converter.core.dialects.error_words import message_of_answer

API_ERROR = "api_error"
TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    422: "invalid_request_error",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
    529: "overloaded_error",
}
"""HTTP status -> the API's type of error. `transformers serve` (FastAPI) answers a bad request with
422; vLLM and llama.cpp answer with 503 when they are busy.
"""
_STATUS = {503: 529}
"""A server's status -> the client's. The API uses 529 for overload; clients then wait and try
again.
"""


def error_body(message: str, kind: str = API_ERROR, status: int = 0) -> dict[str, Any]:
    """Return the body of an error. A `kind` that the API does not have is replaced by the type of
    the status, or by `api_error`.

    A message about a request beyond the server's context is written as the API's own sentence,
    because Claude Code recognises only that sentence.
    """
    if too_long := context_length.find(message):
        message, kind = too_long.message(), "invalid_request_error"
    if kind not in TYPES.values():
        kind = TYPES.get(status, API_ERROR)
    return {"type": "error", "error": {"type": kind, "message": message}}


def error_reply(status: int, body: bytes, counted: int | None = None) -> tuple[int, dict[str, Any]]:
    """Return the client's status and body for a server's answer that is no reply. An answer with a
    status below 400 is not an error either; it becomes a bad gateway (502).

    `counted`: the count of the prompt's tokens; it replaces the number in an error about the
    context, which may be a lower bound.
    """
    message = message_of_answer(status, body)
    if too_long := context_length.find(message):
        overflow = replace(too_long, tokens=counted) if counted and too_long.most else too_long
        return 400, error_body(overflow.message())
    if status < 400:
        return 502, error_body(message)
    return _STATUS.get(status, status), error_body(message, TYPES.get(status, API_ERROR))
