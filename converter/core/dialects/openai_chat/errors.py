"""Writes errors in the format of OpenAI's chat completions: for what the addon reports, and in
place of a server's answer that is no reply of a model. `error_words` reads the servers' errors.
"""

from collections.abc import Mapping

from converter.core.dialects.error_words import message_of_answer
from converter.core.wire import json_text
from converter.core.wire.json_text import as_object

_KIND_OF_STATUS = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}
"""HTTP status of a server's error -> its kind, in the terms of the Messages API. A status without a
row gives `invalid_request_error` below 500, and `api_error` from 500 on.
"""

_FOLLOWED = (307, 308)
"""Redirects after which a client sends the same method and body again, such as FastAPI's for a
superfluous slash. After any other redirect a client sends a GET.
"""
_TYPE_OF_KIND = {
    "": "server_error",
    "api_error": "server_error",
    "request_too_large": "invalid_request_error",
}
"""Kind of an error in the Messages API -> its `type` in OpenAI's API. For a kind without a row the
two are the same.
"""


def error_body(message: str, kind: str = "", status: int = 0) -> dict[str, object]:
    """Return an error object, which fits both the body of a response and the data of a frame.

    Arguments:
        kind: the kind of error, in the terms of the Messages API.
        status: the HTTP status. It is written as the error's `code`, as vLLM and llama.cpp do.
    """
    error = {
        "message": message,
        "type": _TYPE_OF_KIND.get(kind, kind),
        "param": None,
        "code": status or None,
    }
    return {"error": error}


def error_reply(
    status: int, body: bytes, _counted: int | None = None
) -> tuple[int, Mapping[str, object]] | None:
    """Return the client's status and error object for a server's answer that is no reply.

    None if the answer may pass as it came: an error object with a status from 400 on, or a redirect
    that a client can follow. Any other status below 400 becomes a bad gateway (502). `_counted`,
    the number of the prompt's tokens, is not used.
    """
    error = as_object(json_text.object_in(body).get("error"))
    if status in _FOLLOWED or (status >= 400 and isinstance(error.get("message"), str)):
        return None
    message = message_of_answer(status, body)
    status = 502 if status < 400 else status
    kind = _KIND_OF_STATUS.get(status, "invalid_request_error" if status < 500 else "api_error")
    return status, error_body(message, kind, status)
