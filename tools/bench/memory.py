"""Print the cost of storing a reply in the addon's memory, and of looking one up; then check two
machines that share a memory (`spread.py`).

    python -m tools.bench memory [--quick]

Replies can be kept in the proxy's own process, in SQLite or in Redis. For each of these stores the
second turn of a conversation is sent over and over, in three variants, one after another:

- `none`: the whole history is in the request, with `store: false`, so the store is not used;
- `kept`: the same request with `store: true`, so the reply is stored;
- `by id`: `previous_response_id` in place of the history, so the first reply is looked up.

The table has the client's wait and the proxy's processor time: for `none` in milliseconds, for the
other two as ratios to `none`. A ratio is the median over all rounds. All stores are measured in one
run, because the machine's speed varies.

Then conversations are spread over two machines that share one Redis (`spread.py`). The exit status
is 1 if one of their turns was not exact, or if this machine cannot have two networks. The times
have no limit: a person judges them.
"""

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from operator import truediv
from pathlib import Path
from typing import Any

from tests.support.namespaces import NotPermittedError
from tests.support.redis_server import RedisServer
from tools.bench import spread
from tools.bench.contenders import ADDON_ARGUMENTS, FOLDER
from tools.bench.processes import PROJECT, PinnedProcess, cores, free_ports, wait_for_port
from tools.bench.proxies import Proxies

HEADING = "store      p50, ms   kept  by its id    processor, ms   kept  by its id"
"""The heading of the table."""
_ROUNDS = 100
"""How often each variant is measured in each store, without `--quick`."""
_AT_A_TIME = 5
"""How often a variant is sent before the next one. The first request finds the processor's caches
cold. It is one of five, so it hardly changes the median wait.
"""
_SECONDS_TO_START = 120
"""How long the server and each proxy may take to start."""
VARIANTS = ("none", "kept", "by id")
"""How the second turn may depend on the memory: not at all, its reply is stored, or it refers to the
first turn. The times of the last two are divided by the first's.
"""
_FIRST = {"role": "user", "content": "How many streams are open?"}
"""The user's message in the first turn."""
_AGAIN = {"role": "user", "content": "And how many are closed?"}
"""The user's message in the second turn."""


class StoreClient:
    """A client of one proxy, whose memory is in one store. It sends over one connection.

    `took`: name in `VARIANTS` -> for each round two numbers of seconds: the median time that the
    client waited for a reply, and the proxy's processor time for a request.
    """

    def __init__(self, port: int, proxy: PinnedProcess) -> None:
        self._connection = HTTPConnection("127.0.0.1", port)
        self._proxy = proxy
        self.took: dict[str, list[tuple[float, float]]] = {name: [] for name in VARIANTS}
        self._fields: dict[str, dict[str, object]] = {}

    def ask(self, **fields: object) -> Any:
        """Send a Responses request with these fields; return the JSON of the small whole reply."""
        body = json.dumps({"model": "whole.40.0", **fields}).encode()
        headers = {"content-type": "application/json", "authorization": "Bearer none"}
        self._connection.request("POST", "/v1/responses", body, headers)
        response = self._connection.getresponse()
        body = response.read()
        assert response.status == 200, body
        return json.loads(body)

    def send_first_turn(self) -> None:
        """Send the first turn, so that its reply is stored. Make the fields of the second turn in
        the three ways of `VARIANTS`; it is not sent here.
        """
        first = self.ask(input=[_FIRST], store=True)
        messages = [_FIRST, *first["output"], _AGAIN]
        self._fields = {
            "none": {"input": messages, "store": False},
            "kept": {"input": messages, "store": True},
            "by id": {"input": [_AGAIN], "previous_response_id": first["id"], "store": False},
        }

    def measure_round(self, number: int) -> None:
        """Send the second turn in each variant, and record the times in `took`.

        `number`: the round's. It decides which variant is the first: each round begins with another.
        """
        first = number % len(VARIANTS)
        for name in (*VARIANTS[first:], *VARIANTS[:first]):
            worked, waited = self._proxy.processor_time, list[float]()
            for _ in range(_AT_A_TIME):
                begun = time.perf_counter()
                self.ask(**self._fields[name])
                waited.append(time.perf_counter() - begun)
            worked = (self._proxy.processor_time - worked) / _AT_A_TIME
            self.took[name].append((statistics.median(waited), worked))

    def row(self, name: str) -> str:
        """Return the table's line about this client's store. `name`: the store's name (`redis`)."""
        cells = [f"{name:8}"]
        for kind in (0, 1):
            none, *others = ([both[kind] for both in self.took[history]] for history in VARIANTS)
            ratios = [map(truediv, times, none) for times in others]
            kept, by_id = map(statistics.median, ratios)
            cells.append(f"{1e3 * statistics.median(none):10.2f} {kept:6.2f} {by_id:10.2f}")
        return "      ".join(cells)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def print_costs(rounds: int, source: Path = PROJECT) -> None:
    """Measure the three stores in `rounds` rounds, and print a line for each store.

    `source`: the folder of the addon's sources.
    """
    ours, theirs = cores()
    with (
        tempfile.TemporaryDirectory(prefix="bench") as folder,
        RedisServer("--appendfsync", "everysec") as redis,
        PinnedProcess(
            [sys.executable, "-m", "tools.bench.server"], ours, Path(folder) / "log"
        ) as server,
    ):
        port = int(server.read_line(_SECONDS_TO_START).split()[1])
        proxies = Proxies(port, source, Path(folder), theirs, free_ports())
        with ExitStack() as stack:
            stack.callback(proxies.stop)
            asking = {}
            for store in ("memory:", f"sqlite:{FOLDER}/kept", redis.address):
                memory = ("--set", f"think_memory={store}", "--set", "think_server=generic")
                proxies.start((*ADDON_ARGUMENTS, *memory))
                wait_for_port(*proxies.all()[-1], _SECONDS_TO_START)
                client = stack.enter_context(closing(StoreClient(*proxies.all()[-1])))
                asking[store.partition(":")[0]] = client
                client.send_first_turn()
            for number in range(rounds):
                for client in asking.values():
                    client.measure_round(number)
        for name, client in asking.items():
            print(client.row(name), flush=True)


def main(arguments: Sequence[str] = ()) -> int:
    """Print the table of the stores, then the report of `spread.py`.

    Returns 1 if a turn was not exact, or if conversations could not be spread because this machine
    may not make network namespaces; else 0.
    """
    quick = "--quick" in arguments
    print(HEADING)
    print_costs(2 if quick else _ROUNDS)
    try:
        result = spread.run(*((20, 4) if quick else (1000, 10)))
    except NotPermittedError as error:
        print(f"nothing was spread: this machine has no second network: {error}")
        return 1
    print("", *result.lines(), sep="\n")
    return int(result.exact != result.turns)
