"""Replies as the unit tests need them: made of few words, read by the decoder, passed through the
rewriter, read back.
"""

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from converter.addon.exchange import settings
from converter.addon.exchange.rewriting import rewriter_of
from converter.core.dialects.openai_chat.decoder import OpenAIDecoder
from converter.core.dialects.table import ANTHROPIC, OPENAI_CHAT, Dialect, Form, ReplyContext
from converter.core.model.events import Event, Start
from converter.core.reply.reply_end import CUT_SHORT
from converter.core.reply.rewriter import Rewriter
from converter.core.wire.sse import Frame, FrameDecoder
from tests.support.frames import data, delta

type Json = dict[str, Any]

OPENAI = OPENAI_CHAT
STREAM, WHOLE = Form.STREAM, Form.WHOLE
CONTEXT = ReplyContext("asked", "flow", signature="ours")


def choice(index: int = 0, /, **fields: object) -> Json:
    """A choice of a stream's frame: `fields` stand beside its delta."""
    return {"index": index, "delta": fields.pop("delta", {}), **fields}


def chunk(*choices: Json, **fields: object) -> bytes:
    """A frame: `fields` are those of the head, and usage."""
    return data({"id": "chatcmpl-1", "model": "small", **fields, "choices": list(choices)})


def entry(
    index: int | None = None, name: str = "", arguments: str | None = None, **fields: object
) -> Json:
    """Return a piece of a tool call, without the fields that are None."""
    function = {"name": name} if name else {}
    numbered = {} if index is None else {"index": index}
    return {
        **numbered,
        **fields,
        "function": function if arguments is None else {**function, "arguments": arguments},
    }


def call(
    index: int | None = None, name: str = "", arguments: str | None = None, **fields: object
) -> bytes:
    """A frame with one piece of a tool call."""
    return delta(tool_calls=[entry(index, name, arguments, **fields)])


def whole_frame(body: object) -> Frame:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Frame(raw, raw)


def frames(raw: bytes) -> list[Frame]:
    decoder = FrameDecoder()
    return [*decoder.feed(raw), *decoder.close()]


def read(*raw: bytes) -> list[Event]:
    """Return the decoder's events of a stream's frames."""
    decoder = OpenAIDecoder()
    return [event for frame in frames(b"".join(raw)) for event in decoder.feed(frame)]


def parsed(*raw: bytes) -> list[Event]:
    """Return the events of frames without their heads."""
    return [event for event in read(*raw) if not isinstance(event, Start)]


def rewriter(
    client: Dialect, server_form: Form = STREAM, client_form: Form | None = None, **options: Any
) -> Rewriter:
    chosen = settings.read(options)
    context = replace(CONTEXT, fields=chosen.fields, signature=chosen.signature, map=chosen.map)
    return rewriter_of(chosen, client, server_form, client_form, context=context)


def passed(through: Rewriter, chunks: Iterable[bytes]) -> list[bytes]:
    """Return the pieces that a client gets."""
    return [*(piece for chunk in chunks for piece in through.feed(chunk)), *through.close()]


def failure_and_notes(through: Rewriter, *chunks: bytes) -> list[str]:
    """Return the notes on a reply, and its failure."""
    passed(through, chunks)
    return [through.failure, *through.notes]


def unended(pieces: list[bytes]) -> list[bytes]:
    """The pieces without the error that a chat completions client gets for a stream which, as in
    most unit tests, has no end.
    """
    rest = [piece for piece in pieces if CUT_SHORT.encode() not in piece]
    assert len(pieces) - len(rest) <= 1
    return rest


def values(pieces: Iterable[bytes]) -> list[Json]:
    """The JSON of every frame but `[DONE]`."""
    read_frames = frames(b"".join(pieces))
    return [
        json.loads(frame.data)
        for frame in read_frames
        if frame.data is not None and frame.data != b"[DONE]"
    ]


def stream_to(client: Dialect, *chunks: bytes, **options: Any) -> list[Json]:
    """A stream as a client reads it."""
    pieces = passed(rewriter(client, **options), chunks)
    return values(unended(pieces) if client is OPENAI else pieces)


def message_of(*chunks: bytes, server_form: Form = STREAM, **options: Any) -> Json:
    """A reply as an Anthropic client reads it that wants it whole."""
    message: Json = json.loads(
        b"".join(passed(rewriter(ANTHROPIC, server_form, WHOLE, **options), chunks))
    )
    return message


def body_of(body: object, **options: Any) -> Json:
    """A whole reply as an OpenAI client reads it."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    rewritten: Json = json.loads(b"".join(passed(rewriter(OPENAI, WHOLE, **options), [raw])))
    return rewritten
