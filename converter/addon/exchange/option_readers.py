"""Readers of options, which the fields of `Settings` name: each turns the value that a user wrote
into the value that `Settings` holds, such as `MemoryLimits` or `MetricsTarget`. `FOLDED` is a value
of `think_fields` with which other code compares.

A reader raises ValueError, with the expected form, for a value that it cannot read.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import mul
from pathlib import Path
from urllib.parse import urlsplit

from converter.addon.servers.profiles import Server, by_name
from converter.core.model.initial_state import InitialState
from converter.core.reading.family_choice import AUTO

THINKING_FIELDS = ("reasoning_content", "reasoning")
"""The fields of a chat completion in which a client may get thinking."""
FOLDED = "text"
"""A value of `think_fields`: thinking goes into the text, as a block that web clients fold."""
START_VALUES = tuple(
    state.value for state in (InitialState.AUTO, InitialState.TEXT, InitialState.THINKING)
)
"""The values of `think_start`."""


def as_list(written: object) -> list[str]:
    """Return the values of an option that has a list of them, as texts; empty if `written` is no
    sequence.
    """
    return [str(name) for name in written] if isinstance(written, Sequence) else []


def read_fields(written: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the fields in which a client of chat completions gets thinking
    (`THINKING_FIELDS`), or `FOLDED` alone.
    """
    fields = tuple(dict.fromkeys(written))
    if fields == (FOLDED,):
        return fields
    if not fields or not set(fields) <= set(THINKING_FIELDS):
        raise ValueError(
            f"expected one or both of: {', '.join(THINKING_FIELDS)}, or {FOLDED}; "
            f"got {', '.join(fields) or 'nothing'}"
        )
    return fields


def read_one_of(allowed: Sequence[str]) -> Callable[[object], str]:
    """Return a reader of an option. It returns the value, and raises ValueError for a value that is
    not in `allowed`.
    """

    def read(written: object) -> str:
        """Return the value of the option if it is in `allowed`."""
        if written not in allowed:
            raise ValueError(f"expected one of: {', '.join(allowed)}; got {written!r}")
        return str(written)

    return read


def read_tokens(written: object) -> int | None:
    """Return a number of tokens; `None` for an empty value."""
    if not str(written).isdecimal() and written != "":
        raise ValueError(f"expected a number of tokens, got {written!r}")
    return int(str(written)) if written != "" else None


def read_start(written: object) -> InitialState:
    """Return the initial state that the user chose for all replies; `AUTO`: the addon finds the
    initial state of each reply.
    """
    return InitialState(read_one_of(START_VALUES)(written))


def read_path(written: object) -> str:
    """Return the path of a file that exists or can be created, with `~` replaced; empty for an
    empty value.
    """
    path = Path(str(written)).expanduser()
    if str(written) and not (path.parent.is_dir() and not path.is_dir()):
        raise ValueError(f"expected a file in an existing folder, got {str(written)!r}")
    return str(path) if str(written) else ""


def read_folder(written: object) -> str:
    """Return the path of a folder that exists or can be created, with `~` replaced; empty for an
    empty value.
    """
    path = Path(str(written)).expanduser()
    if str(written) and not (path.is_dir() or (path.parent.is_dir() and not path.exists())):
        raise ValueError(
            f"expected a folder, or a new one in an existing folder, got {str(written)!r}"
        )
    return str(path) if str(written) else ""


@dataclass(frozen=True, slots=True)
class Ping:
    """The option `think_ping`."""

    seconds: int
    """How long a stream is silent before the client gets a ping; 0: no pings."""
    sends_early_head: bool
    """True if the addon itself sends the client a response head and a ping when the server has sent
    no response head for `seconds`.
    """


def read_ping(written: object) -> Ping:
    """Return the option `think_ping`, written as `10` or `10,early`."""
    seconds, comma, early = str(written).partition(",")
    if not (seconds.isascii() and seconds.isdecimal()) or (comma and early != "early"):
        raise ValueError(f"expected SECONDS or SECONDS,early, got {str(written)!r}")
    return Ping(int(seconds), bool(early))


@dataclass(frozen=True, slots=True)
class MetricsTarget:
    """The address at which Prometheus reads metrics, or the file that gets them; `file` is empty
    for an address.
    """

    host: str = ""
    """The IP address or host name at which the addon listens for Prometheus."""
    port: int = 0
    """The port at which the addon listens for Prometheus; 0 if a file gets the metrics."""
    file: str = ""
    """The path of the file that gets the metrics; empty for an address."""


def read_metrics(written: object) -> MetricsTarget | None:
    """Return the target of metrics, from `PORT`, `HOST:PORT` or a file's path; `None` if empty."""
    host, _, port = str(written).rpartition(":")
    if port.isascii() and port.isdecimal():
        if not 1 <= int(port) <= 65535:
            raise ValueError(f"expected a port from 1 to 65535, got {port}")
        return MetricsTarget(host.strip("[]") or "127.0.0.1", int(port))
    if str(written).endswith(".json"):
        raise ValueError(f"expected a file for Prometheus, such as think.prom, got {written!r}")
    return MetricsTarget(file=read_path(written)) if str(written) else None


def read_collector(written: object) -> str:
    """Return the URL to which spans are sent, with the path `/v1/traces` if it has no path; empty
    for an empty value. The text of a ValueError does not quote the URL, which may hold a key.
    """
    if not written:
        return ""
    url = urlsplit(str(written))
    good = url.scheme in ("http", "https") and url.hostname and url.port != 0
    if not good or "@" in url.netloc:
        raise ValueError("expected http://HOST:PORT or https://HOST/PATH, without a user")
    path = "/v1/traces" if url.path in ("", "/") else url.path
    return url._replace(path=path, fragment="").geturl()


MEGABYTE = 1024 * 1024
"""How many bytes a megabyte has."""
LIMITS = {"request_mb": 32, "flows": 5000, "flows_mb": 500, "replies": 5000, "replies_mb": 32}
"""Name of a limit of `think_limits` -> its default: megabytes for a name with `_mb`, else
a count.
"""


@dataclass(frozen=True, slots=True)
class MemoryLimits:
    """Limits of the memory that the proxy uses for requests, exchanges and replies."""

    request_bytes: int
    """The most bytes of a request; 0: no limit."""
    flows: int
    """The most exchanges that mitmweb keeps; 0: no limit."""
    flow_bytes: int
    """The most bytes of all exchanges that mitmweb keeps; 0: no limit."""
    replies: int
    """The most replies that are kept for clients that refer to them; 0: none."""
    reply_bytes: int
    """The most bytes of all replies that are kept for clients; 0: none."""


def read_limits(written: Sequence[str]) -> MemoryLimits:
    """Return the limits from rows `NAME=NUMBER` (`flows=100`), with the defaults of `LIMITS` for
    names that have no row.
    """
    numbers = dict(LIMITS)
    for row in written:
        name, _, number = row.partition("=")
        if name not in LIMITS or not (number.isascii() and number.isdecimal()):
            allowed = ", ".join(f"{name}=NUMBER" for name in LIMITS)
            raise ValueError(f"expected one of: {allowed}; got {row!r}")
        numbers[name] = int(number)
    factors = (MEGABYTE if name.endswith("_mb") else 1 for name in numbers)
    return MemoryLimits(*map(mul, numbers.values(), factors))


_REDIS = tuple(f"redis{suffix}://" for suffix in ("", "s", "+cluster", "s+cluster", "+sentinel"))
"""The schemes of Redis addresses: with `s` TLS, with `+cluster` or `+sentinel` several servers."""
MEMORIES = ("memory:", "sqlite:", *_REDIS, "rediss+sentinel://")
"""The beginnings that the memory's address (`think_memory`) may have: for a store in this process,
in a SQLite file, or in Redis.
"""
MEMORY_VARIABLE = "THINK_MEMORY"
"""The environment variable that has the memory's address if the option `think_memory` is `auto`.
A user may set it so that a password in the address is not on the command line. `think-addon` sets
it for its worker processes.
"""


def read_memory(written: object) -> str:
    """Return the address of the store that keeps replies and thoughts, such as `sqlite:PATH`. For
    `auto` it is the value of `MEMORY_VARIABLE` in the environment, else `memory:`, which is the
    memory of this process.
    """
    address = str(written)
    if address == AUTO:
        address = os.environ.get(MEMORY_VARIABLE) or MEMORIES[0]
    if not address.startswith(MEMORIES) or (address != "memory:" and address.startswith("memory:")):
        kinds = "memory:, sqlite:PATH, redis://HOST:PORT/0, rediss://HOST:PORT/0"
        raise ValueError(f"expected one of: {kinds}; got {address.partition(':')[0]!r}")
    if path := address.removeprefix("sqlite:") if address.startswith("sqlite:") else "":
        read_path(path)
    return address


def read_days(written: object) -> int:
    """Return a number of days, at least 1."""
    if not isinstance(written, int) or written < 1:
        raise ValueError(f"expected a number of days from 1, got {written!r}")
    return written


def read_server(written: object) -> Server | None:
    """Return the server's profile by its name; `None` for `auto`: probes recognise the server."""
    return None if written == AUTO else by_name(str(written))
