"""Mutations of real JSON, real frames and real bytes, each with a few faults.

What is drawn from nothing is refused at the first look. So all of it begins with what a server or a
client really sent, from the library of recordings, and is spoiled from there.
"""

import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from hypothesis import strategies as st

from converter.core.dialects.table import Dialect
from converter.extras.recordings.library import Library
from converter.extras.recordings.recording import Recording
from tests.support.recorded import FOLDER

type Member = tuple[dict[str, Any] | list[Any], Any]
"""A container in a JSON value, and a key or an index in it."""

SHORT = 60_000
"""Bytes of a recording that is fuzzed: long ones are slow and teach nothing more."""
ODD: list[Any] = [
    None,
    True,
    0,
    -1,
    0.5,
    float("inf"),
    float("nan"),
    10**30,
    "",
    " ",
    "\x00",
    "\ud800",
    "</think>",
    "<think>",
    "<tool_call>",
    "data: [DONE]",
    "\r\n\r\n",
    [],
    {},
    [[]],
    [{}],
    {"type": "text"},
    {"type": "text", "text": "t"},
    {"type": "thinking", "thinking": "t"},
    {"type": "tool_use", "id": "x", "name": "f", "input": {}},
    {"type": "error", "error": {"message": "m"}},
    {"index": 0, "function": {"name": "f", "arguments": "{"}},
    [{"type": "text", "text": "t"}],
    [{"role": "user", "content": "t"}],
]
"""Values that stand where others belong."""
NAMES = ["type", "index", "content", "role", "text", "error", "choices", "delta", "input", "x"]
NOISE = [
    b"\n",
    b"\n\n",
    b"\r\n\r\n",
    b"\r",
    b"data: ",
    b"data:",
    b"event: error\n",
    b": ping\n\n",
    b"data: [DONE]\n\n",
    b"\x00",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\xe2\x80",
    b"{",
    b"}",
    b'"',
    b"\\",
    b"<think>",
    b"</think>",
    b"null",
    b"1e999",
]


@cache
def recordings() -> tuple[Recording, ...]:
    """Return the chats of the library, but for the longest."""
    library = Library(FOLDER)
    loaded = map(library.load, library.names())
    return tuple(
        kept for kept in loaded if len(kept.body) < SHORT and kept.exchange().endpoint.is_chat
    )


def of(dialect: Dialect) -> list[Recording]:
    """Return the recordings whose client speaks this dialect."""
    return [kept for kept in recordings() if kept.exchange().client_dialect is dialect]


@st.composite
def spoiled_json(draw: st.DrawFn, value: Any, most: int = 3) -> Any:
    """The value with some fields replaced, removed, doubled, renamed, nested or taken from
    elsewhere in it.
    """
    whole = {"": _copied(value)}
    for _ in range(draw(st.integers(1, most))):
        members = list(_members(whole))
        container, key = draw(st.sampled_from(members))
        other = draw(st.sampled_from(members))
        change = draw(st.sampled_from(CHANGES))
        change(container, key, _copied(other[0][other[1]]), draw)
    return whole.get("")


def _copied(value: Any) -> Any:
    return json.loads(json.dumps(value))


def _members(value: Any) -> Iterator[Member]:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in list(items):
        yield value, key
        if isinstance(inner, dict | list):
            yield from _members(inner)


def _replace(container: Any, key: Any, _: Any, draw: st.DrawFn) -> None:
    container[key] = _copied(draw(st.sampled_from(ODD)))


def _move(container: Any, key: Any, other: Any, _: st.DrawFn) -> None:
    container[key] = other


def _remove(container: Any, key: Any, _: Any, __: st.DrawFn) -> None:
    if key != "":
        del container[key]


def _add(container: Any, key: Any, other: Any, draw: st.DrawFn) -> None:
    if isinstance(inner := container[key], list):
        inner.insert(draw(st.integers(0, len(inner))), other)
    elif isinstance(inner, dict):
        inner[draw(st.sampled_from(NAMES))] = other


def _rename(container: Any, key: Any, _: Any, draw: st.DrawFn) -> None:
    if isinstance(container, dict) and key != "":
        container[draw(st.sampled_from(NAMES))] = container.pop(key)


def _nest(container: Any, key: Any, _: Any, draw: st.DrawFn) -> None:
    for _ in range(draw(st.sampled_from([1, 2, 50]))):
        container[key] = [container[key]]


def _multiply(container: Any, key: Any, _: Any, draw: st.DrawFn) -> None:
    if isinstance(inner := container[key], str | list):
        container[key] = inner * draw(st.sampled_from([2, 30]))


CHANGES: list[Callable[[Any, Any, Any, st.DrawFn], None]] = [
    _replace,
    _move,
    _remove,
    _add,
    _rename,
    _nest,
    _multiply,
]


@st.composite
def spoiled_bytes(draw: st.DrawFn, body: bytes, most: int = 4) -> bytes:
    """The bytes with pieces put in, cut out, doubled or exchanged."""
    for _ in range(draw(st.integers(1, most))):
        begin = draw(st.integers(0, len(body)))
        end = min(len(body), begin + draw(st.sampled_from([0, 0, 1, 2, 10, 300])))
        put = draw(st.sampled_from(NOISE) | st.just(body[begin:end] * 2) | st.binary(max_size=6))
        body = body[:begin] + put + body[end:]
    return body


@st.composite
def spoiled_frames(draw: st.DrawFn, frames: list[bytes], most: int = 4) -> list[bytes]:
    """The frames with some of them lost, doubled, moved, cut or joined."""
    frames = list(frames)
    for _ in range(draw(st.integers(1, most))):
        at, to = (draw(st.integers(0, max(0, len(frames) - 1))) for _ in range(2))
        if not frames:
            return frames
        match draw(st.sampled_from(["lose", "double", "move", "cut", "join", "noise"])):
            case "lose":
                del frames[at]
            case "double":
                frames.insert(to, frames[at])
            case "move":
                frames.insert(to, frames.pop(at))
            case "cut":
                frames[at] = frames[at][: draw(st.integers(0, len(frames[at])))]
            case "join":
                frames[at] = frames[at].rstrip(b"\r\n") + b"\n"
            case _:
                frames.insert(to, draw(st.sampled_from(NOISE)))
    return frames


@st.composite
def pieces_of(draw: st.DrawFn, body: bytes) -> list[bytes]:
    """The bytes as they may come: in one piece, in some, in many of one length."""
    if draw(st.booleans()):
        offsets = sorted(draw(st.sets(st.integers(1, max(1, len(body) - 1)), max_size=8)))
        bounds = zip([0, *offsets], [*offsets, len(body)], strict=True)
        return [body[begin:end] for begin, end in bounds if begin < end]
    length = draw(st.sampled_from([1, 7, 64, 1000, 1 << 20]))
    return [body[offset : offset + length] for offset in range(0, len(body), length)]
