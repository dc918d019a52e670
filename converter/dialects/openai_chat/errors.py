"""Errors in the words of OpenAI's API."""

from converter.wire import json_text

_TYPES = {
    "invalid_request_error": "invalid_request_error",
    "authentication_error": "authentication_error",
    "permission_error": "permission_error",
    "not_found_error": "not_found_error",
    "request_too_large": "invalid_request_error",
    "rate_limit_error": "rate_limit_error",
}
"""Types by those of the Messages API; all others are faults of the server."""


def error_body(message: str, kind: str = "", status: int = 0) -> bytes:
    """Return an error object, as the body of a reply and as a frame's data.

    `kind`: the Messages API's word. `status`: the HTTP status, told as the code, which is where
    vLLM and llama.cpp put it.
    """
    error = {
        "message": message,
        "type": _TYPES.get(kind, "server_error"),
        "param": None,
        "code": status or None,
    }
    return json_text.write({"error": error})
