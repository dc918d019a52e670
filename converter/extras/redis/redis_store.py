"""`RedisStore`: a `Store` (`converter.core.model.memory`) on a Redis or Valkey server, in which
proxies on many machines share kept replies, earlier thoughts and lessons about servers.

- Each operation is one Lua script or one command, so that no process sees half of another's
  operation.
- All keys share one hash tag, by which a cluster keeps them on one node: the bounds hold for all
  keys together.
- `keep` and `values` first drop entries that are too old, at most 100 at once. If neither is
  called, the server itself drops these entries by their time to live, up to an hour late. For an
  exact time, each use of an entry would have to renew the time to live of the entry and of all its
  names.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import redis
from redis import cluster, connection, sentinel
from redis.backoff import NoBackoff
from redis.retry import Retry

from converter.addon.memory.store_waits import decode_key, log_wrong_type
from converter.core.model.memory import Bounds, Store, utf8

UNREADABLE = (
    "expected an address like redis://USER:PASSWORD@HOST:6379/0 in think_memory, got one that "
    "cannot be read: a password's special characters are written as in %2F"
)
"""The message of the error for an address that cannot be read."""
PORT = 6379
"""The usual port of a Redis server."""
_PREFIX = "{think}:"
"""The beginning of each key. The braces are the hash tag, by which a cluster keeps all keys on one
node.
"""
_HEAD = """
local p, uses, sizes, total = KEYS[1], KEYS[1] .. 'uses', KEYS[1] .. 'sizes', KEYS[1] .. 'size'
local odd = false
local function is(kind, key)  -- drops a key of another type; `odd` is then the expected type
  local found = redis.call('TYPE', key).ok
  if found ~= kind and found ~= 'none' then
    odd = kind
    redis.call('DEL', key)
  end
  return found == kind
end
local function number(text)
  if text and (#text > 15 or not string.match(text, '^%d+$')) then
    odd, text = 'number', false
  end
  return tonumber(text or 0)
end
local function names_in(packed)
  local good, names = pcall(cmsgpack.unpack, packed or '')
  local found = {}
  for _, name in ipairs(good and type(names) == 'table' and names or {false}) do
    if type(name) == 'string' then table.insert(found, name) else odd = 'list of names' end
  end
  return found
end
local function entry_of(name)
  return is('string', p .. 'n' .. name) and redis.call('GET', p .. 'n' .. name)
end
local function drop(key)
  local size, there = redis.call('HGET', sizes, key), is('hash', p .. 'e' .. key)
  if not (size or there or redis.call('ZSCORE', uses, key)) then return 0 end
  redis.call('SET', total, math.max(number(redis.call('GET', total)) - number(size), 0))
  redis.call('HDEL', sizes, key)
  redis.call('ZREM', uses, key)
  local names = there and names_in(redis.call('HGET', p .. 'e' .. key, 'names')) or {}
  for _, name in ipairs(names) do
    if entry_of(name) == key then redis.call('DEL', p .. 'n' .. name) end
  end
  return redis.call('DEL', p .. 'e' .. key)
end
is('zset', uses)
is('hash', sizes)
if is('string', total) then number(redis.call('GET', total)) end
if odd then redis.call('DEL', uses, sizes, total) end  -- the bounds begin anew
local never = string.format('%.0f', 2 ^ 53)
for _, key in ipairs(redis.call('ZRANGEBYSCORE', uses, never, '+inf', 'LIMIT', 0, 100)) do
  odd = 'time'
  drop(key)
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
  for _, name in ipairs(names) do
    redis.call('EXPIRE', p .. 'n' .. name, later)
  end
end
"""
"""Lua code before each script: functions of several scripts, and the repair of keys that have a
wrong type or an invalid value.
"""
_KEEP = """
local key, value, previous, moving = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local most, limit, seconds = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
drop_old(seconds)
drop(key)
local names, size = {}, #value
local function name_it(name)
  table.insert(names, name)
  size = size + #name
end
for at = 8, #ARGV do
  if not entry_of(ARGV[at]) then name_it(ARGV[at]) end
end
local newest = moving ~= '' and entry_of(moving)
if newest then
  name_it(moving)
  previous = newest
end
if size > limit or most < 1 then return end
local packed = cmsgpack.pack(names)
redis.call('HSET', p .. 'e' .. key, 'value', value, 'previous', previous, 'names', packed)
for _, name in ipairs(names) do redis.call('SET', p .. 'n' .. name, key) end
redis.call('HSET', sizes, key, size)
redis.call('INCRBY', total, size)
use(key, seconds, names)
while redis.call('ZCARD', uses) > most or number(redis.call('GET', total)) > limit do
  local oldest = redis.call('ZRANGE', uses, 0, 0)[1]
  if not oldest then redis.call('DEL', total) else drop(oldest) end
end
"""
"""Lua script that keeps an entry, and the names under which the entry is found, unless the entry
alone exceeds the bounds. Then it drops the least recently used entries until the bounds hold.
"""
_READ = """
local key, seconds, values, seen = ARGV[1], tonumber(ARGV[2]), {}, {}
drop_old(seconds)
repeat
  if seen[key] or not is('hash', p .. 'e' .. key) then return false end
  local found = redis.call('HMGET', p .. 'e' .. key, 'value', 'previous', 'names')
  if not found[1] or not found[2] then return false end
  seen[key] = true
  table.insert(values, found[1])
  use(key, seconds, names_in(found[3]))
  key = found[2]
until key == '' or ARGV[3] == 'one'
return values
"""
"""Lua script that returns the values of an entry and of the entries before it in its conversation,
false if one of them is missing or would be read twice. All entries that it reads count as used now.
"""
_FORGET = "return drop(ARGV[1])"
"""Lua script that drops an entry."""
_SIZE = "return number(redis.call('GET', total))"
"""Lua script that returns how many bytes all entries take."""
_RUN = "%s local function run() %s end local answer = run() return {answer or false, odd}"
"""The whole Lua code of a call: the first `%s` becomes `_HEAD`, the second one of the scripts. It
returns two values: the script's result, and the type that a repaired value should have had (false
if nothing was repaired).
"""


class RedisStore(Store):
    """A store whose entries are on the Redis server at `address`, for example
    `redis://127.0.0.1:6379/0`. `bounds`: the most entries, bytes and seconds. `patience`: the most
    seconds to wait for a connection, and for each answer.
    """

    elsewhere = True
    """True: the entries are on a server, so that a call may take long or fail."""

    def __init__(self, address: str, bounds: Bounds, patience: float = 1.0) -> None:
        self.bounds = bounds
        self._connect = _client_factory(address, patience)
        self._connected: Any = None

    @property
    def _client(self) -> Any:
        """The client of the package `redis`. It is created when it is first used, because a client
        of a cluster connects when it is created.
        """
        self._connected = self._connected or self._connect()
        return self._connected

    @property
    def size(self) -> int:
        """The number of bytes that all entries take."""
        return int(self._run(_SIZE))

    def keep(
        self, key: str, value: bytes, previous: str, names: Iterable[str], moving_name: str = ""
    ) -> None:
        """Keep an entry with the id `key`, in place of an entry with the same id. Drop the least
        recently used entries if the bounds are exceeded. An entry that exceeds them by itself is
        not kept.

        `value`: the messages of a request and its reply, as bytes. `previous`: the id of the entry
        before it in the conversation. `names`: further names under which the entry is found; a name
        that another entry has is left out. `moving_name`: a name that always belongs to the newest
        entry of a conversation. The new entry takes it from the entry that has it, and follows that
        entry, whatever `previous` is. If no entry has it, it is ignored.
        """
        bounds = (max(self.bounds.count, 0), self.bounds.size, int(self.bounds.seconds))
        entry = (utf8(key), value, utf8(previous), utf8(moving_name))
        self._run(_KEEP, *entry, *bounds, *map(utf8, names))

    def forget(self, key: str) -> bool:
        """Drop the entry with the id `key`; return True if there was one."""
        return bool(self._run(_FORGET, utf8(key)))

    def find(self, name: str) -> str:
        """Return the id of the entry that was kept with `name` among its `names`; empty if there is
        none.
        """
        try:
            return decode_key(self._client.get(f"{_PREFIX}n".encode() + utf8(name)) or b"")
        except Exception as error:
            if "WRONGTYPE" not in str(error):
                raise
            log_wrong_type("string")
            return ""

    def values(self, key: str, *, one: bool = False) -> list[bytes] | None:
        """Return the values of the entry with the id `key` and of the entries before it in its
        conversation, the newest first; None if one of them is not kept, or if they lead back to
        an entry that was read already. `one`: return only the value of the entry itself.
        """
        entry = (utf8(key), int(self.bounds.seconds), "one" if one else "all")
        values: list[bytes] | None = self._run(_READ, *entry)
        return values

    def close(self) -> None:
        """Close the connections."""
        if self._connected is not None:
            self._connected.close()

    def _run(self, script: str, *arguments: object) -> Any:
        """Run a Lua script on the server, and return its result."""
        answer, odd = self._client.eval(_RUN % (_HEAD, script), 1, _PREFIX, *arguments)
        if odd:
            log_wrong_type(odd.decode())
        return answer


def _client_factory(address: str, patience: float) -> Callable[[], Any]:
    """Return a function that creates a client of the package `redis` for one server, a cluster or
    sentinels, as the address says. Raises ValueError for an address that cannot be read.
    `patience`: the most seconds to wait for a connection, and for each answer.
    """
    chosen: dict[str, Any] = {
        "socket_timeout": patience,
        "socket_connect_timeout": patience,
        "retry": Retry(NoBackoff(), 0),
    }
    parse_url: Any = connection.parse_url  # `Any`, because the package gives it no types.
    try:
        parts = urlsplit(address)
        kind, _, arrangement = parts.scheme.partition("+")
        login, _, addresses = parts.netloc.rpartition("@")
        parsed = [parse_url(f"{kind}://{each}") for each in addresses.split(",")]
        hosts = [(each["host"], each.get("port", PORT)) for each in parsed if "host" in each]
        if not hosts:
            raise ValueError
        options = parse_url(f"{kind}://{login}@?{parts.query}")
    except ValueError:  # The error's own message may have a part of a password.
        raise ValueError(UNREADABLE) from None
    options["ssl"] = options.pop("connection_class", None) is not None
    options |= chosen
    if arrangement == "cluster":
        node: Any = cluster.ClusterNode
        return lambda: cluster.RedisCluster(
            startup_nodes=[node(*host) for host in hosts], **options
        )
    if arrangement == "sentinel":
        # User and password are sent to the store's servers only, not to the sentinels.
        theirs = {key: options[key] for key in options.keys() - {"username", "password"}}
        make: Any = sentinel.Sentinel
        name = parts.path.strip("/")
        return lambda: make(hosts, sentinel_kwargs=theirs, **options).master_for(name)
    return partial(redis.Redis.from_url, address, **chosen)
