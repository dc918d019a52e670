"""A store that is away, or slow: who asks it hears so in time, and the loop never waits."""

import asyncio
import threading
from concurrent.futures import Future
from functools import partial

import pytest

from converter.addon.memory import store_waits
from converter.addon.memory.store_waits import PendingPieces, StoreElsewhere, wait_for_writes
from converter.core.model.memory import AwayError, Bounds, Memory, ProcessStore


class Troubled(ProcessStore):
    """A store that fails, or answers when it may."""

    def __init__(self) -> None:
        super().__init__(Bounds(9, 1000))
        self.fails = False
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.lookups = 0

    def find(self, name: str) -> str:
        self.lookups += 1
        assert self.may_answer.wait(30)
        if self.fails:
            raise OSError("the disk is gone")
        return super().find(name)


@pytest.fixture
def troubled() -> Troubled:
    return Troubled()


@pytest.fixture
def memory(troubled: Troubled) -> Memory:
    return Memory(store=StoreElsewhere(troubled))


def test_what_was_written_is_there_when_nobody_waits_any_more(memory: Memory) -> None:
    async def keep() -> None:
        memory.keep("a", b"1", names=["name"])
        assert await wait_for_writes(memory) is None
        assert memory.writes == []

    asyncio.run(keep())
    assert (memory.get("a"), memory.find("name"), memory.history("a")) == (b"1", "a", [b"1"])
    assert (memory.size, memory.forget("a")) == (5, True)


def test_a_store_that_fails_rests_and_comes_back_by_itself(
    memory: Memory,
    troubled: Troubled,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    troubled.fails = True
    with pytest.raises(AwayError, match="the disk is gone"):
        memory.find("a")
    with pytest.raises(AwayError, match="a moment ago"):
        memory.find("a")
    assert troubled.lookups == 1
    monkeypatch.setattr("time.monotonic", lambda: 1e12)
    troubled.fails = False
    assert memory.find("a") == ""
    assert [record.message for record in caplog.records] == [
        "think: the memory is away (reported once): OSError: the disk is gone",
        "think: the memory is back",
    ]


def test_who_asks_a_silent_store_waits_no_longer_than_patience(
    memory: Memory, troubled: Troubled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_waits, "PATIENCE", 0.01)
    troubled.may_answer.clear()

    async def ask() -> None:
        with pytest.raises(AwayError, match="no answer within"):
            await store_waits.run_with_memory(memory, 0, partial(memory.find, "a"))
        memory.keep("a", b"1")
        assert isinstance(await wait_for_writes(memory), AwayError)

    asyncio.run(ask())
    troubled.may_answer.set()


def test_an_exchange_has_one_limit_for_all_its_waits(
    memory: Memory, troubled: Troubled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_waits, "PATIENCE", 30.0)
    troubled.may_answer.clear()

    async def ask_twice_and_write() -> None:
        memory.waited = 29.9
        for name in ("a", "b"):
            with pytest.raises(AwayError, match="no answer within"):
                await store_waits.run_with_memory(memory, 0, partial(memory.find, name))
        memory.keep("a", b"1", names=["name"])
        assert isinstance(await wait_for_writes(memory), AwayError)

    asyncio.run(asyncio.wait_for(ask_twice_and_write(), 20))
    assert memory.waited >= 30
    troubled.may_answer.set()


def test_a_reply_that_cannot_be_kept_is_reported(
    memory: Memory, troubled: Troubled, caplog: pytest.LogCaptureFixture
) -> None:
    troubled.fails = True
    memory.keep("a", b"1", names=["name"])
    assert isinstance(asyncio.run(wait_for_writes(memory)), AwayError)
    assert "the disk is gone" in caplog.text


def test_work_in_this_process_needs_no_thread() -> None:
    work = threading.current_thread
    store = ProcessStore(Bounds(9, 1000))
    assert (
        asyncio.run(store_waits.run_with_memory(Memory(store=store), 0, work))
        is threading.current_thread()
    )


def test_pieces_wait_until_a_reply_is_kept_elsewhere(memory: Memory) -> None:
    unsaid = PendingPieces(memory)
    assert unsaid.take_due([b"a"], b"chunk") == [b"a"]
    write = Future[object]()
    memory.writes.append(write)
    assert unsaid.take_due([b"b"], b"chunk") == unsaid.take_due([], b"chunk") == []
    assert unsaid.take_due([b"c"], b"") == [b"b", b"c"]
    write.set_result(None)
    asyncio.run(unsaid.wait_for_writes())
    assert memory.writes == []


def test_no_pieces_wait_for_a_memory_of_this_process() -> None:
    here = Memory(store=ProcessStore(Bounds(9, 1000)))
    here.writes.append(Future[object]())
    unsaid = PendingPieces(here)
    assert (unsaid.may_wait, unsaid.take_due([b"a"], b"chunk")) == (False, [b"a"])
