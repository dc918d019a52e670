"""Writes errors of the Responses API, with the statuses and codes on which its clients act.

Observed with Codex 0.169:

- After status 401, 403, 413 or 422 it repeats the request 5 times; after 500 or 502 30 times in 26
  seconds; after 400 or 404 never.
- After a failed response it repeats the request 5 times, unless the code is in `FINAL_CODES`.
- After the code `context_length_exceeded`, and no other, it compacts the conversation. So an error
  about a reply that is too long has another code.

So an error that a repeated request would get again has the status 400.
"""

from converter.core.dialects import context_length
from converter.core.dialects.error_words import message_of_answer

TOO_LONG = "context_length_exceeded"
"""Code of the error for a prompt that is longer than the model's context."""
REPLY_TOO_LONG, REPLY_LENGTH_FIELD = "integer_above_max_value", "max_output_tokens"
"""Code of the error for a request that allows a reply too long for the model's context, and the
field of the request that allows it.
"""
BAD_REQUEST = "invalid_request_error"
"""Type of the error for a request that the client has to change."""
SERVER_ERROR = "server_error"
"""Type of an error for which the request is not to blame. In a failed response it is the code."""
FINAL_CODE = "invalid_prompt"
"""Code of a failed response if the same request would fail again. Codex then shows the error's
message and does not repeat the request.
"""
FINAL_CODES = (TOO_LONG, FINAL_CODE, "insufficient_quota", "server_is_overloaded")
"""Codes of a failed response after which Codex does not repeat the request."""
_TYPES = {
    400: BAD_REQUEST,
    401: "authentication_error",
    403: "permission_error",
    404: BAD_REQUEST,
    429: "rate_limit_error",
}
"""HTTP status that the client gets -> type of the error. Any other status from 500 on is a
`SERVER_ERROR`, any other status below 500 a `BAD_REQUEST`.
"""
_CODES = {401: "invalid_api_key", 404: "not_found", 429: "rate_limit_exceeded"}
"""HTTP status that the client gets -> code of the error, if nothing else decides the code."""
_CLIENT_STATUS = {413: 400, 422: 400, 500: 400, 501: 400, 502: 400, 529: 503}
"""HTTP status from the server -> status that the client gets. A local server's 500 mostly comes
from a chat template or a grammar. A repeated request would get it again: so it becomes 400.
"""
_FINAL_KINDS = (BAD_REQUEST, "request_too_large", "BadRequestError", "not_found_error")
"""Kinds of errors within a stream that a repeated request would get again. `BadRequestError` is
vLLM's name.
"""


def error_body(
    message: str, status: int = 400, param: str = "", code: str = ""
) -> dict[str, object]:
    """Return the body of an error. If `message` says that the request is too long for the context,
    message and code are replaced (`_length_error`).

    Arguments:
        status: the HTTP status that the client gets.
        param: the path of the wrong field of the request, such as `input.0.content`; empty for
            none.
        code: the code of the error; if it is empty, it follows from the status (`_CODES`).
    """
    if too_long := context_length.overflow_in(message):
        message, code = _length_error(too_long)
        param = param or (REPLY_LENGTH_FIELD if code == REPLY_TOO_LONG else "")
    # The API writes the path `input.0.content` as `input[0].content`.
    first, *inner = param.split(".")
    path = first + "".join(f"[{part}]" if part.isdigit() else f".{part}" for part in inner)
    error = {
        "message": message,
        "type": _TYPES.get(status, SERVER_ERROR if status >= 500 else BAD_REQUEST),
        "param": path or None,
        "code": code or _CODES.get(status),
    }
    return {"error": error}


def error_reply(status: int, body: bytes) -> tuple[int, dict[str, object]]:
    """Return the status and body that the client gets for a server's answer that is no reply of a
    model: an error, or a web page. A page (a status below 400) and an error about a prompt that is
    too long get status 400, other errors the status in `_CLIENT_STATUS` or their own.
    """
    message = message_of_answer(status, body, with_status=status >= 500)
    misfit = status < 400 or context_length.overflow_in(message)
    client_status = 400 if misfit else _CLIENT_STATUS.get(status, status)
    return client_status, error_body(message, client_status)


def failure(message: str, kind: str = "", status: int = 0) -> dict[str, object]:
    """Return the field `error` of a response that failed in mid-stream. If the same request would
    fail again, as after a server's status 500, the error's code is in `FINAL_CODES`.

    `kind`: the type of the server's error. `status`: the HTTP status that the error would have
    outside a stream; 0 if the server names none.
    """
    if too_long := context_length.overflow_in(message):
        own, code = _length_error(too_long)
        return {"code": code if code in FINAL_CODES else FINAL_CODE, "message": own}
    if kind in _FINAL_KINDS or 400 <= status < 429 or status == 500:
        return {"code": FINAL_CODE, "message": message}
    code = "rate_limit_exceeded" if status == 429 else SERVER_ERROR
    return {"code": code, "message": message}


def error_of_kind(message: str, kind: str, status: int) -> dict[str, object]:
    """Return the body of an error that the addon reports. `kind`: the error's type in the Messages
    API, such as `not_found_error`; the addon uses these types for clients of all dialects.
    `status`: the HTTP status, from which the error's type follows if `kind` decides none.
    """
    return error_body(message, {BAD_REQUEST: 400, "not_found_error": 404}.get(kind, status))


def _length_error(overflow: context_length.ContextOverflow) -> tuple[str, str]:
    """Return the message and the code of the error for a request that does not fit into the model's
    context.

    If the prompt fits, and the request allows a reply as long as the context or longer, the code is
    `REPLY_TOO_LONG`: after `TOO_LONG` a client would compact the conversation in vain.
    """
    if overflow.prompt_tokens < overflow.context_tokens <= overflow.reply_tokens:
        return overflow.message(), REPLY_TOO_LONG
    message = (
        "Your input exceeds the context window of this model. "
        f"Please adjust your input and try again. ({overflow.message()})"
    )
    return message, TOO_LONG
