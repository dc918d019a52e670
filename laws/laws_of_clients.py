"""Check law 7: in the bytes that a client gets, the official SDK (`sdk_reading` calls it) reads the
message that our plain reader reads. NotInstalledError is raised if an SDK is missing.
"""

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from converter.core.dialects.table import ANTHROPIC, OLLAMA, OPENAI_CHAT, RESPONSES, Form
from converter.extras.recordings.recording import Recording
from laws import ollama_replies
from laws.client_view import read_message, view_of_completion
from laws.failures import BrokenLawError, compare
from laws.limits import Case
from laws.reply_parser import parse_reply
from laws.response_view import as_message
from laws.variants import Variant, body_of, variants

type Message = dict[str, Any]
_OUTER_FIELDS = ("id", "model", "role", "stop_reason", "stop_sequence")
"""Fields of a message object that the SDK must return, beside its content and counts."""
_KINDS = ("text", "thinking", "tool_use")  # types of the blocks that every SDK returns
_FAILED = 502
"""The HTTP status of a whole reply that is an error; a stream with an error has status 200."""
_RAISING_FINISHES = ("length", "content_filter")
"""Finish reasons at which `stream` of openai 3 raises an error, although the reply is valid."""


class NotInstalledError(Exception):
    """Raised if law 7 cannot be checked because an SDK is not installed."""


def law_7(recording: Recording, _: int) -> None:
    """Check each client's reply with its SDK. Raises NotInstalledError if an SDK is missing."""
    # the SDKs issue warnings, which pytest may turn into errors
    with warnings.catch_warnings(action="ignore"):
        sdk = import_sdk_reading()
        wire = sdk.Wire()
        for variant in variants(recording):
            _CHECKS[variant.dialect](Case(recording), variant, wire, sdk)


def import_sdk_reading() -> Any:
    """Return the module `sdk_reading`. Raises NotInstalledError if an SDK is not installed."""
    try:
        # imported late, because users of the addon need no SDK
        from laws import sdk_reading  # noqa: PLC0415
    except ImportError as error:
        raise NotInstalledError(
            f"law 7 needs the SDKs, pip install anthropic ollama openai: {error}"
        ) from error
    return sdk_reading


def _check_anthropic(case: Case, variant: Variant, wire: Any, sdk: Any) -> None:
    """Check that the SDK reads a message as the plain reader does, or raises the error in it."""
    body = body_of(case.recording, variant)
    plain = read_message(body, variant)
    if plain.get("error"):
        _check_error(variant, body, plain, wire, sdk)
        return
    with _sdk_errors_as_broken_law(variant, "anthropic"):
        if variant.form is Form.WHOLE:
            message = sdk.anthropic_whole(wire, body)
        else:
            sdk.anthropic_events(wire, body)  # raises if an event has a wrong shape
            message = sdk.anthropic_accumulated(wire, body)
    compare(f"{variant}, the anthropic SDK's blocks", _blocks(plain), _blocks(message))
    compare(f"{variant}, the anthropic SDK's head", *map(_fields_beside_content, (plain, message)))


@contextmanager
def _sdk_errors_as_broken_law(variant: Variant, sdk: str) -> Iterator[None]:
    """Raise BrokenLawError in place of any error that an SDK raises within the `with` statement."""
    try:
        yield
    except Exception as error:
        difference = f"the {sdk} SDK raises {type(error).__name__}: {error}"
        raise BrokenLawError(str(variant), difference) from error


def _check_error(variant: Variant, body: bytes, plain: Message, wire: Any, sdk: Any) -> None:
    """Check that the `anthropic` SDK raises an error with the message of the error in `plain`."""
    message, status = plain["error"]["message"], 200 if variant.form is Form.STREAM else 502
    raised = sdk.anthropic_error(wire, body, variant.form, status)
    if message not in raised:
        raise BrokenLawError(
            str(variant),
            f"the anthropic SDK's error\n  expected: {message}\n  got:      {raised or 'no error'}",
        )


def _blocks(message: Message) -> list[tuple[object, ...]]:
    """Return type and content of the blocks whose type is in `_KINDS`; SDKs may drop others."""
    content_keys = {"text": "text", "thinking": "thinking", "tool_use": "input"}
    return [
        (block["type"], block[content_keys[block["type"]]])
        for block in message["content"]
        if block["type"] in _KINDS
    ]


def _fields_beside_content(message: Message) -> list[tuple[object, ...]]:
    """Return name and value of the fields of a message object that are compared."""
    return [
        *((name, message.get(name)) for name in _OUTER_FIELDS),
        ("output_tokens", message["usage"]["output_tokens"]),
    ]


def _check_openai(case: Case, variant: Variant, wire: Any, sdk: Any) -> None:
    """Check that the SDK reads a completion as the plain reader does. A reply that is cut off, or
    has an error or unreadable frames, is not checked: the client gets the server's own bytes.
    """
    body = body_of(case.recording, variant)
    if case.recording.abort_reason or not case.reply.complete or case.reply.unread:
        return
    plain = parse_reply(body, variant.form, OPENAI_CHAT, case.recording.settings.map)
    ends = {choice.finish for choice in plain.choices.values()}
    kinds = {piece.kind for choice in plain.choices.values() for piece in choice.pieces}
    accumulates = variant.form is Form.STREAM and not (
        "raw" in kinds or ends & {*_RAISING_FINISHES}
    )
    with _sdk_errors_as_broken_law(variant, "openai"):
        seen = sdk.openai_bodies(wire, body, variant.form)
        summed = sdk.openai_accumulated(wire, body) if accumulates else {}
    again = parse_reply(seen, variant.form, OPENAI_CHAT, case.recording.settings.map)
    views = [list(view_of_completion(reply)) for reply in (plain, again)]
    compare(f"{variant}, the openai SDK's view", *views)
    if summed:
        content = summed["choices"][0]["message"].get("content") or ""
        text = plain.choice().joined("text")
        compare(f"{variant}, what the openai SDK puts together", [text], [content])


def _check_responses(case: Case, variant: Variant, wire: Any, sdk: Any) -> None:
    """Check that the SDK reads a response as the plain reader does, or raises the error in it."""
    body = body_of(case.recording, variant)
    plain = read_message(body, variant)
    if plain.get("error") and variant.form is Form.WHOLE:
        raised = sdk.responses_error(wire, body, _FAILED)
        compare(f"{variant}, the openai SDK's error", [plain["error"]["message"]], [raised])
        return
    with _sdk_errors_as_broken_law(variant, "openai"):
        seen = sdk.responses_read(wire, body, variant.form)
    for response in seen:
        again = as_message(response)
        compare(f"{variant}, the openai SDK's items", _blocks(plain), _blocks(again))
        heads = [[message["id"], message["usage"]] for message in (plain, again)]
        compare(f"{variant}, the openai SDK's head", *heads)


def _check_ollama(case: Case, variant: Variant, _: Any, sdk: Any) -> None:
    """Check that the `ollama` package reads a reply without error as the plain reader does."""
    body = body_of(case.recording, variant)
    plain = read_message(body, variant)
    if plain.get("error"):
        return  # the SDK raises the error and returns no blocks
    with _sdk_errors_as_broken_law(variant, "ollama"):
        replies = sdk.ollama_read(body, variant.form)
    lines = b"\n".join(json.dumps(reply).encode() for reply in replies)
    again = ollama_replies.as_message(lines, variant.form)
    compare(f"{variant}, the ollama package's words", _blocks(plain), _blocks(again))
    ends = [[message["stop_reason"], message["usage"]] for message in (plain, again)]
    compare(f"{variant}, the ollama package's end", *ends)


_CHECKS = {
    OLLAMA: _check_ollama,
    ANTHROPIC: _check_anthropic,
    OPENAI_CHAT: _check_openai,
    RESPONSES: _check_responses,
}
"""Dialect of a client -> the check of its reply by its SDK."""
