"""Faults and oddities of HTTP and of lines, under a server's own Messages or Responses API."""

from typing import TYPE_CHECKING

from tests.faults.hostile_server import Do, Fault, Step, Steps, chunk, head, sent
from tests.faults.transport_faults import HOWS, breaks, breaks_after

if TYPE_CHECKING:
    from tests.faults.native_faults import Speech

END: list[Step] = [b"0\r\n\r\n"]
LINES = {
    "CRLF": (b"\n", b"\r\n"),
    "CR": (b"\n", b"\r"),
    "no blank after the colon": (b": {", b":{"),
    "blank lines": (b"\n\n", b"\n\n\n\n"),
    "data in lines": (b'{"type": ', b'{\ndata: "type": '),
    "id and retry": (b"data: ", b"id: 7\nretry: 9\ndata: "),
    "no event's name": (b"event: ", b"x: "),
}
BESIDE = {"Infinity": b"Infinity", "10^400": b"1" + b"0" * 400, "a field twice": b"1, " + b'"x": 2'}


def _sent(frames: list[bytes]) -> list[Step]:
    return [head(), *map(chunk, frames)]


def faults(speech: "Speech") -> list[Fault]:
    """Return all faults of transport under this dialect."""
    return [*_good(speech), *_lines(speech), *_broken(speech), *_whole(speech)]


def _good(speech: "Speech") -> list[Fault]:
    good, body = [*_sent(speech.stream), *END], [sent(speech.body)]
    frames, interim = speech.stream, b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n"
    bare = head(framing="connection: close")
    return [
        Fault("byte by byte", "full", [bytes([byte]) for byte in b"".join(map(bytes, good))]),  # type: ignore[arg-type]
        Fault("trailers", "full", [*good[:-1], b"0\r\nx-sum: 1\r\n\r\n"]),
        Fault("103 first", "full", [interim, Do.PAUSE, *good], [interim, Do.PAUSE, *body]),
        Fault("100 first", "full", [b"HTTP/1.1 100 Continue\r\n\r\n", *good]),
        Fault("ends with the connection", "full", [bare, *frames, Do.CLOSE]),
        Fault("connection lost between replies", "full", [*good, Do.CLOSE], [*body, Do.CLOSE]),
        Fault("more than announced", "full", whole=[*body, b"more"]),
        Fault("an event stream without label", "full", [head(kind=""), *map(chunk, frames), *END]),
    ]


def _lines(speech: "Speech") -> list[Fault]:
    sent_whole = b"".join(speech.stream)
    bodies = {name: sent_whole.replace(*change) for name, change in LINES.items()}
    bodies["a byte order mark"] = b"\xef\xbb\xbf" + sent_whole
    bodies["no blank line at the end"] = sent_whole.removesuffix(b"\n\n")
    for name, value in BESIDE.items():
        bodies[f"{name} beside"] = sent_whole.replace(b'{"type"', b'{"x": ' + value + b', "type"')
    return [Fault(name, "full", [*_sent([body]), *END]) for name, body in bodies.items()]


def _broken(speech: "Speech") -> list[Fault]:
    accent = speech.text("@@").replace(b"@@", "é".encode())
    half = accent[: accent.index(b"\xc3") + 1]
    tag, closing = speech.text("<th"), speech.text("</th")
    thought = [*speech.begin, speech.text("<think>deep")]
    last = chunk(speech.last)
    places: dict[str, tuple[Steps, tuple[str, str]]] = {
        "in a tag": (_sent([*speech.begin, tag]), ("", "<th")),
        "in a closing tag": (_sent([*thought, closing]), ("deep</th", "")),
        "in a character": (_sent([*speech.start, half]), ("deep", "Hel")),
        "in a chunk": ([*_sent(speech.start), last[:40]], ("deep", "Hel")),
        "in a chunk's size": ([*_sent(speech.start), b"f"], ("deep", "Hel")),
        "before a chunk's end": ([*_sent(speech.start), last[:-2]], ("deep", "Hello")),
    }
    after = breaks_after({"the end": _sent(speech.stream), "the text": _sent(speech.stream[:-1])})
    bad_end: list[Step] = [*_sent(speech.start), b"1\r\nabc\r\n", Do.HANG]
    return [
        *breaks(places),
        *after,
        Fault("a chunk's end is wrong", "cut", bad_end, before=("deep", "Hel")),
    ]


def _whole(speech: "Speech") -> list[Fault]:
    long = head("application/json", "content-length: 99999")
    chunked = [head("application/json"), chunk(speech.body[:60])]
    length = b"content-length"
    no_gzip = sent(speech.body).replace(length, b"content-encoding: gzip\r\n" + length)
    ways: dict[str, list[Step]] = {
        "less than announced": [long, speech.body, Do.CLOSE],
        "resets": [long, speech.body[:60], Do.PAUSE, Do.RESET],
        "in chunks, closes": [*chunked, Do.CLOSE],
        "in chunks, a bad one": [*chunked, *HOWS["writes a bad chunk size"]],
    }
    return [
        *(Fault(f"whole: {name}", "failed", whole=steps) for name, steps in ways.items()),
        Fault("whole: gzip that is none", "full", whole=[no_gzip]),
    ]
