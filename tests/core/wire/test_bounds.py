"""Whatever a server says without end, what is held of it has a limit: beyond it comes an error in the
client's dialect, or the words pass.

Memory is measured with tracemalloc: what the rewriter holds after megabytes of the same.
"""

import tracemalloc
from collections.abc import Callable, Iterator
from itertools import product

import pytest

from converter.addon.exchange import settings
from converter.addon.exchange.rewriting import rewriter_of
from converter.core.dialects.dialect import RequestContext
from converter.core.dialects.table import (
    ANTHROPIC,
    OPENAI_CHAT,
    RESPONSES,
    Dialect,
    Form,
    ReplyContext,
)
from converter.core.reading.reading import Expected, ExpectedCalls, ExpectedThoughts
from converter.core.reading.tool_calls.calls_read import Tools
from converter.core.reply.rewriter import Rewriter
from converter.core.wire.bounds import MOST_CALLS, TABLE, TooMuchError
from tests.support.frames import ROLE, delta

CHUNK = 8192
SIZE = 6 * 1024 * 1024
"""Bytes of a server's words, of which no place may hold more than HELD."""
HELD = 6 * 1024 * 1024
TOOLS = Tools({"f": {}})


def called(index: int = 0, **entry: object) -> bytes:
    return delta(tool_calls=[{"index": index, **entry}])


def arguments(text: str, index: int = 0) -> bytes:
    return called(index, function={"arguments": text})


BEGUN = called(id="a", type="function", function={"name": "f", "arguments": ""})
UNENDING: dict[str, tuple[bytes, Callable[[int], bytes]]] = {
    "arguments of blanks": (BEGUN, lambda _: arguments(" \n" * (CHUNK // 2))),
    "arguments of brackets": (BEGUN, lambda _: arguments("[" * CHUNK if _ else '{"a":')),
    "arguments that are no object": (BEGUN, lambda _: arguments("x" * CHUNK)),
    "arguments behind their object": (BEGUN, lambda _: arguments("x" * CHUNK if _ else "{}")),
    "blanks before the answer": (b"", lambda _: delta(content=" \n" * (CHUNK // 2))),
    "blanks in a thought": (delta(content="<think>"), lambda _: delta(content="\n" * CHUNK)),
    "blanks behind a thought": (
        delta(content="<think>a</think>"),
        lambda _: delta(content="\n" * CHUNK),
    ),
    "text while a call is open": (BEGUN, lambda _: delta(content="word " * (CHUNK // 5))),
    "small text while a call is open": (BEGUN, lambda _: delta(content="w")),
    "calls without a name": (
        b"",
        lambda at: called(at % 9, id=f"c{at % 9}", function={"arguments": "x" * CHUNK}),
    ),
    "ever new calls": (
        b"",
        lambda at: called(at, id=f"c{at}", function={"name": "f", "arguments": "{}"}),
    ),
    "ever new open calls": (
        b"",
        lambda at: called(at, id=f"c{at}", function={"name": "f", "arguments": '{"a":'}),
    ),
    "native thinking": (b"", lambda _: delta(reasoning_content="word " * (CHUNK // 5))),
    "native thinking under two names": (
        b"",
        lambda _: delta(reasoning_content="w " * (CHUNK // 2), reasoning="w " * (CHUNK // 2)),
    ),
    "a thought in tags": (
        delta(content="<think>"),
        lambda _: delta(content="word " * (CHUNK // 5)),
    ),
    "ever new choices": (b"", lambda at: delta(at, content="<think>a", reasoning_content="a")),
    "ever new fields": (b"", lambda at: delta(**{f"field_{at}": "x" * 200})),
    "a call in text": (delta(content="<tool_call>"), lambda _: delta(content="x" * CHUNK)),
    "a named call in text": (
        delta(content='<tool_call>{"name": "f", "arguments": {"a": "'),
        lambda _: delta(content="x" * CHUNK),
    ),
    "a call in doubt": (
        delta(content='one says <tool_call>{"name": "f", "arguments": {"a": "'),
        lambda _: delta(content="x" * CHUNK),
    ),
    "ever new calls in text": (
        b"",
        lambda _: delta(content='<tool_call>{"name": "f", "arguments": {}}</tool_call>\n'),
    ),
    "an attribute without end": (
        delta(content='<thinking thought="'),
        lambda _: delta(content="x" * CHUNK),
    ),
    "comments": (b"", lambda _: b": " + b"x" * CHUNK + b"\n\n"),
    "frames that cannot be read": (b"", lambda at: b"data: {%d\n\n" % at),
    "one line": (b"", lambda _: b"x" * CHUNK),
}
CLIENTS = [OPENAI_CHAT, ANTHROPIC, RESPONSES]


def frames_of(name: str) -> Iterator[bytes]:
    head, make = UNENDING[name]
    yield ROLE + head
    length, at = 0, 0
    most = SIZE // 32 if "blanks" in name else SIZE
    while length < most and at < 2_000:
        frame = make(at)
        length, at = length + len(frame), at + 1
        yield frame


def rewriter(client: Dialect) -> Rewriter:
    expected = Expected(
        thoughts=ExpectedThoughts(task="t", context="c"), calls=ExpectedCalls(read=TOOLS)
    )
    own = RESPONSES.requests.read({"model": "m", "input": "i"}, RequestContext()).own
    context = ReplyContext("m", "id", own=own if client is RESPONSES else None)
    form = Form.STREAM
    return rewriter_of(settings.read(), client, form, form, context=context, expected=expected)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "client"), list(product(UNENDING, CLIENTS)), ids=str)
def test_a_reply_without_end_holds_little(name: str, client: Dialect) -> None:
    through = rewriter(client)
    tracemalloc.start()
    try:
        for frame in frames_of(name):
            assert all(through.feed(frame))
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    more = client is RESPONSES or name in ("one line", "ever new choices")
    limit = (5 if more else 1) * HELD
    assert held < limit, f"{held / 1e6:.0f} MB are held"
    through.close()
    assert "fault of the addon" not in through.failure + "".join(through.notes)


TOO_MUCH = [
    "arguments that are no object",
    "text while a call is open",
    "calls without a name",
    "ever new calls",
]


@pytest.mark.parametrize("client", [ANTHROPIC, RESPONSES], ids=str)
@pytest.mark.parametrize("name", TOO_MUCH)
def test_beyond_a_limit_the_client_gets_an_error_with_its_text(name: str, client: Dialect) -> None:
    through = rewriter(client)
    out = b"".join(piece for frame in frames_of(name) for piece in through.feed(frame))
    assert "is not read on" in through.failure
    assert b"is not read on" in out
    assert through.close() == []


def test_the_error_says_how_much_was_too_much() -> None:
    text = "the server's reply is not read on: tool calls of more than 1,000 calls"
    assert str(TooMuchError(MOST_CALLS)) == text


def test_no_two_bounds_are_of_the_same() -> None:
    assert len({bound.what for bound in TABLE}) == len(TABLE) > 15
    assert all(bound.beyond for bound in TABLE)
