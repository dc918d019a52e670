"""A store with a server that speaks Redis' protocol (Redis, Valkey), for many machines.

Each operation is one script, so that two processes never see half of one another's work. All keys
share one hash tag: a cluster keeps them on one node, because the bounds hold for all together.
An entry that has aged goes with the next question; the server drops it within an hour where nobody
asks, since to have it do so to the second would take a command a name for each use.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from converter.core.model.memory import Bounds, Store, raw

MISSING = (
    "expected the package redis beside mitmproxy: pip install redis, "
    "or pipx inject think-addon redis"
)
UNREADABLE = (
    "expected an address like redis://USER:PASSWORD@HOST:6379/0 in think_memory, got one that "
    "cannot be read: a password's special characters are written as in %2F"
)
PORT = 6379
_PREFIX = "{think}:"
_HEAD = """
local p, uses = KEYS[1], KEYS[1] .. 'uses'
local function drop(key)
  local size = redis.call('HGET', p .. 'sizes', key)
  if not size then return 0 end
  redis.call('DECRBY', p .. 'size', size)
  redis.call('HDEL', p .. 'sizes', key)
  redis.call('ZREM', uses, key)
  local names = redis.call('HGET', p .. 'e' .. key, 'names')
  for _, name in ipairs(names and cmsgpack.unpack(names) or {}) do
    if redis.call('GET', p .. 'n' .. name) == key then redis.call('DEL', p .. 'n' .. name) end
  end
  return redis.call('DEL', p .. 'e' .. key)
end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local last = tonumber(redis.call('ZRANGE', uses, -1, -1, 'WITHSCORES')[2] or 0)
local function drop_old(seconds)
  local oldest = string.format('%.0f', now - seconds * 1000000)
  for _, key in ipairs(redis.call('ZRANGEBYSCORE', uses, '-inf', oldest, 'LIMIT', 0, 100)) do
    drop(key)
  end
end
local function use(key, seconds, names)
  last = math.max(now, last + 1)
  redis.call('ZADD', uses, string.format('%.0f', last), key)
  if redis.call('TTL', p .. 'e' .. key) >= seconds then return end
  local later = math.ceil(seconds + math.min(seconds / 10, 3600))
  redis.call('EXPIRE', p .. 'e' .. key, later)
  for _, name in ipairs(cmsgpack.unpack(names)) do
    redis.call('EXPIRE', p .. 'n' .. name, later)
  end
end
"""
_KEEP = """
local key, value, previous, line = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local most, limit, seconds = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
drop_old(seconds)
drop(key)
local names, size = {}, #value
local function name_it(name)
  table.insert(names, name)
  size = size + #name
end
for at = 8, #ARGV do
  if redis.call('EXISTS', p .. 'n' .. ARGV[at]) == 0 then name_it(ARGV[at]) end
end
local newest = line ~= '' and redis.call('GET', p .. 'n' .. line)
if newest then
  name_it(line)
  previous = newest
end
if size > limit or most < 1 then return end
local packed = cmsgpack.pack(names)
redis.call('HSET', p .. 'e' .. key, 'value', value, 'previous', previous, 'names', packed)
for _, name in ipairs(names) do redis.call('SET', p .. 'n' .. name, key) end
redis.call('HSET', p .. 'sizes', key, size)
redis.call('INCRBY', p .. 'size', size)
use(key, seconds, packed)
while redis.call('ZCARD', uses) > most or tonumber(redis.call('GET', p .. 'size')) > limit do
  drop(redis.call('ZRANGE', uses, 0, 0)[1])
end
"""
_READ = """
local key, seconds, values, seen = ARGV[1], tonumber(ARGV[2]), {}, {}
drop_old(seconds)
repeat
  local found = redis.call('HMGET', p .. 'e' .. key, 'value', 'previous', 'names')
  if not found[1] or seen[key] then return false end
  seen[key] = true
  table.insert(values, found[1])
  use(key, seconds, found[3])
  key = found[2]
until key == '' or ARGV[3] == 'one'
return values
"""
_FORGET = "return drop(ARGV[1])"


class RedisStore(Store):
    """Entries with the server at `address`. `patience`: seconds for a connection, and for an
    answer.
    """

    elsewhere = True

    def __init__(self, address: str, bounds: Bounds, patience: float = 1.0) -> None:
        self.bounds = bounds
        self._connect = _connector(address, patience)
        self._connected: Any = None

    @property
    def _client(self) -> Any:
        """The package's client, made when there is something to ask: a cluster's asks at once."""
        self._connected = self._connected or self._connect()
        return self._connected

    @property
    def size(self) -> int:
        """Return the bytes that are kept."""
        return int(self._client.get(f"{_PREFIX}size") or 0)

    def keep(
        self, key: str, value: bytes, previous: str, names: Iterable[str], line: str = ""
    ) -> None:
        """Keep an entry; see `Memory.keep`."""
        bounds = (max(self.bounds.count, 0), self.bounds.size, int(self.bounds.seconds))
        entry = (raw(key), value, raw(previous), raw(line))
        self._run(_KEEP, *entry, *bounds, *map(raw, names))

    def forget(self, key: str) -> bool:
        """Drop an entry; tell whether there was one."""
        return bool(self._run(_FORGET, raw(key)))

    def find(self, name: str) -> str:
        """Return the id of the entry of this name; empty when there is none."""
        value: bytes = self._client.get(f"{_PREFIX}n".encode() + raw(name)) or b""
        return value.decode("utf-8", "surrogatepass")

    def values(self, key: str, *, one: bool = False) -> list[bytes] | None:
        """Return the values from this entry back; see `Store.values`."""
        entry = (raw(key), int(self.bounds.seconds), "one" if one else "all")
        values: list[bytes] | None = self._run(_READ, *entry)
        return values

    def close(self) -> None:
        """Close the connections."""
        if self._connected is not None:
            self._connected.close()

    def _run(self, script: str, *arguments: object) -> Any:
        return self._client.eval(_HEAD + script, 1, _PREFIX, *arguments)


def _connector(address: str, patience: float) -> Callable[[], Any]:
    """Return what makes the package's client. Raises ValueError."""
    try:
        import redis  # noqa: PLC0415 (an extra)
        from redis.backoff import NoBackoff  # noqa: PLC0415
        from redis.retry import Retry  # noqa: PLC0415
    except ImportError:
        raise ValueError(MISSING) from None
    waits = {"socket_timeout": patience, "socket_connect_timeout": patience}
    chosen: dict[str, Any] = {**waits, "retry": Retry(NoBackoff(), 0)}
    try:
        way, hosts, options = _read(address)
    except ValueError:  # whose words may hold a part of a password
        raise ValueError(UNREADABLE) from None
    if way == "cluster":
        return partial(_cluster, hosts, {**options, **chosen})
    if way == "sentinel":
        name = urlsplit(address).path.strip("/")
        return partial(_master, hosts, name, {**options, **chosen})
    return partial(redis.Redis.from_url, address, **chosen)


def _read(address: str) -> tuple[str, list[tuple[str, int]], dict[str, Any]]:
    """Return the way to the server, the hosts, and what an address says besides."""
    from redis import connection  # noqa: PLC0415

    parse_url: Any = connection.parse_url  # which has no types
    parts = urlsplit(address)
    kind, _, way = parts.scheme.partition("+")
    login, _, addresses = parts.netloc.rpartition("@")
    read = [parse_url(f"{kind}://{each}") for each in addresses.split(",")]
    hosts = [(each["host"], each.get("port", PORT)) for each in read if "host" in each]
    if not hosts:
        raise ValueError
    options = parse_url(f"{kind}://{login}@?{parts.query}")
    options["ssl"] = options.pop("connection_class", None) is not None
    return way, hosts, options


def _cluster(hosts: list[tuple[str, int]], options: dict[str, Any]) -> Any:
    from redis import cluster  # noqa: PLC0415

    node: Any = cluster.ClusterNode  # which has no types
    return cluster.RedisCluster(startup_nodes=[node(*host) for host in hosts], **options)


def _master(hosts: list[tuple[str, int]], name: str, options: dict[str, Any]) -> Any:
    """Return the client of the server that sentinels know by this name; the login is the server's
    alone.
    """
    from redis import sentinel  # noqa: PLC0415

    make: Any = sentinel.Sentinel  # which has no types
    theirs = {key: options[key] for key in options.keys() - {"username", "password"}}
    return make(hosts, sentinel_kwargs=theirs, **options).master_for(name)
