"""Errors in the format of the Messages API, each with a `type` that the API has: `error_body`
writes one, `error_reply` translates a server's answer that is no reply. An error about a prompt
that is too long gets the API's own sentence.
"""

from dataclasses import replace
from typing import Any

from converter.core.dialects import context_length
from converter.core.dialects.error_words import message_of_answer

API_ERROR = "api_error"
"""Type of an error for which `TYPES` has no row."""
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
_CLIENT_STATUS = {503: 529}
"""HTTP status from the server -> status that the client gets. The API uses 529 for overload, after
which clients wait and try again.
"""


def error_body(message: str, kind: str = API_ERROR, status: int = 0) -> dict[str, Any]:
    """Return the body of an error of the type `kind`. If `kind` is `api_error` or no type of the
    API, `TYPES` has the type for the `status`: 429 -> `rate_limit_error`; it is `api_error` for a
    status without a row.

    If the message says that the request is longer than the model's context, it is replaced by the
    API's own sentence, because Claude Code recognises only that sentence.
    """
    if too_long := context_length.overflow_in(message):
        message, kind = too_long.message(), "invalid_request_error"
    if kind not in TYPES.values():
        kind = TYPES.get(status, API_ERROR)
    return {"type": "error", "error": {"type": kind, "message": message}}


def error_reply(status: int, body: bytes, counted: int | None = None) -> tuple[int, dict[str, Any]]:
    """Return the status and body that the client gets for a server's answer that is no reply of a
    model. An error about a prompt that is too long gets status 400. An answer with a status below
    400, such as a web page, gets 502. Any other error keeps its status, except for the rows of
    `_CLIENT_STATUS`.

    `counted`: how many tokens the prompt has; None if they were not counted. The error about a
    prompt that is too long gets this number, if the server's error names the limit, because the
    prompt may have more tokens than the server's error says.
    """
    message = message_of_answer(status, body)
    if too_long := context_length.overflow_in(message):
        if counted and too_long.context_tokens:
            too_long = replace(too_long, prompt_tokens=counted)
        return 400, error_body(too_long.message())
    if status < 400:
        return 502, error_body(message)
    return _CLIENT_STATUS.get(status, status), error_body(message, TYPES.get(status, API_ERROR))
