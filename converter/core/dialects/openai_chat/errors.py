"""Errors as OpenAI's API writes them."""

from collections.abc import Mapping

from converter.core.dialects.error_words import message_of_answer
from converter.core.wire import json_text
from converter.core.wire.json_text import as_object

_KINDS = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}
"""Kinds of the Messages API by status; other statuses below 500 are faults of the request."""

_FOLLOWED = (307, 308)
"""Redirects that keep method and body, as FastAPI's for a slash too many; others would become a
GET."""
_TYPES = {
    "": "server_error",
    "api_error": "server_error",
    "request_too_large": "invalid_request_error",
}
"""Types by those of the Messages API; any other word goes on as it is."""


def error_body(message: str, kind: str = "", status: int = 0) -> dict[str, object]:
    """Return an error object, as the body of a reply and as a frame's data.

    `kind`: the Messages API's type. `status`: the HTTP status, which becomes the code, because vLLM
    and llama.cpp put it there.
    """
    error = {
        "message": message,
        "type": _TYPES.get(kind, kind),
        "param": None,
        "code": status or None,
    }
    return {"error": error}


def error_reply(
    status: int, body: bytes, _counted: int | None = None
) -> tuple[int, Mapping[str, object]] | None:
    """Return an error object with the message of a server's answer, which may be a page or empty.
    An error object, and a redirect that a client can follow with its request, go on as they came:
    None. Any other answer below 400 is no reply: a bad gateway.
    """
    error = as_object(json_text.object_in(body).get("error"))
    if status in _FOLLOWED or (status >= 400 and isinstance(error.get("message"), str)):
        return None
    message = message_of_answer(status, body)
    status = 502 if status < 400 else status
    kind = _KINDS.get(status, "invalid_request_error" if status < 500 else "api_error")
    return status, error_body(message, kind, status)
