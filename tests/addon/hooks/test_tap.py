"""The tap lets every chunk through, whatever goes wrong beside it."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from mitmproxy.http import Headers, Request
from mitmproxy.test.tflow import tflow

from converter.addon.exchange import settings
from converter.addon.exchange.exchange import Exchange
from converter.addon.exchange.rewriting import rewriter_of
from converter.addon.hooks.tap import LONG, Tap
from converter.addon.keep.both_sides import BothSides
from converter.addon.keep.flow_record import FlowRecord
from converter.addon.memory.store_waits import StoreElsewhere
from converter.addon.probes.upstream_client import UpstreamClient
from converter.core.dialects.table import ANTHROPIC, OPENAI_CHAT, Dialect, Form, by_name
from converter.core.model.memory import Bounds, Memory, ProcessStore
from tests.support import endpoints
from tests.support.addon_flows import EVENT_STREAM, response, streaming
from tests.support.clients import read_anthropic_stream
from tests.support.frames import END, ROLE, stream, text
from tests.support.kept_flows import watched


def tap(
    tell: Callable[[], None] = lambda: None,
    dialect: Dialect = OPENAI_CHAT,
    client_request: Request | None = None,
    memory: Memory | None = None,
) -> Tap:
    exchange = Exchange(endpoints.CHAT, settings.read(), client_dialect=dialect)
    sides = BothSides(Headers(), client_request=client_request)
    record = FlowRecord(tflow(), exchange, sides, {}, memory=memory)
    rewriter = rewriter_of(settings.read(), dialect, Form.STREAM)
    return Tap(rewriter, tell, record, _unable)


async def _unable(_reply_id: str) -> bool:
    return False


def test_what_goes_out_is_what_the_rewriter_says() -> None:
    through, rewriter = tap(), rewriter_of(settings.read(), OPENAI_CHAT, Form.STREAM)
    chunks = stream("<think>a</think>", "b")
    passed = [through(chunk) for chunk in [*chunks, b""]]
    pieces = [*(b"".join(rewriter.feed(chunk)) for chunk in chunks), b"".join(rewriter.close())]
    assert passed == [[piece] if piece else [] for piece in pieces]


def test_no_piece_is_empty_before_the_end() -> None:
    through = tap()
    assert all(
        piece
        for byte in b"".join(stream("<think>a</think>", "b"))
        for piece in through(bytes([byte]))
    )


def test_who_fails_to_listen_costs_no_chunk(caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> None:
        raise ValueError

    through, chunks = tap(broken), stream("b")
    assert b"".join(piece for chunk in chunks for piece in through(chunk)) == b"".join(chunks)
    assert "while a chunk was recorded" in caplog.text


def test_what_comes_in_one_read_goes_out_in_one_piece() -> None:
    assert len(tap()(b"".join(stream("<think>a</think>", "b")))) == 1


def test_a_reply_that_breaks_off_is_ended_with_the_explanation() -> None:
    through = tap(dialect=ANTHROPIC)
    through(b"".join(stream("<think>a")[:-3]))
    sent = b"".join(through.abort("boom"))
    assert b"event: error\n" in sent
    assert b"no reply from the model server at http://address:22: boom" in sent
    assert through.abort("again") == []


def test_a_reply_that_is_over_cannot_break_off() -> None:
    through = tap()
    through(stream("a")[0])
    assert through(b"")
    assert through.abort("boom") == []


def test_a_ping_may_stand_before_the_first_frame_and_not_after_the_last() -> None:
    through = tap()
    assert through.ping() == [b": ping\n"]
    through(b"")
    assert through.ping() == []


def test_a_long_frame_is_read_beside_the_loop_to_the_same_bytes() -> None:
    chunks = stream("<think>a</think>", "b" * (2 * LONG), "c")
    whole = b"".join(chunks)
    offsets = range(0, len(whole), LONG // 2)

    async def beside() -> tuple[bytes, int]:
        through, sent, long = tap(), b"", 0
        for chunk in [*(whole[at : at + LONG // 2] for at in offsets), b""]:
            long += through.is_long
            pieces = await through.call_in_thread(chunk) if through.is_long else through(chunk)
            sent += b"".join(pieces)
        return sent, long

    rewriter = rewriter_of(settings.read(), OPENAI_CHAT, Form.STREAM)
    sent, long = asyncio.run(beside())
    assert sent == b"".join([*rewriter.feed(whole), *rewriter.close()])
    assert long >= 2


def test_watchers_of_a_long_call_are_called_in_the_loop() -> None:
    threads: list[threading.Thread] = []
    through = tap(lambda: threads.append(threading.current_thread()))
    asyncio.run(through.call_in_thread(stream("b")[0]))
    assert threads == [threading.main_thread()]


@pytest.mark.parametrize(("dialect", "long"), [(OPENAI_CHAT, False), (by_name("responses"), True)])
def test_a_reply_that_tells_a_long_request_again_is_long(dialect: Dialect, long: bool) -> None:
    client_request = Request.make("POST", "http://x/", b" " * (64 * LONG))
    assert tap(dialect=dialect, client_request=client_request).is_long is long


def test_the_last_pieces_of_a_reply_wait_until_it_is_kept() -> None:
    memory = Memory(store=StoreElsewhere(ProcessStore(Bounds(9, 1000))))
    may_write, through = threading.Event(), tap(memory=memory)
    first, *chunks = stream("b")
    assert through(first) == [first]
    with ThreadPoolExecutor(1) as writer:
        memory.writes.append(writer.submit(lambda: _wait_for(may_write)))
        _ends_with_its_writing(through, chunks, may_write)


def _ends_with_its_writing(through: Tap, chunks: list[bytes], may_write: threading.Event) -> None:
    assert [through(chunk) for chunk in chunks] == [[]] * len(chunks)
    assert through.is_long

    async def end() -> list[bytes]:
        ending = asyncio.ensure_future(through.call_in_thread(b""))
        await asyncio.sleep(0)
        assert not ending.done()
        may_write.set()
        return await ending

    assert b"".join(asyncio.run(end())) == b"".join(chunks)


def _wait_for(event: threading.Event) -> None:
    assert event.wait(30)


@pytest.mark.parametrize("ends", [True, False])
def test_a_server_ends_a_thought_in_its_reply_or_is_left(
    monkeypatch: pytest.MonkeyPatch, ends: bool
) -> None:
    """Of a server that is left, a long read comes in pieces, and the rest of it is not the second
    reply's.
    """

    async def end_thought(*_: object) -> bool:
        return ends

    monkeypatch.setattr(UpstreamClient, "end_thought", end_thought)
    rest = [*text("f</think>", "It is 5."), *END]

    async def replied(through: Tap) -> bytes:
        sent = through(b"".join([ROLE, *text("<think>ab", "cdef")]))
        assert through.is_long
        sent += await through.call_in_thread(b"".join(text("of the thought")))
        assert through.stopped is not ends
        if not ends:
            assert through(b"".join(text("of the thought"))) == []
            again = through.next_request(possible=True)
            assert again
            assert b"reasoning_control" not in (again.content or b"")
            rest[0] = ROLE
        sent += [*through(b"".join(rest)), *through(b"")]
        return b"".join(sent)

    with watched(server="llama.cpp", budget="enforce", budget_tokens="1") as there:
        flow = there.begin(streaming(), response(EVENT_STREAM))
        through = flow.response.stream if flow.response else None
        assert isinstance(through, Tap)
        sent = read_anthropic_stream(asyncio.run(replied(through)))
    assert (sent.text, sent.stop) == ("It is 5.", "end_turn")
    assert sent.thinking.startswith("abcd\n\n")
    assert "of the thought" not in sent.thinking
