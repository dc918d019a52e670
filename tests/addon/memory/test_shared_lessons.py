"""Lessons of one process about a server serve the others, whatever store keeps them."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Iterator

import pytest

from converter.addon.memory import shared_lessons
from converter.addon.memory.shared_lessons import OWNER, WAIT, SharedLessons
from converter.addon.memory.store_waits import StoreElsewhere
from converter.addon.servers.initial_state import initial_state
from converter.addon.servers.known_servers import AGE, KnownServers, Upstream, prompt_key
from converter.addon.servers.profiles import by_name
from converter.addon.servers.refusals import REFUSABLE
from converter.core.model.initial_state import InitialState
from converter.core.model.memory import Bounds, ProcessStore, Store
from tests.support.stores import KINDS, Opens

pytestmark = pytest.mark.slow

HERE = Upstream("http", "model.lan", 8000, "/gateway")
VLLM, LLAMA = by_name("vllm"), by_name("llama.cpp")
TEXT, THINKING = InitialState.TEXT, InitialState.THINKING
SMALL = {"model": "small"}
TOOL = {"function": {"name": "f", "parameters": {"properties": {"a": {"pattern": "x"}}}}}
PICTURE = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "a.png"}}]}
LEFT_OUT = frozenset({"pictures", "tool_choice"})
REQUEST = {**SMALL, "tools": [TOOL], "messages": [PICTURE]}


class Process:
    """One process: what it knows, and what it shares."""

    def __init__(self, store: Store | None) -> None:
        self.servers = KnownServers(time.time)
        self.lessons = SharedLessons(self.servers)
        self.lessons.use_store(store)

    async def tells(self, upstream: Upstream = HERE) -> None:
        self.lessons.write_store(upstream)
        await asyncio.gather(*self.lessons._writing.values())

    async def looks(self, upstream: Upstream = HERE) -> "Process":
        """Look, however long it takes on a busy machine."""
        await self.lessons.read_store(upstream, anew=True)
        await self.lessons._readings[upstream].task
        return self


@pytest.fixture(params=KINDS)
def opens(request: pytest.FixtureRequest) -> Iterator[Opens]:
    yield from KINDS[request.param]()


type Story = Callable[[Store], Awaitable[None]]


def run(opens: Opens, story: Story, count: int = 100, size: int = 100_000) -> Store:
    store = opens(count, size).store
    asyncio.run(story(store))  # type: ignore[arg-type]
    return store


def teach(servers: KnownServers) -> None:
    """All kinds of lessons."""
    servers.learn_server(HERE, VLLM)
    servers.learn_prompt_state(HERE, SMALL, THINKING)
    servers.learn_prompt_state(HERE, {"model": "untold"}, None)
    servers.learn_initial_state(HERE, {"model": "guessed"}, THINKING)
    servers.learn_thinking_model(HERE, {"model": "thinks"})
    servers.learn_refusal(HERE, REQUEST, frozenset({"pattern"}) | LEFT_OUT)


def learnt(servers: KnownServers) -> list[object]:
    """Lessons of each kind."""
    return [
        servers.server(HERE),
        initial_state(servers.facts(HERE, SMALL)),
        servers.has_prompt(prompt_key(HERE, {"model": "untold"})),
        initial_state(servers.facts(HERE, {"model": "guessed"})),
        servers.thinks(HERE, {"model": "thinks"}),
        "pattern" in str(servers.without_refused_traits(HERE, REQUEST, REFUSABLE)),
        "image_url" in str(servers.without_refused_traits(HERE, REQUEST, REFUSABLE)),
        "none" in str(servers.without_refused_traits(HERE, REQUEST, REFUSABLE)),
    ]


ALL = [VLLM, THINKING, True, THINKING, True, False, False, True]
NOTHING = [None, TEXT, False, TEXT, False, True, True, False]


def test_what_one_learns_the_others_know(opens: Opens) -> None:
    async def story(store: Store) -> None:
        one, other = Process(store), Process(store)
        assert learnt((await other.looks()).servers) == NOTHING
        teach(one.servers)
        await one.tells()
        assert learnt((await other.looks()).servers) == ALL

    run(opens, story)


def test_two_that_learn_different_lessons_share_both(opens: Opens) -> None:
    async def story(store: Store) -> None:
        one, other = Process(store), Process(store)
        one.servers.learn_server(HERE, VLLM)
        other.servers.learn_thinking_field(HERE, SMALL)
        await one.tells()
        await other.tells()
        third = await Process(store).looks()
        assert third.servers.server(HERE) is VLLM
        assert third.servers.sends_thinking_field(HERE, "small")

    run(opens, story)


def test_lessons_of_a_server_that_another_has_replaced_are_gone(opens: Opens) -> None:
    async def story(store: Store) -> None:
        one, other = Process(store), Process(store)
        teach(one.servers)
        await one.tells()
        await other.looks()
        other.servers.learn_server(HERE, LLAMA)
        await other.tells()
        for process in (one, other, Process(store)):
            assert learnt((await process.looks()).servers) == [LLAMA, *NOTHING[1:]]

    run(opens, story)


def test_a_prompt_that_a_reply_contradicts_is_probed_by_all(opens: Opens) -> None:
    async def story(store: Store) -> None:
        one, other = Process(store), Process(store)
        one.servers.learn_prompt_state(HERE, SMALL, TEXT)
        await one.tells()
        await other.looks()
        other.servers.learn_initial_state(HERE, SMALL, THINKING)
        await other.tells()
        await one.looks()
        for process in (one, other):
            assert not process.servers.has_prompt(prompt_key(HERE, SMALL))
            assert initial_state(process.servers.facts(HERE, SMALL)) is THINKING

    run(opens, story)


def test_a_lesson_is_anothers_for_a_day_only(opens: Opens, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(store: Store) -> None:
        one = Process(store)
        teach(one.servers)
        await one.tells()
        now = time.time()
        monkeypatch.setattr(time, "time", lambda: now + AGE + 1)
        assert learnt((await Process(store).looks()).servers) == NOTHING

    run(opens, story)


@pytest.mark.parametrize("written", [b"", b"\xff", b"[1]", b'{"server": ["now", "vllm"]}'])
def test_what_nobody_can_read_is_ignored_and_replaced(opens: Opens, written: bytes) -> None:
    async def story(store: Store) -> None:
        one = Process(store)
        store.keep(shared_lessons._entry_key(HERE), written, "", [], "")
        assert learnt((await one.looks()).servers) == NOTHING
        teach(one.servers)
        await one.tells()
        assert learnt((await Process(store).looks()).servers) == ALL

    run(opens, story)


def test_another_version_of_the_program_has_lessons_of_its_own(
    opens: Opens, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(store: Store) -> None:
        one = Process(store)
        teach(one.servers)
        await one.tells()
        monkeypatch.setattr(shared_lessons, "_code_digest", lambda: "another")
        assert learnt((await Process(store).looks()).servers) == NOTHING

    run(opens, story)


@pytest.mark.parametrize(
    ("host", "shared"),
    [
        *dict.fromkeys(("model.lan", "10.0.0.7", "fd00::7"), True).items(),
        *dict.fromkeys(("localhost", "LOCALHOST", "127.0.0.1", "::1", "0.0.0.0"), False).items(),
        ("host.docker.internal", False),
    ],
)
def test_an_address_of_each_machine_itself_means_another_server_on_another(
    host: str, shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream = HERE._replace(host=host)
    keys = {shared_lessons._entry_key(upstream)}
    monkeypatch.setattr("socket.gethostname", lambda: "another")
    keys.add(shared_lessons._entry_key(upstream))
    assert (len(keys) == 1) is shared


def test_the_store_holds_one_entry_that_names_no_server(opens: Opens) -> None:
    async def story(store: Store) -> None:
        one = Process(store)
        teach(one.servers)
        await one.tells()
        one.servers.learn_thinking_field(HERE, SMALL)
        await one.tells()

    store = run(opens, story)
    key = shared_lessons._entry_key(HERE)
    assert key.startswith(f"{OWNER} ")
    kept = (store.get(key) or b"").decode()
    assert store.size == len(kept)
    assert not [word for word in ("lan", ":8000", "gateway", "small") if word in key + kept]


def test_lessons_stay_within_the_bounds_of_the_store(opens: Opens) -> None:
    async def story(store: Store) -> None:
        one = Process(store)
        for number in range(4):
            upstream = HERE._replace(port=number)
            one.servers.learn_server(upstream, VLLM)
            await one.tells(upstream)
        rows = [await Process(store).looks(HERE._replace(port=port)) for port in range(4)]
        servers = [each.servers.server(HERE._replace(port=port)) for port, each in enumerate(rows)]
        assert servers == [None, None, VLLM, VLLM]

    run(opens, story, count=2)


def test_no_lesson_is_written_twice(opens: Opens) -> None:
    async def story(store: Store) -> None:
        one = Process(store)
        teach(one.servers)
        await one.tells()
        store.forget(shared_lessons._entry_key(HERE))
        one.servers.learn_thinking_model(HERE, {"model": "thinks"})
        await one.tells()
        assert store.size == 0

    run(opens, story)


class Troubled(ProcessStore):
    """A store that fails, or answers when it may."""

    def __init__(self) -> None:
        super().__init__(Bounds(9, 10_000))
        self.fails = False
        self.lookups = 0
        self.may_answer = threading.Event()
        self.may_answer.set()

    def values(self, key: str, *, one: bool = False) -> list[bytes] | None:
        self.lookups += 1
        assert self.may_answer.wait(30)
        if self.fails:
            raise OSError("the disk is gone")
        return super().values(key, one=one)


def test_a_silent_store_is_waited_for_once_and_not_long(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float | None] = []
    store, wait = Troubled(), asyncio.wait

    def noted(tasks: set[asyncio.Task[None]], timeout: float) -> object:
        waits.append(timeout)
        return wait(tasks, timeout=0)

    monkeypatch.setattr(asyncio, "wait", noted)
    monkeypatch.setattr(shared_lessons, "WAIT", 30.0)
    monkeypatch.setattr(shared_lessons, "AGAIN", 0.0)

    async def story() -> None:
        one = Process(StoreElsewhere(store))
        store.may_answer.clear()
        await one.lessons.read_store(HERE)
        monkeypatch.setattr(shared_lessons, "WAIT", 0.0)
        store.may_answer.set()
        await one.lessons._readings[HERE].task
        store.may_answer.clear()
        for _ in range(5):
            await one.lessons.read_store(HERE)
        store.may_answer.set()
        await one.lessons._readings[HERE].task

    asyncio.run(story())
    assert waits == [pytest.approx(30.0)]  # the rest of it, by the clock
    assert store.lookups == 2
    assert WAIT < 1


def test_a_lesson_that_could_not_be_written_is_written_with_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("converter.addon.memory.store_waits.REST", 0.0)
    store = Troubled()

    async def story() -> None:
        one = Process(StoreElsewhere(store))
        store.fails = True
        teach(one.servers)
        await one.tells()
        assert learnt((await Process(StoreElsewhere(store)).looks()).servers) == NOTHING
        store.fails = False
        await one.tells()
        assert learnt((await Process(StoreElsewhere(store)).looks()).servers) == ALL

    asyncio.run(story())


def test_without_a_store_nothing_is_shared() -> None:
    async def story() -> None:
        one = Process(None)
        teach(one.servers)
        await one.lessons.read_store(HERE)
        one.lessons.write_store(HERE)
        assert (one.lessons._readings, one.lessons._writing) == ({}, {})

    asyncio.run(story())


def test_others_lessons_are_looked_at_again_after_some_time(
    opens: Opens, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(store: Store) -> None:
        one, other = await Process(store).looks(), Process(store)
        teach(other.servers)
        await other.tells()
        await one.lessons.read_store(HERE)
        assert learnt(one.servers) == NOTHING
        monkeypatch.setattr(shared_lessons, "AGAIN", 0.0)
        await one.lessons.read_store(HERE)
        await one.lessons._readings[HERE].task
        assert learnt(one.servers) == ALL

    run(opens, story)
