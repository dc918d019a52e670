"""The output of a chat completions server: frames and bodies for scripted replies."""

import json
from collections.abc import Iterable, Mapping

HEAD = {"id": "chatcmpl-1", "created": 1, "model": "small", "system_fingerprint": "f"}
TOKENS = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
DONE = b"data: [DONE]\n\n"


def data(value: object) -> bytes:
    return b"data: " + json.dumps(value, ensure_ascii=False).encode() + b"\n\n"


def delta(index: int = 0, /, **fields: object) -> bytes:
    return _chunk({"index": index, "delta": fields, "finish_reason": None})


def finish(reason: str = "stop", index: int = 0) -> bytes:
    return _chunk({"index": index, "delta": {}, "finish_reason": reason})


def _chunk(choice: object) -> bytes:
    return data({**HEAD, "object": "chat.completion.chunk", "choices": [choice]})


def text(*pieces: str) -> list[bytes]:
    return [delta(content=piece) for piece in pieces]


ROLE = delta(role="assistant", content="")
USAGE = data({**HEAD, "object": "chat.completion.chunk", "choices": [], "usage": TOKENS})
END = [finish(), USAGE, DONE]


def stream(*pieces: str) -> list[bytes]:
    """A usual streamed reply, a frame for each piece of text."""
    return [ROLE, *text(*pieces), *END]


def whole(content: object, **fields: object) -> bytes:
    message = {"role": "assistant", "content": content, **fields}
    reason = "tool_calls" if fields.get("tool_calls") else "stop"
    return chat_whole(message, reason, usage=TOKENS)


def chat_stream(deltas: Iterable[Mapping[str, object]], reason: str = "stop") -> bytes:
    """A stream of these deltas and a finish, without counts."""
    return b"".join([*(delta(**fields) for fields in deltas), finish(reason), DONE])


def chat_whole(message: object, reason: str = "stop", **more: object) -> bytes:
    """A whole reply with this message."""
    choice = {"index": 0, "message": message, "finish_reason": reason}
    body = {**HEAD, "object": "chat.completion", "choices": [choice], **more}
    return json.dumps(body, ensure_ascii=False).encode()


def text_completion(text: str, reason: str | None = None, **more: object) -> dict[str, object]:
    """A text completion, or a frame of one."""
    choice = {"index": 0, "text": text, "logprobs": None, "finish_reason": reason}
    head = {"id": "c", "object": "text_completion", "created": 1, "model": "m"}
    return {**head, "choices": [choice], **more}


def pinged(steps: list[bytes]) -> list[bytes]:
    """The same reply of a server that gives a sign of life before each frame but the first."""
    return [steps[0], *(part for step in steps[1:] for part in (b": ping\n\n", step))]
