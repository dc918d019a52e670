"""Errors in the words of OpenAI's API."""

from converter.wire import json_text

_TYPES = {
    "": "server_error",
    "api_error": "server_error",
    "request_too_large": "invalid_request_error",
}
"""Types by those of the Messages API; any other word goes on as it is."""


def error_body(message: str, kind: str = "", status: int = 0) -> bytes:
    """Return an error object, as the body of a reply and as a frame's data.

    `kind`: the Messages API's word. `status`: the HTTP status, told as the code, which is where
    vLLM and llama.cpp put it.
    """
    error = {
        "message": message,
        "type": _TYPES.get(kind, kind),
        "param": None,
        "code": status or None,
    }
    return json_text.write({"error": error})
