"""Faults of servers that speak the client's own dialect: the Messages API, the Responses API.

Everything before the body is as it is for any server, and so are errors and pages; frames, ends and
bodies are these dialects' own.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass

from tests.faults import body_faults, native_transport_faults, transport_faults
from tests.faults.hostile_server import (
    HELLO,
    Do,
    Fault,
    Step,
    Steps,
    chunk,
    head,
    long_frame,
    sent,
    streamed,
)
from tests.support.frames import whole
from tests.support.rows import rows_of

ROWS = rows_of(__file__)

BEFORE = ("deep", "Hel")
TEXT = "".join(HELLO)
type Frames = list[bytes]


def event(kind: str, **fields: object) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


@dataclass(frozen=True)
class Speech:
    """How a server writes a stream. `text`: a frame of text; `index_name`: the key of a frame's
    index.
    """

    dialect: str
    begin: Frames
    text: Callable[[str], bytes]
    end: Frames
    body: bytes
    index_name: str

    @property
    def start(self) -> Frames:
        """The frames of a reply but for its last text and its end."""
        return [*self.begin, *map(self.text, HELLO[:-1])]

    @property
    def last(self) -> bytes:
        return self.text(HELLO[-1])

    @property
    def stream(self) -> Frames:
        return [*self.start, self.last, *self.end]


MESSAGE: dict[str, object] = ROWS["message"]
USAGE = {"input_tokens": 7, "output_tokens": 5}
MESSAGES = Speech(
    "anthropic",
    [
        event("message_start", message=MESSAGE),
        event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
    ],
    lambda text: event("content_block_delta", index=0, delta={"type": "text_delta", "text": text}),
    [
        event("content_block_stop", index=0),
        event("message_delta", delta={"stop_reason": "end_turn"}, usage=USAGE),
        event("message_stop"),
    ],
    json.dumps(
        {**MESSAGE, "content": [{"type": "text", "text": TEXT}], "stop_reason": "end_turn"}
    ).encode(),
    "index",
)
ITEM = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed"}
PART = {"type": "output_text", "text": "", "annotations": []}
FULL_ITEM = {**ITEM, "content": [{**PART, "text": TEXT}]}
RESPONSE = ROWS["response"]
COMPLETED = {
    **RESPONSE,
    "status": "completed",
    "output": [FULL_ITEM],
    "usage": {**USAGE, "total_tokens": 12},
}
AT = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
RESPONSES = Speech(
    "responses",
    [
        event("response.created", response=RESPONSE),
        event("response.output_item.added", output_index=0, item={**ITEM, "content": []}),
        event("response.content_part.added", **AT, part=PART),
    ],
    lambda text: event("response.output_text.delta", **AT, delta=text),
    [
        event("response.output_text.done", **AT, text=TEXT),
        event("response.output_item.done", output_index=0, item=FULL_ITEM),
        event("response.completed", response=COMPLETED),
    ],
    json.dumps(COMPLETED).encode(),
    "output_index",
)
SPEECHES = (MESSAGES, RESPONSES)

SLIPS: dict[str, tuple[bytes, bytes, str, str]] = {
    "a trailing comma": (b"}\n\n", b",}\n\n", "full", "lo"),
    "a raw NUL": (b'"lo"', b'"l\0o"', "full", "l\0o"),
    "NaN beside": (b"{", b'{"x": NaN, ', "full", "lo"),
    "4,301 digits beside": (b"{", b'{"x": ' + b"7" * 4301 + b", ", "full", "lo"),
    "deep nesting beside": (b"{", b'{"x": ' + b"[" * 99_999 + b"]" * 99_999 + b", ", "full", "lo"),
    "bytes that are no UTF-8": (b'"lo"', b'"l\xffo"', "full", "l\ufffdo"),
    "an end too many": (b"}\n\n", b"}}\n\n", "full", "lo"),
    "single quotes": (b'"', b"'", "cut", "lo"),
    "JSON that is cut": (b"}\n\n", b"\n\n", "cut", "lo"),
    "words that are a number": (b'"lo"', b"5", "cut", "lo"),
    "words that are a list": (b'"lo"', b'["lo"]', "full cut", "lo"),
    "words that are null": (b'"lo"', b"null", "full", ""),
}


def _slips(speech: Speech) -> list[Fault]:
    faults = [
        _last(speech, name, verdict, speech.last.replace(old, new, 1), ("deep", "Hel" + text))
        for name, (old, new, verdict, text) in SLIPS.items()
    ]
    index = f'"{speech.index_name}": 0'.encode()
    for name, value in {"text": b'"0"', "a fraction": b"0.0", "huge": b"9" * 400}.items():
        changed = speech.last.replace(index, index[:-1] + value)
        faults.append(_last(speech, f"index is {name}", "full cut", changed))
    return faults


def _last(
    speech: Speech, name: str, verdict: str, frame: bytes, both: tuple[str, str] = ("deep", "Hello")
) -> Fault:
    frames = streamed([*speech.start, frame, *speech.end])
    return Fault(name, verdict, frames, parts=both, before=BEFORE)


EXTRAS = {
    "a number": (b"data: 5\n\n", "cut"),
    "null": (b"data: null\n\n", "full"),
    "an empty object": (b"data: {}\n\n", "full"),
    "a list": (b"data: []\n\n", "full"),
    "an unknown event": (event("response.later", a=1), "full"),
    "a comment": (b": still here\n\n", "full"),
    "no JSON": (b"data: {nonsense\n\n", "cut"),
}
ERRORS = ROWS["errors"]


def _frames(speech: Speech) -> list[Fault]:
    start, last, end = speech.start, speech.last, speech.end
    return [
        *(
            Fault(name, verdict, streamed([*start, frame, last, *end]), before=BEFORE)
            for name, (frame, verdict) in EXTRAS.items()
        ),
        *(
            Fault(name, "cut", streamed([*start, frame]), before=BEFORE, message=message)
            for name, (frame, message) in ERRORS.items()
        ),
        Fault(
            "a frame of 5 MB",
            "cut",
            [
                head(),
                *map(chunk, start),
                *long_frame(speech.text("@@")),
                *map(chunk, end),
                b"0\r\n\r\n",
            ],
            before=BEFORE,
            message="more than 4 megabytes",
        ),
        Fault("no end", "cut", streamed([*start, last]), before=("deep", "Hello")),
        Fault("only a head", "failed cut", streamed(speech.begin[:1])),
    ]


def _breaks(speech: Speech) -> list[Fault]:
    half = chunk(speech.last[:-20])
    hows: dict[str, Steps] = {"closes": [Do.CLOSE], "resets": [Do.PAUSE, Do.RESET]}
    return [
        Fault(f"{how} {where}", "cut", [head(), *map(chunk, both), *rest, *steps], before=before)
        for how, steps in hows.items()
        for where, both, rest, before in [
            ("after the head", [], [], ("", "")),
            ("in a thought", [*speech.begin, speech.text("<think>de")], [], ("de", "")),
            ("in the text", speech.start, [], BEFORE),
            ("in an event", speech.start, [half], BEFORE),
        ]
    ]


def _bodies(speech: Speech) -> list[Fault]:
    good, body = b"".join(speech.stream), speech.body
    at = body.index(TEXT[:8].encode())
    return [
        Fault("good", "full", streamed(speech.stream), [sent(body)]),
        Fault("JSON labelled as an event stream", "full", [sent(body, "text/event-stream")]),
        Fault("an event stream labelled JSON", "full", [sent(good)]),
        Fault("an event stream asked for, JSON got", "full", [sent(body)]),
        Fault("JSON asked for, an event stream got", "full", whole=streamed(speech.stream)),
        _whole("a raw NUL", "full", body.replace(b"Hel", b"Hel\0"), ("deep", "Hel\0lo")),
        _whole("NaN beside", "full", b'{"x": NaN, ' + body[1:]),
        _whole("4,301 digits beside", "full", b'{"x": ' + b"7" * 4301 + b", " + body[1:]),
        _whole(
            "deep nesting beside", "full", b'{"x": ' + b"[" * 9999 + b"]" * 9999 + b", " + body[1:]
        ),
        _whole("JSON that is cut", "failed", body[: at + 12]),
        _whole("a list", "failed", b"[]"),
        _whole("an empty object", "failed", b"{}"),
        _whole("another dialect", "failed", whole(TEXT)),
        _whole("an error with 200", "failed", b'{"error": {"message": "boom"}}'),
        _whole("vLLM's error with 200", "failed", b'{"object": "error", "message": "boom"}'),
    ]


def _whole(
    name: str, verdict: str, body: bytes, both: tuple[str, str] = ("deep", "Hello")
) -> Fault:
    steps: list[Step] = [sent(body)]
    return Fault(f"whole: {name}", verdict, whole=steps, parts=both)


def faults(speech: Speech) -> list[Fault]:
    """Return all faults of a server with this dialect."""
    shared = [*transport_faults.NO_ANSWER, *body_faults.ERRORS, *body_faults.PAGES]
    return [
        *_bodies(speech),
        *_slips(speech),
        *_frames(speech),
        *_breaks(speech),
        *native_transport_faults.faults(speech),
        *(fault for fault in shared if not fault.server),
    ]
