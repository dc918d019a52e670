"""Answers that are no reply: errors in every shape, pages, nothing, and wrong labels."""

import json

from tests.faults.hostile_server import (
    GOOD_STREAM,
    GOOD_WHOLE,
    HELLO,
    Do,
    Fault,
    Step,
    head,
    sent,
    streamed,
)
from tests.support.frames import stream, whole

PAGE = b"<html><head><title>x</title></head><body><h1>Bad Gateway</h1><p>boom</p></body></html>"
STATUSES = (400, 401, 403, 404, 405, 413, 422, 429, 500, 502, 503, 504)
SHAPES = {
    "OpenAI's": json.dumps({"error": {"message": "boom", "type": "x", "code": 1}}).encode(),
    "vLLM's": json.dumps({"object": "error", "message": "boom", "code": 1}).encode(),
    "FastAPI's": json.dumps({"detail": "boom"}).encode(),
    "Ollama's": json.dumps({"error": "boom"}).encode(),
}
BODY = b"".join(stream(*HELLO))


def _both(name: str, verdict: str, *steps: Step, message: str = "") -> Fault:
    return Fault(name, verdict, steps, steps, message=message)


ERRORS = [
    *(
        _both(f"{status} with {shape} error", "failed", sent(body, status=status), message="boom")
        for status in STATUSES
        for shape, body in SHAPES.items()
        if shape == "OpenAI's" or status in (400, 500)
    ),
    *(
        _both(f"{status} with {what}", "failed", sent(body, kind, status), message=message)
        for status in (404, 500, 503)
        for what, body, kind, message in [
            ("a page", PAGE, "text/html", "boom"),
            ("text", b"boom", "text/plain", "boom"),
            ("nothing", b"", "text/plain", ""),
            ("nothing labelled JSON", b"", "application/json", ""),
            ("JSON that is cut", b'{"error": {"mess', "application/json", ""),
            ("a number", b"5", "application/json", ""),
        ]
    ),
    _both(
        "an error as an event stream",
        "failed",
        sent(b'data: {"error": {"message": "boom"}}\n\n', "text/event-stream", 500),
        message="boom",
    ),
    _both("a redirect", "failed", head("text/html", "location: /x\r\ncontent-length: 0", 302)),
    _both("204", "failed", b"HTTP/1.1 204 No Content\r\n\r\n"),
    _both("304", "failed", b"HTTP/1.1 304 Not Modified\r\n\r\n"),
]

PAGES = [
    _both("200 with a page", "failed cut", sent(PAGE, "text/html"), message="boom"),
    _both("200 with text", "failed cut", sent(b"boom", "text/plain"), message="boom"),
    _both("200 with nothing", "failed cut", sent(b"", "text/plain")),
    _both("200 with nothing, no label", "failed cut", head("", "content-length: 0")),
    Fault("an event stream with nothing", "failed cut", [sent(b"", "text/event-stream")]),
    Fault("an event stream with an empty body", "failed cut", [head() + b"0\r\n\r\n"], [sent(b"")]),
    Fault("an event stream with comments only", "failed cut", streamed([b": hello\n\n"])),
    Fault("an event stream with [DONE] only", "failed cut", streamed([b"data: [DONE]\n\n"])),
    Fault("an event stream of a page", "failed cut", [sent(PAGE, "text/event-stream")]),
]

LABELS = [
    Fault(
        "JSON labelled as an event stream",
        "full",
        [sent(whole("".join(HELLO)), "text/event-stream")],
    ),
    Fault("an event stream labelled JSON", "full failed", [sent(BODY)]),
    Fault(
        "an event stream without label",
        "full failed",
        [head("", f"content-length: {len(BODY)}") + BODY],
    ),
    Fault("an event stream asked for, JSON got", "full", GOOD_WHOLE),
    Fault("JSON asked for, an event stream got", "full", whole=GOOD_STREAM),
    Fault(
        "gzip that is none",
        "full failed cut",
        [sent(BODY, "text/event-stream\r\ncontent-encoding: gzip")],
        [sent(whole("".join(HELLO)), "application/json\r\ncontent-encoding: gzip")],
    ),
    Fault(
        "an unknown encoding",
        "full failed cut",
        [sent(BODY, "text/event-stream\r\ncontent-encoding: rot13")],
        [sent(whole("".join(HELLO)), "application/json\r\ncontent-encoding: rot13")],
    ),
    Fault("a charset", "full", [sent(BODY, "text/event-stream; charset=utf-8")]),
    Fault("101", "failed", [b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n", Do.CLOSE]),
]

FAULTS = [*ERRORS, *PAGES, *LABELS]
