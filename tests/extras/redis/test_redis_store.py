"""A real server that dies, hangs, is full or wants a password."""

import gc
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import redis

from converter.addon.exchange import settings
from converter.addon.memory import store_waits
from converter.addon.memory.store_waits import StoreElsewhere
from converter.addon.memory.stores import open_store
from converter.core.model.memory import AwayError, Bounds, Memory
from converter.extras.redis.redis_store import UNREADABLE, RedisStore
from tests.support.harness import free_ports
from tests.support.private_authority import private_authority
from tests.support.redis_server import RedisServer

pytestmark = pytest.mark.slow

BOUNDS = Bounds(10_000, 1 << 24)


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with RedisServer() as started:
        yield started


@pytest.fixture
def memory(server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.setattr(store_waits, "REST", 0.0)
    server.empty(BOUNDS).close()
    store = StoreElsewhere(RedisStore(server.address, BOUNDS, 0.2))
    memory = Memory(store=store)
    store.keep("begun", b"0", "", ["talk"], "")
    yield memory
    store.store.close()


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
    client = redis.Redis.from_url(server.address)
    client.config_set("maxmemory", "1")
    with pytest.raises(AwayError, match="maxmemory"):
        memory.store.keep("a", b"1", "", [], "talk")
    client.config_set("maxmemory", "0")
    assert (memory.find("talk"), memory.history("begun")) == ("begun", [b"0"])
    client.close()


ODD: list[tuple[str, tuple[Any, ...]]] = [
    *(
        (key, command)
        for key in ("eb", "ntalk", "uses", "sizes", "size")
        for command in (("SET", "words"), ("HSET", "a", "b"), ("RPUSH", "a"), ("ZADD", "1", "a"))
    ),
    *(("sizes", ("HSET", "b", text)) for text in ("words", "1.5", "9" * 30)),
    *(("eb", ("HSET", "names", packed)) for packed in (b"\xc0", b"\x91\x05", b"words")),
    *(("eb", ("HDEL", field)) for field in ("value", "previous", "names")),
    ("uses", ("ZADD", "inf", "b")),
    ("ntalk", ("SET", b"\xff")),
]


@pytest.mark.parametrize(("key", "command"), ODD)
def test_an_entry_of_another_type_is_reported_and_dropped(
    memory: Memory, server: RedisServer, key: str, command: tuple[Any, ...]
) -> None:
    """Whoever else writes to the server; the bounds hold again when some more has been kept."""
    store = memory.store
    store.keep("b", b"2", "begun", ["name"], "talk")
    with redis.Redis.from_url(server.address) as client:
        name = f"{{think}}:{key}"
        if not command[0].startswith({"eb": "H", "sizes": "H", "uses": "Z"}.get(key, "-")):
            client.delete(name)
        client.execute_command(command[0], name, *command[1:])
        key_read, history = memory.find("talk"), memory.history("b")
        assert key_read in ("b", "words", "")
        assert history in ([b"0", b"2"], None)
        assert memory.get("begun") == b"0"
        for number in range(9):
            store.keep(f"c{number}", b"3", "begun", ["other"], "")
        assert memory.history(memory.find("other")) == [b"0", b"3"]
        assert memory.size <= 40
        assert client.zcard("{think}:uses") <= 11


def test_an_entry_that_the_server_has_dropped_is_gone_with_all_that_follows(
    memory: Memory, server: RedisServer
) -> None:
    memory.store.keep("a", b"1", "", [], "talk")
    client = redis.Redis.from_url(server.address)
    client.delete("{think}:ebegun")
    assert (memory.history("a"), memory.get("a")) == (None, b"1")
    memory.store.keep("begun", b"2", "", [], "")
    assert memory.size == 6
    assert BOUNDS.seconds <= client.ttl("{think}:ea") <= BOUNDS.seconds + 3600
    client.close()


def test_a_script_that_the_server_lacks_costs_no_connection(server: RedisServer) -> None:
    with (
        closing(server.empty(BOUNDS)) as store,
        closing(redis.Redis.from_url(server.address)) as client,
    ):
        store.find("a")
        client.script_flush()
        came = client.info("stats")["total_connections_received"]
        store.keep("a", b"1", "", ["name"])
        assert store.find("name") == "a"
        assert client.info("stats")["total_connections_received"] == came


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


def test_tls_lets_in_who_trusts_its_authority(tmp_path: Path) -> None:
    authority = private_authority(tmp_path)
    with RedisServer("--requirepass", "right", tls=authority) as server:
        address = server.address.replace("//", "//:right@")
        store = RedisStore(address, BOUNDS)
        store.keep("a", b"1", "", ["name"])
        assert (store.find("name"), store.history("a")) == ("a", [b"1"])
        store.close()
        for other, message in (
            (address.partition("?")[0], "CERTIFICATE_VERIFY_FAILED"),
            (address.replace("right", "wrong"), "Authentication"),
            (address.replace("rediss:", "redis:").partition("?")[0], "ConnectionError"),
        ):
            store = RedisStore(other, BOUNDS)
            with pytest.raises(AwayError, match=message):
                StoreElsewhere(store).find("name")
            store.close()


def reports(message: str, ask: Callable[..., object], *question: object) -> None:
    """Ask until the answer has these words; servers have no other way to tell that they agree."""
    answer: object = None
    for _ in range(6000):
        try:
            if message in str(answer := ask(*question)):
                return
        except redis.RedisError as error:
            answer = error
        time.sleep(0.01)
    raise AssertionError(f"expected {message!r}, got {answer}")


def test_sentinels_tell_of_another_server_when_one_has_gone(tmp_path: Path) -> None:
    """All with TLS; the first sentinel of the address is not there."""
    authority = private_authority(tmp_path)
    with ExitStack() as stack:
        first = stack.enter_context(RedisServer("--repl-diskless-sync-delay", "0", tls=authority))
        replica = ("--replicaof", "127.0.0.1", str(first.port))
        second = stack.enter_context(RedisServer(*replica, tls=authority))
        sentinel = stack.enter_context(RedisServer("--sentinel", tls=authority))
        behind, sentinel_sees = tuple[Any, ...](
            stack.enter_context(redis.Redis.from_url(server.address.replace("/0", "")))
            for server in (second, sentinel)
        )
        reports("'master_link_status': 'up'", behind.execute_command, "INFO", "replication")
        watch = partial(sentinel_sees.execute_command, "SENTINEL")
        watch("MONITOR", "main", "127.0.0.1", first.port, 1)
        reports(str(second.port), watch, "REPLICAS", "main")
        address = f"127.0.0.1:1,127.0.0.1:{sentinel.port}/main?ssl_ca_certs={authority.file}"
        store = stack.enter_context(closing(RedisStore(f"rediss+sentinel://{address}", BOUNDS)))
        reports("", store.find, "name")
        reports("None", store.keep, "a", b"1", "", ["name"])
        reports("1", behind.exists, "{think}:nname")
        watch("SET", "main", "down-after-milliseconds", 100, "failover-timeout", 1000)
        first.kill()
        reports("a", store.find, "name")
        reports("[b'1']", store.history, "a")  # a replica that is promoted ends its connections
        store.keep("b", b"2", "a", [])
        assert store.history("b") == [b"1", b"2"]


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # redis 8.1 leaves a socket open
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_cluster_of_three_keeps_all_on_one_node() -> None:
    """Nobody is where the address has its first node."""
    with ExitStack() as stack:
        ports = free_ports(3)
        options = [("--cluster-enabled", "yes", "--cluster-port", str(port)) for port in ports]
        nodes = [stack.enter_context(RedisServer(*each)) for each in options]
        clients = [stack.enter_context(redis.Redis.from_url(node.address)) for node in nodes]
        for client, slots in zip(clients, [(0, 5460), (5461, 10922), (10923, 16383)], strict=True):
            client.execute_command("CLUSTER", "ADDSLOTSRANGE", *slots)
        for node, port in zip(nodes[1:], ports[1:], strict=True):
            clients[0].execute_command("CLUSTER", "MEET", "127.0.0.1", node.port, port)
        for client in clients:
            reports("cluster_state:ok", client.execute_command, "CLUSTER", "INFO")
        addresses = f"127.0.0.1:1,127.0.0.1:{nodes[0].port}"
        store = stack.enter_context(closing(RedisStore(f"redis+cluster://{addresses}", BOUNDS)))
        store.keep("a", b"1", "", ["talk"])
        assert (store.history("a"), store.find("talk"), store.size) == ([b"1"], "a", 5)
        assert sorted(client.dbsize() > 0 for client in clients) == [False, False, True]
        assert store.forget("a") is True
        del store
    gc.collect()


@pytest.mark.parametrize("arrangement", ["", "+sentinel", "+cluster"])
def test_no_server_is_contacted_before_the_first_use(arrangement: str) -> None:
    address = f"redis{arrangement}://127.0.0.1:1/main"
    store = open_store(settings.read({"memory": address, "memory_days": 3}))
    assert store.bounds.seconds == 3 * 24 * 60 * 60
    with pytest.raises(AwayError, match=r"onnect|No master found"):
        store.find("a")
    store.close()


@pytest.mark.parametrize("address", [":pass/word@localhost:6379/0", "localhost:x", ""])
@pytest.mark.parametrize("arrangement", ["", "+sentinel", "+cluster"])
def test_an_unreadable_address_is_an_error_at_the_start(arrangement: str, address: str) -> None:
    with pytest.raises(ValueError, match=f"^{UNREADABLE}$"):
        open_store(settings.read({"memory": f"redis{arrangement}://{address}"}))


def test_a_missing_package_is_an_error_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis", None)
    monkeypatch.delitem(sys.modules, RedisStore.__module__)
    with pytest.raises(ValueError, match=r"^think_memory: expected redis .*'think-addon\[redis\]'"):
        open_store(settings.read({"memory": "redis://localhost"}))
