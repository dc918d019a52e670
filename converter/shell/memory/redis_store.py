"""A store with a server that speaks Redis' protocol (Redis, Valkey), for many machines.

Each operation is one script, so that two processes never see half of one another's work. All keys
share one hash tag: a cluster keeps them on one node, because the bounds hold for all together.
"""

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from converter.model.memory import BoundedStore, Bounds

MISSING = "expected the package redis beside mitmproxy: pip install 'think-addon[redis]'"
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
local function now()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end
local function drop_old(seconds)
  local oldest = string.format('%.0f', now() - seconds * 1000000)
  for _, key in ipairs(redis.call('ZRANGEBYSCORE', uses, '-inf', oldest, 'LIMIT', 0, 100)) do
    drop(key)
  end
end
local function use(key, seconds, names)
  local last = redis.call('ZRANGE', uses, -1, -1, 'WITHSCORES')[2]
  redis.call('ZADD', uses, string.format('%.0f', math.max(now(), (last or 0) + 1)), key)
  redis.call('EXPIRE', p .. 'e' .. key, seconds)
  for _, name in ipairs(cmsgpack.unpack(names)) do
    redis.call('EXPIRE', p .. 'n' .. name, seconds)
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
local last = line ~= '' and redis.call('GET', p .. 'n' .. line)
if last then
  name_it(line)
  previous = last
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


class RedisStore(BoundedStore):
    """Entries with the server at `address`. `patience`: seconds for a connection, and for an
    answer.
    """

    elsewhere = True

    def __init__(self, address: str, bounds: Bounds, patience: float = 1.0) -> None:
        super().__init__(bounds)
        self._client = client = _connect(address, patience)
        scripts = (_KEEP, _READ, _FORGET)
        self._keep, self._read, self._forget = (
            client.register_script(_HEAD + script) for script in scripts
        )

    def __len__(self) -> int:
        return int(self._client.zcard(f"{_PREFIX}uses"))

    @property
    def size(self) -> int:
        """Return the bytes that are kept."""
        return int(self._client.get(f"{_PREFIX}size") or 0)

    def keep(
        self, key: str, value: bytes, previous: str, names: Iterable[str], line: str = ""
    ) -> None:
        """Keep an entry; see `Memory.keep`."""
        bounds = (max(self._bounds.count, 0), self.limit, int(self._bounds.seconds))
        entry = (_raw(key), value, _raw(previous), _raw(line))
        self._keep(keys=[_PREFIX], args=[*entry, *bounds, *map(_raw, names)])

    def forget(self, key: str) -> bool:
        """Drop an entry; tell whether there was one."""
        return bool(self._forget(keys=[_PREFIX], args=[_raw(key)]))

    def find(self, name: str) -> str:
        """Return the id of the entry of this name; empty when there is none."""
        value = self._client.get(f"{_PREFIX}n".encode() + _raw(name))
        return (value or b"").decode("utf-8", "surrogatepass")

    def get(self, key: str) -> bytes | None:
        """Return an entry's value."""
        values = self._values(key, "one")
        return values[0] if values else None

    def history(self, key: str) -> list[bytes] | None:
        """Return the values up to this entry, oldest first; None when one of them is gone."""
        values = self._values(key, "all")
        return None if values is None else values[::-1]

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _values(self, key: str, how_many: str) -> list[bytes] | None:
        args = [_raw(key), int(self._bounds.seconds), how_many]
        values: list[bytes] | None = self._read(keys=[_PREFIX], args=args)
        return values


def _connect(address: str, patience: float) -> Any:
    """Return the package's client; nobody is connected to before there is something to ask."""
    try:
        import redis  # noqa: PLC0415 (an extra)
        from redis.backoff import NoBackoff  # noqa: PLC0415
        from redis.cluster import RedisCluster  # noqa: PLC0415
        from redis.retry import Retry  # noqa: PLC0415
    except ImportError:
        raise ValueError(MISSING) from None
    waits = {"socket_timeout": patience, "socket_connect_timeout": patience}
    chosen: dict[str, Any] = {**waits, "retry": Retry(NoBackoff(), 0)}
    scheme, _, rest = address.partition("://")
    kind, _, way = scheme.partition("+")
    if way == "cluster":
        return RedisCluster.from_url(f"{kind}://{rest}", **chosen)
    if way == "sentinel":
        return _master(address, chosen)
    return redis.Redis.from_url(address, **chosen)


def _master(address: str, chosen: dict[str, Any]) -> Any:
    """Return the client of `redis+sentinel://USER:PASSWORD@HOST:PORT,HOST:PORT/NAME`."""
    from redis import sentinel  # noqa: PLC0415

    make: Any = sentinel.Sentinel  # which has no types
    parts = urlsplit(address)
    hosts = [host.rpartition(":") for host in parts.netloc.rpartition("@")[2].split(",")]
    sentinels = [(host, int(port)) for host, _, port in hosts]
    named = {"username": parts.username, "password": parts.password}
    secrets = {name: secret for name, secret in named.items() if secret}
    ssl = parts.scheme.startswith("rediss")
    master = make(sentinels, sentinel_kwargs=chosen, ssl=ssl, **chosen, **secrets)
    return master.master_for(parts.path.strip("/"))


def _raw(text: str) -> bytes:
    """Return a name as it is kept: clients may choose what no encoding has."""
    return text.encode("utf-8", "surrogatepass")
