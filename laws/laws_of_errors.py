"""Check laws 4, 7 and 8 for a server's error response: the client gets its message (4), the SDKs
raise an error with the message (7), and the addon raises nothing, whatever the body (8).
"""

import json
import warnings

from converter.addon.exchange.exchange import Answer
from converter.core.dialects.table import ANTHROPIC, OLLAMA, OPENAI_CHAT, RESPONSES, Dialect, Form
from converter.extras.recordings.recording import Recording
from laws.failures import BrokenLawError, compare
from laws.laws_of_bytes import spoiled_bodies
from laws.laws_of_clients import import_sdk_reading
from laws.variants import seeded_random

_SHAPES = {
    ANTHROPIC: ("Anthropic client", ["message", "type"]),
    RESPONSES: ("Responses client", ["code", "message", "param", "type"]),
    OLLAMA: ("Ollama client", []),
}
"""Dialect except chat completions -> its client's name, the keys of its errors (Ollama: none)."""


def answer(recording: Recording, dialect: Dialect, body: bytes | None = None) -> Answer:
    """Return the response that a client of `dialect` gets for the server's error. `body`: what the
    server sends instead of the recorded body. Raises BrokenLawError if the addon raises an error.
    """
    awaited = recording.awaited(dialect)
    answered, body = recording.server_reply, recording.body if body is None else body
    try:
        got = awaited.rewrite(answered.status, answered.content_type, body).answer
    except Exception as error:
        raise BrokenLawError(
            str(dialect), f"the addon raised {type(error).__name__}: {error}\n  for: {body[:200]!r}"
        ) from error
    return got or Answer(answered.status, answered.content_type, body)


def error_4(recording: Recording, _: int) -> None:
    """Check that a chat completions client gets the server's status and bytes or, if the bytes have
    no message, an error with one; and that all other clients get an error of their own dialect with
    the server's message.
    """
    plain = answer(recording, OPENAI_CHAT)
    message = _message_of(recording.body)
    got = [plain.status, plain.body] if message else [plain.status, bool(_message_of(plain.body))]
    expected = recording.body if message else True
    compare("chat completions client", [recording.server_reply.status, expected], got)
    for dialect, (variant, names) in _SHAPES.items():
        got_names, got_message = _error_in(answer(recording, dialect).body)
        compare(variant, names, got_names or [])
        # a message about tokens says that the prompt is too long: clients get their own API's words
        if message and "tokens" not in message and message not in got_message:
            raise BrokenLawError(
                variant, f"the server's words\n  expected: {message}\n  got:      {got_message}"
            )


def _error_in(body: bytes) -> tuple[list[str] | None, str]:
    """Return the keys of the error in a body, and its message; None for the keys if the body has no
    error. An error of Ollama is a string, so it has no keys.
    """
    error = json.loads(body.decode(errors="replace")).get("error")
    if isinstance(error, str):
        return [], error
    return (sorted(error), str(error.get("message"))) if isinstance(error, dict) else (None, "")


def _message_of(body: bytes) -> str:
    """Return `error.message` of a body in OpenAI's shape; empty if the body has no such message."""
    try:
        value = json.loads(body)
        message = value["error"]["message"]
    except (ValueError, KeyError, TypeError):
        return ""
    return message if isinstance(message, str) else ""


def error_7(recording: Recording, _: int) -> None:
    """Check that SDKs raise the message that their client gets, with a status of 400 or more."""
    for dialect, (variant, _keys) in _SHAPES.items():
        got = answer(recording, dialect)
        with warnings.catch_warnings(action="ignore"):
            raised = _message_raised_by_sdk(dialect, got)
        message = _error_in(got.body)[1]
        if message not in raised or got.status < 400:
            raise BrokenLawError(
                variant,
                f"the SDK's error of status {got.status}\n"
                f"  expected: {message}\n"
                f"  got:      {raised or 'none'}",
            )


def _message_raised_by_sdk(dialect: Dialect, got: Answer) -> str:
    """Return the message of the error that the SDK raises for this response; empty for none."""
    sdk = import_sdk_reading()
    if dialect is OLLAMA:
        return str(sdk.ollama_error(got.body, got.status))
    if dialect is RESPONSES:
        return str(sdk.responses_error(sdk.Wire(), got.body, got.status))
    return str(sdk.anthropic_error(sdk.Wire(), got.body, Form.WHOLE, got.status))


def error_8(recording: Recording, drawn: int) -> None:
    """Check that the addon raises nothing for spoiled bodies; clients in `_SHAPES` get an error."""
    for name, body in spoiled_bodies(recording.body, drawn, seeded_random(recording, 8)):
        answer(recording, OPENAI_CHAT, body)
        for dialect, (variant, keys) in _SHAPES.items():
            got = answer(recording, dialect, body)
            if _error_in(got.body)[0] != keys:
                raise BrokenLawError(f"{variant}, {name}", f"no error: {got.body[:200]!r}")
