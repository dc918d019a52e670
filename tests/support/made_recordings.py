"""Recordings built by hand, for tests of the extra `recordings`."""

import json
from collections.abc import Sequence
from typing import Any

from converter.addon.keep.notes import NotedFacts
from converter.extras.recordings.recording import Chunk, RecordedReply, RecordedRequest, Recording
from tests.support.frames import stream

CHAT = "/v1/chat/completions"
MESSAGES = "/v1/messages"
EVENT_STREAM = "text/event-stream; charset=utf-8"
JSON = "application/json"
PIECES = stream("<think>a", " b</think>", "c")


def question(text: str = "Hi", **more: object) -> dict[str, Any]:
    return {
        "model": "small",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": text}],
        "stream": True,
        **more,
    }


def recorded(body: object, path: str = CHAT) -> RecordedRequest:
    return RecordedRequest("POST", path, {"content-type": JSON}, json.dumps(body).encode())


def recording(
    name: str = "small", body: object = None, pieces: Sequence[bytes] = PIECES, **more: Any
) -> Recording:
    """A stream of chat completions to a client of the same dialect, a chunk in each tenth of a
    second.
    """
    request = recorded(question() if body is None else body)
    chunks = tuple(Chunk(round(0.1 * number, 1), piece) for number, piece in enumerate(pieces, 1))
    built = Recording(
        name,
        request,
        request,
        RecordedReply(200, EVENT_STREAM),
        chunks,
        RecordedReply(200, EVENT_STREAM, b""),
        facts=NotedFacts(),
    )
    return Recording(**{**vars(built), **more})
