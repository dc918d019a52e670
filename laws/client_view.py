"""Read the reply that a client gets: `read_message` returns a message of the Messages API (a stream
must be in order), `completion_of` a parsed chat completion, `view_of` either as tuples to compare.
"""

import json
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from converter.core.dialects.table import OLLAMA, OPENAI_CHAT, RESPONSES, Form
from converter.extras.recordings.recording import Recording
from laws import ollama_replies
from laws.failures import BrokenLawError
from laws.parsed_reply import ParsedReply
from laws.reply_parser import parse_reply
from laws.response_view import as_message, read_response
from laws.strict_reader import read_strictly
from laws.variants import IN_BLOCKS, Variant, body_of

type View = list[tuple[object, ...]]
_KINDS = {"text": "text", "raw": "text", "thinking": "thinking"}
"""Kind of a piece -> the kind that a view says of it. Calls have tuples of their own."""


def message_of(recording: Recording, variant: Variant) -> dict[str, Any]:
    """Return the message that a client of a dialect with blocks (`IN_BLOCKS`) gets, read strictly.
    If the reply ends in an error, the message has it under the key `error`.
    """
    return read_message(body_of(recording, variant), variant)


def read_message(body: bytes, variant: Variant) -> dict[str, Any]:
    """Return a client's `body` as a message of the Messages API, whatever its dialect. If the reply
    ends in an error, the key `error` has it. Raises BrokenLawError for a stream that is not in
    order, ValueError for broken JSON.
    """
    if variant.form is Form.WHOLE and variant.dialect is not OLLAMA:
        message: dict[str, Any] = json.loads(body)
        return as_message(message) if variant.dialect is RESPONSES else message
    try:
        if variant.dialect is OLLAMA:
            return ollama_replies.as_message(body, variant.form)
        if variant.dialect is RESPONSES:
            return as_message(read_response(body))
        reader = read_strictly(body)
    except AssertionError as error:
        raise BrokenLawError(str(variant), str(error)) from error
    return reader.message | ({"error": reader.error["error"]} if reader.error else {})


def completion_of(recording: Recording, variant: Variant) -> ParsedReply:
    """Return the reply that a chat completions client gets, as a plain parser reads it."""
    return parse_reply(
        body_of(recording, variant), variant.form, OPENAI_CHAT, recording.settings.map
    )


def view_of(recording: Recording, variant: Variant) -> View:
    """Return what the client of this variant reads from its reply, as tuples to compare."""
    if variant.dialect in IN_BLOCKS:
        return list(view_of_message(message_of(recording, variant)))
    return list(view_of_completion(completion_of(recording, variant)))


def view_of_message(message: Mapping[str, Any]) -> Iterator[tuple[object, ...]]:
    """Yield tuples: a message's blocks, then its error or its id, model, end and counts."""
    for block in message.get("content", ()):
        yield tuple(block.items())
    if error := message.get("error"):
        yield "error", error["type"], error["message"]
    else:
        yield from (
            (name, message[name])
            for name in ("id", "model", "stop_reason", "stop_sequence", "usage")
        )


def view_of_completion(reply: ParsedReply, ordered: bool = True) -> Iterator[tuple[object, ...]]:
    """Yield tuples: content, thoughts, calls and finish of each choice, then usage and error. If
    `ordered`, yield also thinking and text in their order, which a whole body does not show.
    """
    for index, choice in sorted(reply.choices.items()):
        runs = groupby(
            (piece for piece in choice.pieces if piece.kind in _KINDS),
            key=lambda piece: _KINDS[piece.kind],
        )
        if ordered:
            yield from ((index, kind, "".join(piece.text for piece in run)) for kind, run in runs)
        yield index, "content", choice.joined("text", "raw")
        yield from ((index, name, thinking) for name, thinking in sorted(choice.thoughts.items()))
        yield from (
            (index, "call", number, *call.values()) for number, call in sorted(choice.calls.items())
        )
        yield index, "finish", choice.finish
    yield "usage", reply.usage
    yield "error", reply.error
