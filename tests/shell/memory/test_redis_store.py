"""A real server that dies, hangs, is full or wants a password."""

import gc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from converter.exchange import settings
from converter.model.memory import AwayError, Bounds, Memory
from converter.shell.memory import remembering
from converter.shell.memory.redis_store import RedisStore, _connect
from converter.shell.memory.remembering import StoreElsewhere
from converter.shell.memory.stores import open_store
from tests.support.harness import free_ports
from tests.support.redis_server import RedisServer

pytestmark = pytest.mark.slow

BOUNDS = Bounds(10_000, 1 << 24)


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with RedisServer() as started:
        yield started


@pytest.fixture
def memory(server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.setattr(remembering, "REST", 0.0)
    server.empty(BOUNDS).close()
    store = StoreElsewhere(RedisStore(server.address, BOUNDS, 0.2))
    memory = Memory(store=store)
    store.keep("begun", b"0", "", ["talk"], "")
    yield memory
    store._store.close()


def test_two_clients_that_add_to_one_conversation_lose_nothing(
    memory: Memory, server: RedisServer
) -> None:
    def add(name: str) -> None:
        store = RedisStore(server.address, BOUNDS)
        for number in range(100):
            store.keep(f"{name}{number}", b"x", "begun", [], "talk")
        store.close()

    with ThreadPoolExecutor(4) as adding:
        list(adding.map(add, "abcd"))
    history = memory.history(memory.find("talk"))
    assert history is not None
    assert len(history) == 401


def test_what_was_kept_is_there_after_the_server_was_killed(
    memory: Memory, server: RedisServer
) -> None:
    server.kill()
    with pytest.raises(AwayError):
        memory.history("begun")
    server.start()
    assert memory.history(memory.find("talk")) == [b"0"]


def test_a_server_that_is_paused_is_not_waited_for_long(
    memory: Memory, server: RedisServer
) -> None:
    with server.paused(), pytest.raises(AwayError, match="Timeout"):
        memory.history("begun")
    assert memory.history("begun") == [b"0"]


def test_a_full_server_keeps_all_or_nothing(memory: Memory, server: RedisServer) -> None:
    client = _connect(server.address, 1)
    client.config_set("maxmemory", "1")
    with pytest.raises(AwayError, match="maxmemory"):
        memory.store.keep("a", b"1", "", [], "talk")
    client.config_set("maxmemory", "0")
    assert (memory.find("talk"), memory.history("begun")) == ("begun", [b"0"])
    client.close()


def test_an_entry_that_the_server_has_dropped_is_gone_with_all_that_follows(
    memory: Memory, server: RedisServer
) -> None:
    memory.store.keep("a", b"1", "", [], "talk")
    client = _connect(server.address, 1)
    client.delete("{think}:ebegun")
    assert (memory.history("a"), memory.get("a")) == (None, b"1")
    memory.store.keep("begun", b"2", "", [], "")
    assert (memory.size, len(memory)) == (6, 2)
    assert 0 < client.ttl("{think}:ea") <= BOUNDS.seconds
    client.close()


@pytest.mark.parametrize("password", ["", "wrong", "right"])
def test_a_password_lets_in(password: str) -> None:
    with RedisServer("--requirepass", "right") as server:
        address = server.address.replace("//", f"//:{password}@") if password else server.address
        store = RedisStore(address, BOUNDS)
        if password == "right":
            assert store.find("a") == ""
        else:
            with pytest.raises(AwayError, match="Authentication"):
                StoreElsewhere(store).find("a")
        store.close()


def test_a_sentinel_tells_where_the_server_is(server: RedisServer) -> None:
    port = str(server.port)
    with RedisServer("--sentinel", "--sentinel", "monitor", "main", "127.0.0.1", port, "1") as told:
        address = f"redis+sentinel://127.0.0.1:{told.port}/main"
        store = open_store(settings.read({"memory": address}))
        assert Memory(store=store).find("nobody") == ""
        store.close()


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # redis 8.1 leaves a socket open
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_cluster_keeps_all_on_one_node() -> None:
    bus = str(free_ports(1)[0])
    with RedisServer("--cluster-enabled", "yes", "--cluster-port", bus) as server:
        client = _connect(server.address, 1)
        client.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
        while "cluster_state:ok" not in str(client.execute_command("CLUSTER", "INFO")):
            pass
        client.close()
        store = RedisStore(server.address.replace("redis:", "redis+cluster:"), BOUNDS)
        store.keep("a", b"1", "", ["talk"])
        assert (store.history("a"), store.find("talk"), store.forget("a")) == ([b"1"], "a", True)
        store.close()
        del store, client
        gc.collect()


def test_an_address_that_nobody_can_read_is_told_at_the_start() -> None:
    with pytest.raises(ValueError, match="Port could not be cast"):
        open_store(settings.read({"memory": "redis://localhost:x"}))
