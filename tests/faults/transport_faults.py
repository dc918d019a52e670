"""Servers that are not there, speak no HTTP, or break off."""

from collections.abc import Mapping

from tests.faults.hostile_server import (
    GOOD_STREAM,
    GOOD_WHOLE,
    HELLO,
    Do,
    Fault,
    Step,
    Steps,
    chunk,
    head,
    sent,
    streamed,
)
from tests.support.frames import DONE, ROLE, USAGE, delta, finish, stream, text, whole

REFUSED, UNKNOWN = "http://127.0.0.1:1", "http://no-such-host.invalid:8000"
FRAMES = [ROLE, *text(*HELLO)]
LAST = FRAMES[-1]
ACCENT = delta(content="é")
BODY = whole("".join(HELLO))


def _before(name: str, *steps: Step, message: str = "") -> Fault:
    """Return a fault before any head."""
    return Fault(name, "failed", steps, steps, message=message)


NO_ANSWER = [
    Fault("refused", "failed", (b"",), (b"",), server=REFUSED, message="connection refused"),
    Fault("unknown host", "failed", (b"",), (b"",), server=UNKNOWN, message="no such host"),
    Fault("closes at once", "failed", (b"",), (b"",), accept=[Do.CLOSE]),
    Fault("resets at once", "failed", (b"",), (b"",), accept=[Do.RESET]),
    Fault("speaks first", "failed", (b"",), (b"",), accept=[b"SSH-2.0-x\r\n", Do.HANG]),
    _before("closes after the request", Do.CLOSE),
    _before("resets after the request", Do.RESET),
    _before("text that is no HTTP, and hangs", b"hello there", Do.HANG, message="hello there"),
    _before("text that is no HTTP, and closes", b"hello there\r\n\r\n", Do.CLOSE),
    _before("bytes of TLS", b"\x15\x03\x01\x00\x02\x02\x46", Do.HANG),
    _before("one line break, and closes", b"\r\n", Do.CLOSE),
    _before("half a status line", b"HTTP/1.1 20", Do.CLOSE),
    _before("half a head", b"HTTP/1.1 200 OK\r\ncontent-ty", Do.CLOSE),
    _before("half a head, and resets", b"HTTP/1.1 200 OK\r\ncontent-ty", Do.PAUSE, Do.RESET),
    _before("a head without end", b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 20000, Do.HANG),
    _before("a header without end", b"HTTP/1.1 200 OK\r\nx: " + b"y" * 100000, Do.HANG),
    _before("another version", b"HTTP/9.9 200 OK\r\ncontent-length: 0\r\n\r\n"),
    _before("a status that is none", b"HTTP/1.1 abc OK\r\ncontent-length: 0\r\n\r\n"),
    _before("a header without a colon", b"HTTP/1.1 200 OK\r\nnonsense\r\n\r\n"),
    _before("a header with a NUL", b"HTTP/1.1 200 OK\r\nx\0y: z\r\ncontent-length: 0\r\n\r\n"),
    _before("a negative length", b"HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\n"),
    _before("a length that is none", b"HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n"),
    _before("two lengths", b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab"),
    _before("length and chunks", head(framing="content-length: 3\r\ntransfer-encoding: chunked")),
    _before("another coding", head(framing="transfer-encoding: gopher") + b"x", Do.CLOSE),
    _before("only an interim reply", b"HTTP/1.1 100 Continue\r\n\r\n", Do.CLOSE),
]


def _after_interim(name: str, *interim: Step) -> Fault:
    return Fault(name, "full", [*interim, *GOOD_STREAM], [*interim, *GOOD_WHOLE])


INTERIM = [
    _after_interim("100 first", b"HTTP/1.1 100 Continue\r\n\r\n"),
    _after_interim("100 first, by itself", b"HTTP/1.1 100 Continue\r\n\r\n", Do.PAUSE),
    _after_interim("103 first", b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n", Do.PAUSE),
    _after_interim("many 102 first", b"HTTP/1.1 102 Processing\r\n\r\n" * 30, Do.PAUSE),
]

POINTS: dict[str, tuple[Steps, tuple[str, str]]] = {
    "after the head": ([], ("", "")),
    "after the role": ([chunk(ROLE)], ("", "")),
    "in a tag": ([*map(chunk, FRAMES[:2])], ("", "<th")),
    "in a thought": ([*map(chunk, FRAMES[:3])], ("de", "")),
    "in a closing tag": ([*map(chunk, FRAMES[:4])], ("deep</th", "")),
    "in the text": ([*map(chunk, FRAMES[:5])], ("deep", "Hel")),
    "in an event": ([*map(chunk, FRAMES[:5]), chunk(LAST[:60])], ("deep", "Hel")),
    "in a chunk": ([*map(chunk, FRAMES[:5]), chunk(LAST)[:70]], ("deep", "Hel")),
    "in a chunk's size": ([*map(chunk, FRAMES[:5]), b"f"], ("deep", "Hel")),
    "before a chunk's end": ([*map(chunk, FRAMES[:5]), chunk(LAST)[:-2]], ("deep", "Hello")),
    "in a character": (
        [*map(chunk, FRAMES[:5]), chunk(ACCENT[: ACCENT.index(b"\xc3") + 1])],
        ("deep", "Hel"),
    ),
}
HOWS: dict[str, Steps] = {
    "closes": [Do.CLOSE],
    "resets": [Do.PAUSE, Do.RESET],
    "writes a bad chunk size": [b"zz\r\n", Do.HANG],
}


def breaks(places: Mapping[str, tuple[Steps, tuple[str, str]]]) -> list[Fault]:
    """Return streams that break at each position, in each manner. A position: the steps before it,
    and their content.
    """
    return [
        Fault(f"{how} {position}", "cut", [*steps, *HOWS[how]], before=parts)
        for how in HOWS
        for position, (steps, parts) in places.items()
        if how in {"closes", "resets"} or "chunk" not in position
    ]


def breaks_after(places: Mapping[str, Steps]) -> list[Fault]:
    """Return streams that break behind their content, in each manner, at each position."""
    return [
        Fault(f"{how} after {position}", "full cut", [*came, *steps], before=("deep", "Hello"))
        for position, came in places.items()
        for how, steps in HOWS.items()
    ]


BROKEN = [
    *breaks({position: ([head(), *steps], parts) for position, (steps, parts) in POINTS.items()}),
    *breaks_after(
        {
            "the finish": [head(), *map(chunk, [*FRAMES, finish()])],
            "[DONE]": [head(), *map(chunk, [*FRAMES, finish(), USAGE, DONE])],
        }
    ),
    Fault(
        "a chunk's end is wrong",
        "cut",
        [head(), *map(chunk, FRAMES[:5]), b"1\r\nabc\r\n", Do.HANG],
        before=("deep", "Hel"),
    ),
    Fault(
        "a negative chunk size",
        "cut",
        [head(), *map(chunk, FRAMES[:5]), b"-5\r\nhello\r\n", Do.HANG],
        before=("deep", "Hel"),
    ),
    Fault(
        "less than the length announced",
        "cut failed",
        [head(framing="content-length: 99999"), *FRAMES[:5], Do.CLOSE],
        [head("application/json", "content-length: 99999"), BODY, Do.CLOSE],
        before=("deep", "Hel"),
    ),
    Fault(
        "more than the length announced",
        "full",
        [sent(b"".join(stream(*HELLO)), "text/event-stream") + b"data: more\n\n"],
        [*GOOD_WHOLE, b"more"],
    ),
    Fault(
        "a whole reply resets",
        "failed",
        whole=[head("application/json", "content-length: 99999"), BODY[:60], Do.PAUSE, Do.RESET],
    ),
    Fault(
        "a whole reply in chunks closes",
        "failed",
        whole=[head("application/json"), chunk(BODY[:60]), Do.CLOSE],
    ),
    Fault(
        "a whole reply in chunks has a bad one",
        "failed",
        whole=[head("application/json"), chunk(BODY[:60]), b"zz\r\n", Do.HANG],
    ),
]

GOOD = [
    Fault("good", "full", GOOD_STREAM, GOOD_WHOLE),
    Fault("byte by byte", "full", [bytes([byte]) for byte in b"".join(map(bytes, GOOD_STREAM))]),  # type: ignore[arg-type]
    Fault("trailers", "full", [*streamed(stream(*HELLO))[:-1], b"0\r\nx-sum: 1\r\n\r\n"]),
    Fault(
        "chunk extensions",
        "full",
        [head(), *(b"%x;a=b\r\n%s\r\n" % (len(f), f) for f in stream(*HELLO)), b"0\r\n\r\n"],
    ),
    Fault(
        "ends with the connection",
        "full",
        [head(framing="connection: close"), *stream(*HELLO), Do.CLOSE],
        [head("application/json", "connection: close"), BODY, Do.CLOSE],
    ),
    Fault(
        "HTTP/1.0",
        "full",
        [b"HTTP/1.0 200 OK\r\ncontent-type: text/event-stream\r\n\r\n", *stream(*HELLO), Do.CLOSE],
        [b"HTTP/1.0 200 OK\r\ncontent-type: application/json\r\n\r\n", BODY, Do.CLOSE],
    ),
    Fault(
        "connection lost between replies", "full", [*GOOD_STREAM, Do.CLOSE], [*GOOD_WHOLE, Do.CLOSE]
    ),
]

FAULTS = [*GOOD, *NO_ANSWER, *INTERIM, *BROKEN]
