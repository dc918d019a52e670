"""Errors in the words of Ollama's API: one text."""

from converter.dialects.error_words import server_words
from converter.wire import json_text

_BAD_GATEWAY = 502


def error_body(message: str, _kind: str = "", _status: int = 0) -> bytes:
    """Return an error object, as the body of a reply and as a line of a stream."""
    return json_text.write({"error": message})


def error_reply(status: int, body: bytes, _counted: int | None = None) -> tuple[int, bytes] | None:
    """Return an error object with the words of a server's answer; None: it is one already. An
    answer below 400 is no reply: a bad gateway.
    """
    said = json_text.read_or_none(body)
    if status >= 400 and isinstance(said, dict) and isinstance(said.get("error"), str):
        return None
    words = server_words(body) or f"the server answered with status {status} and no words"
    return (status if status >= 400 else _BAD_GATEWAY), error_body(words)
