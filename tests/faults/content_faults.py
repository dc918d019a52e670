"""Replies whose HTTP is good and whose content is not: frames, errors in mid-stream, ends."""

import json

from tests.faults.hostile_server import (
    BOTH,
    HELLO,
    Fault,
    Step,
    chunk,
    head,
    long_frame,
    sent,
    streamed,
)
from tests.support.frames import (
    DONE,
    END,
    HEAD,
    ROLE,
    USAGE,
    data,
    delta,
    finish,
    stream,
    text,
    whole,
)

BEFORE = ("deep", "Hel")
START = [ROLE, *text(*HELLO[:-1])]
CHUNK = {**HEAD, "object": "chat.completion.chunk"}


def _frame(choice: str, **fields: object) -> bytes:
    """Return a frame with `choice` as its first choice, valid JSON or not."""
    start = json.dumps({**CHUNK, **fields}).removesuffix("}")
    return f'data: {start}, "choices": [{choice}]}}\n\n'.encode()


def _choice(index: str = "0", delta: str = '{"content": "lo"}', finish: str = "null") -> str:
    return f'{{"index": {index}, "delta": {delta}, "finish_reason": {finish}}}'


def _last(name: str, verdict: str, *frames: bytes, parts: tuple[str, str] = BOTH) -> Fault:
    """Return a fault in place of the frame with the last text."""
    return Fault(name, verdict, streamed([*START, *frames, *END]), parts=parts, before=BEFORE)


TOO_LONG = Fault(
    "a frame of 5 MB",
    "cut",
    [head(), *map(chunk, START), *long_frame(delta(content="@@")), *map(chunk, END), b"0\r\n\r\n"],
    before=BEFORE,
    message="more than 4 megabytes",
)


def _extra(name: str, verdict: str, frame: bytes) -> Fault:
    """Return a fault of an unneeded frame within the text."""
    frames = streamed([*START, frame, *text("lo"), *END])
    return Fault(name, verdict, frames, before=BEFORE)


LO = _choice()
DEEP = '{"content": "lo", "x": ' + "[" * 100_000 + "]" * 100_000 + "}"
FRAMES = [
    _last("index is text", "full", _frame(_choice('"0"'))),
    _last("index is a fraction", "full", _frame(_choice("0.0"))),
    _last("index is missing", "full cut", _frame('{"delta": {"content": "lo"}}')),
    _last("index is negative", "full cut", _frame(_choice("-1"))),
    _last("index is huge", "full cut", _frame(_choice("9" * 400))),
    _last("index is null", "full cut", _frame(_choice("null"))),
    _last("content is a number", "full cut", _frame(_choice(delta='{"content": 5}'))),
    _last("content is a list", "full cut", _frame(_choice(delta='{"content": ["lo"]}'))),
    _last(
        "content is a list of parts",
        "full cut",
        _frame(_choice(delta='{"content": [{"type": "text", "text": "lo"}]}')),
    ),
    _last("content is an object", "full cut", _frame(_choice(delta='{"content": {"text": "lo"}}'))),
    _last("content is true", "full cut", _frame(_choice(delta='{"content": true}'))),
    _last("a trailing comma", "full cut", _frame(_choice(delta='{"content": "lo",}'))),
    _last(
        "a raw NUL", "full", _frame(_choice(delta='{"content": "l\0o"}')), parts=("deep", "Hell\0o")
    ),
    _last(
        "a raw tab", "full", _frame(_choice(delta='{"content": "l\to"}')), parts=("deep", "Hell\to")
    ),
    _last("JSON that is cut", "cut", _frame(LO)[:-30] + b"\n\n"),
    _last("JSON that goes on", "full cut", _frame(LO)[:-2] + b"}\n\n"),
    _last("single quotes", "full cut", _frame("{'index': 0, 'delta': {'content': 'lo'}}")),
    _last("NaN beside", "full cut", _frame('{"logprobs": NaN, ' + LO[1:])),
    _last("Infinity beside", "full cut", _frame('{"logprobs": -Infinity, ' + LO[1:])),
    _last("10^400 beside", "full cut", _frame('{"logprobs": 1e400, ' + LO[1:])),
    _last("4,301 digits beside", "full cut", _frame('{"logprobs": ' + "7" * 4301 + ", " + LO[1:])),
    _last("deep nesting beside", "full cut", _frame(_choice(delta=DEEP))),
    _last(
        "a lone surrogate",
        "full",
        _frame(_choice(delta=r'{"content": "l\ud800o"}')),
        parts=("deep", "Hell\ufffdo"),
    ),
    _last(
        "bytes that are no UTF-8",
        "full",
        _frame(LO).replace(b"lo", b"l\xffo"),
        parts=("deep", "Hell\ufffdo"),
    ),
    _last("fields twice", "full cut", _frame(_choice(delta='{"content": "no", "content": "lo"}'))),
    _last("delta is null, then good", "full", _frame(_choice(delta="null")), *text("lo")),
    _last("delta is a list", "full cut", _frame(_choice(delta='["lo"]'))),
    _last("delta is text", "full cut", _frame(_choice(delta='"lo"'))),
    _last("choice is null, then good", "full", _frame("null"), *text("lo")),
    _last(
        "reasoning is a number",
        "full cut",
        _frame(_choice(delta='{"content": "lo", "reasoning_content": 7}')),
    ),
    _last("role is a number", "full", _frame(_choice(delta='{"role": 7, "content": "lo"}'))),
    _last("usage is text", "full cut", _frame(LO, usage="many")),
    _last("usage has text", "full cut", _frame(LO, usage={"prompt_tokens": "7"})),
    _last("id is a number", "full", _frame(LO, id=7)),
    _last("model is null", "full", _frame(LO, model=None)),
    _extra("no JSON", "cut", b"data: {nonsense\n\n"),
    _extra("a number", "full cut", b"data: 5\n\n"),
    _extra("a list", "full cut", b"data: []\n\n"),
    _extra("a text", "full cut", b'data: "x"\n\n'),
    _extra("null", "full cut", b"data: null\n\n"),
    _extra("an empty object", "full", b"data: {}\n\n"),
    _extra("choices is null", "full", data({**CHUNK, "choices": None})),
    _extra("choices is an object", "full cut", data({**CHUNK, "choices": {}})),
    _extra("choices is text", "full cut", data({**CHUNK, "choices": "x"})),
    _extra("unknown fields", "full", data({**CHUNK, "choices": [], "x_more": {"a": [1]}})),
    _extra("an unknown event", "full", b"event: keepalive\ndata: {}\n\n"),
    _extra("a comment", "full", b": still here\n\n"),
    _extra("an empty frame", "full", b"data:\n\n"),
    _extra("id and retry", "full", b"id: 5\nretry: 100\n\n"),
    _extra("a line that is none", "full cut", b"nonsense\n\n"),
]


def _error(name: str, frame: bytes, message: str = "boom") -> Fault:
    """Return the fault of an error frame within the stream."""
    return Fault(name, "cut", streamed([*START, frame, DONE]), before=BEFORE, message=message)


ERRORS = [
    _error("an error object", data({"error": {"message": "boom", "type": "x", "code": 500}})),
    _error("an error's text", data({"error": "boom"})),
    _error("vLLM's error", data({"object": "error", "message": "boom", "code": 500})),
    _error("an error with detail", data({"detail": "boom"})),
    _error("event: error", b"event: error\n" + data({"message": "boom"})),
    _error("event: error with text", b"event: error\ndata: boom\n\n"),
    _error("llama.cpp's error line", b'error: {"message": "boom", "code": 500}\n\n'),
    _error("an error without words", data({"error": {"message": None}}), message=""),
    _error("an empty error", data({"error": {}}), message=""),
    _error("an error beside choices", data({**CHUNK, "choices": [], "error": {"message": "boom"}})),
    Fault(
        "an error at once",
        "cut failed",
        streamed([data({"error": {"message": "boom"}}), DONE]),
        message="boom",
    ),
    Fault(
        "an error after the finish",
        "full cut",
        streamed([*stream(*HELLO)[:-1], data({"error": {"message": "boom"}}), DONE]),
        before=("deep", "Hello"),
    ),
]


def _ends(name: str, verdict: str, *frames: bytes) -> Fault:
    frames_sent = [ROLE, *text(*HELLO), *frames]
    return Fault(name, verdict, streamed(frames_sent), before=("deep", "Hello"))


ENDS = [
    _ends("no [DONE]", "full", finish(), USAGE),
    _ends("no usage", "full", finish(), DONE),
    _ends("no finish", "cut", DONE),
    _ends("no finish, no [DONE]", "cut"),
    _ends("[DONE] twice", "full", finish(), DONE, DONE),
    _ends("more after [DONE]", "full", finish(), DONE, delta(content="x")),
    _ends("an unknown finish", "full cut", finish("tired"), DONE),
    _ends("a finish that is a number", "full cut", _frame(_choice(delta="{}", finish="1")), DONE),
    _ends("a finish twice", "full", finish(), finish(), USAGE, DONE),
    _ends("text after the finish", "full cut", finish(), delta(content=""), USAGE, DONE),
    _ends("usage twice", "full", finish(), USAGE, USAGE, DONE),
    _ends("no blank line at the end", "full", finish(), USAGE, b"data: [DONE]"),
]


def _lines(name: str, change: tuple[bytes, bytes], before: bytes = b"") -> Fault:
    body = b"".join(stream(*HELLO)).replace(*change)
    steps: list[Step] = [*streamed([before + body])]
    return Fault(name, "full", steps)


LINES = [
    _lines("CRLF", (b"\n", b"\r\n")),
    _lines("CR", (b"\n", b"\r")),
    _lines("no blank after the colon", (b"data: ", b"data:")),
    _lines("a byte order mark", (b"", b""), b"\xef\xbb\xbf"),
    _lines("blank lines", (b"\n\n", b"\n\n\n\n")),
    _lines("an event's name", (b"data: ", b"event: message\ndata: ")),
    _lines("data in lines", (b', "choices"', b',\ndata: "choices"')),
]

WHOLE = [
    Fault(name, verdict, whole=[sent(body)], parts=parts)
    for name, verdict, body, parts in [
        ("whole: content is null", "full", whole(None), ("", "")),
        ("whole: content is a number", "full failed", whole(5), ("", "5")),
        (
            "whole: content is parts",
            "full failed",
            whole([{"type": "text", "text": "Hello"}]),
            ("", "Hello"),
        ),
        ("whole: JSON that is cut", "failed", whole("".join(HELLO))[:-9], BOTH),
        ("whole: no JSON", "failed", b"nonsense", BOTH),
        ("whole: empty", "failed", b"", BOTH),
        ("whole: a list", "failed", b"[]", BOTH),
        ("whole: no choices", "failed", b'{"id": "x"}', BOTH),
        ("whole: choices are empty", "full failed", b'{"id": "x", "choices": []}', ("", "")),
        ("whole: choices are null", "failed", b'{"id": "x", "choices": null}', BOTH),
        ("whole: an error with 200", "failed", b'{"error": {"message": "boom"}}', BOTH),
        ("whole: vLLM's error with 200", "failed", b'{"object": "error", "message": "boom"}', BOTH),
        (
            "whole: a raw NUL",
            "full",
            whole("".join(HELLO)).replace(b"Hel", b"Hel\0"),
            ("deep", "Hel\0lo"),
        ),
        ("whole: NaN beside", "full failed", whole("".join(HELLO)).replace(b'"f"', b"NaN"), BOTH),
        (
            "whole: 4,301 digits beside",
            "full failed",
            whole("".join(HELLO)).replace(b'"f"', b"7" * 4301),
            BOTH,
        ),
        (
            "whole: deep nesting beside",
            "full failed",
            whole("".join(HELLO)).replace(b'"f"', b"[" * 99999 + b"]" * 99999),
            BOTH,
        ),
    ]
]

FAULTS = [TOO_LONG, *FRAMES, *ERRORS, *ENDS, *LINES, *WHOLE]
