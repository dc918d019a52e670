"""Recordings as the tests of the laws need them: of a reply given in a line or two, or of a drawn
one.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from converter.addon.keep.notes import NotedFacts
from converter.extras.recordings.recording import Chunk, RecordedReply, RecordedRequest, Recording
from tests.support.frames import HEAD, ROLE, stream, whole

CHAT, MESSAGES = "/v1/chat/completions", "/v1/messages"
STREAM, JSON = "text/event-stream", "application/json"
PIECE = 100


def recording(
    body: bytes,
    content_type: str = STREAM,
    *,
    name: str = "sample",
    path: str = CHAT,
    status: int = 200,
    options: Mapping[str, object] | None = None,
    facts: NotedFacts | None = None,
    ended: str = "",
    **fields: Any,
) -> Recording:
    """A reply of these bytes, in chunks of some, to a request for what is named."""
    question = {
        "model": "small",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": "hi"}],
        **fields,
    }
    request = RecordedRequest("POST", path, {"content-type": JSON}, json.dumps(question).encode())
    chunks = tuple(
        Chunk(offset / 1000, body[offset : offset + PIECE]) for offset in range(0, len(body), PIECE)
    )
    answered = RecordedReply(status, content_type)
    got = RecordedReply(status, content_type, body)
    return Recording(
        name, request, request, answered, chunks, got, options or {}, facts or NotedFacts(), ended
    )


def streamed(*texts: str, **more: Any) -> Recording:
    return recording(b"".join(stream(*texts)), **more)


def two_replies(*first: bytes, answer: Sequence[str] = ("It is ", "5."), **more: Any) -> Recording:
    """Two streamed replies of llama.cpp's, as they are recorded: the second goes on behind the first."""
    head = str(HEAD["id"]).encode()
    second = b"".join(stream(*answer)).replace(head, head + b"-2")
    return recording(b"".join([ROLE, *first]) + second, facts=NotedFacts("llama.cpp"), **more)


def of_whole(text: str, **more: Any) -> Recording:
    return recording(whole(text), JSON, **more)


def native(events: list[dict[str, Any]], **more: Any) -> Recording:
    body = b"".join(
        b"event: " + event["type"].encode() + b"\ndata: " + json.dumps(event).encode() + b"\n\n"
        for event in events
    )
    return recording(body, path=MESSAGES, options={"native": ["messages"]}, **more)
