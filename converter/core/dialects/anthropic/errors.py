"""Errors as the Messages API writes them: a server's error answer, whatever its shape, gets a
fitting type and keeps its message.
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
"""The API's types by status; 422 is FastAPI's for a bad request (transformers serve), 503 a busy
vLLM's or llama.cpp's.
"""
_STATUS = {503: 529}
"""The API has a status of its own for overload, on which clients wait and try again."""


def error_body(message: str, kind: str = API_ERROR, status: int = 0) -> dict[str, Any]:
    """Return the dialect's error; a kind that the API does not have becomes that of the status, or
    `api_error`.

    The error for a request beyond the server's context is the API's own sentence, on which Claude
    Code acts.
    """
    if too_long := context_length.find(message):
        message, kind = too_long.message(), "invalid_request_error"
    if kind not in TYPES.values():
        kind = TYPES.get(status, API_ERROR)
    return {"type": "error", "error": {"type": kind, "message": message}}


def error_reply(status: int, body: bytes, counted: int | None = None) -> tuple[int, dict[str, Any]]:
    """Return the client's status and body for a server's answer that is no reply; an answer that is
    no error either becomes a bad gateway.

    `counted`: tokens of the prompt, where the server's error only has a lower bound.
    """
    message = message_of_answer(status, body)
    if too_long := context_length.find(message):
        overflow = replace(too_long, tokens=counted) if counted and too_long.most else too_long
        return 400, error_body(overflow.message())
    if status < 400:
        return 502, error_body(message)
    return _STATUS.get(status, status), error_body(message, TYPES.get(status, API_ERROR))
