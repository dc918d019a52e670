"""Print what a kept reply costs, and one that is asked for: `python -m tools.bench memory [--quick]`.

For each store, a conversation's second turn is asked in three ways, in turns, on one connection: with all words in the
request and `store: false` (nothing of the store is used), the same but kept, and naming the first reply, not kept. The
ratios are of the medians. Then conversations are spread over two machines (`spread.py`). The exit status tells whether
all their turns were exact; the figures are for a person to judge.
"""

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from tests.support.namespaces import NotPermittedError
from tests.support.redis_server import RedisServer
from tools.bench import spread
from tools.bench.contenders import ADDON, FOLDER
from tools.bench.processes import PROJECT, Started, cores, free_ports, wait_for_port
from tools.bench.proxies import Proxies

HEADING = "store      turn p50, ms    kept   asked for"
_ROUNDS = 600
_SECONDS_TO_START = 120
_FIRST = {"role": "user", "content": "How many streams are open?"}
_AGAIN = {"role": "user", "content": "And how many are closed?"}


class Asking:
    """A client of one proxy, on one connection."""

    def __init__(self, port: int) -> None:
        self._connection = HTTPConnection("127.0.0.1", port)

    def ask(self, **fields: object) -> Any:
        """Ask for a small whole reply; return it."""
        body = json.dumps({"model": "whole.40.0", **fields}).encode()
        headers = {"content-type": "application/json", "authorization": "Bearer none"}
        self._connection.request("POST", "/v1/responses", body, headers)
        response = self._connection.getresponse()
        said = response.read()
        assert response.status == 200, said
        return json.loads(said)

    def medians(self, rounds: int) -> dict[str, float]:
        """Return the median of each way's seconds."""
        first = self.ask(input=[_FIRST], store=True)
        told = [_FIRST, *first["output"], _AGAIN]
        ways: dict[str, dict[str, object]] = {
            "none": {"input": told, "store": False},
            "kept": {"input": told, "store": True},
            "asked": {"input": [_AGAIN], "previous_response_id": first["id"], "store": False},
        }
        took: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(rounds):
            for name, fields in ways.items():
                begun = time.perf_counter()
                self.ask(**fields)
                took[name].append(time.perf_counter() - begun)
        return {name: statistics.median(times[rounds // 10 :]) for name, times in took.items()}

    def close(self) -> None:
        """Let go of the connection."""
        self._connection.close()


def costs(rounds: int) -> None:
    """Print a row for each store."""
    ours, theirs = cores()
    with (
        tempfile.TemporaryDirectory(prefix="bench") as place,
        RedisServer("--appendfsync", "everysec") as redis,
        Started([sys.executable, "-m", "tools.bench.server"], ours, Path(place) / "log") as server,
    ):
        port = int(server.line(_SECONDS_TO_START).split()[1])
        proxies = Proxies(port, PROJECT, Path(place), theirs, free_ports())
        try:
            for store in ("memory:", f"sqlite:{FOLDER}/kept", redis.address):
                memory = ("--set", f"think_memory={store}", "--set", "think_server=generic")
                proxies.start((*ADDON, *memory))
                print(_row(store.partition(":")[0], *proxies.all()[-1], rounds), flush=True)
        finally:
            proxies.stop()


def _row(name: str, port: int, process: Started, rounds: int) -> str:
    wait_for_port(port, process, _SECONDS_TO_START)
    with closing(Asking(port)) as asking:
        took = asking.medians(rounds)
    kept, asked = (took[way] / took["none"] for way in ("kept", "asked"))
    return f"{name:10}{1e3 * took['none']:13.2f} {kept:7.2f} {asked:11.2f}"


def main(words: Sequence[str] = ()) -> int:
    """Print both reports; return 1 when a turn was not exact."""
    quick = "--quick" in words
    print(HEADING)
    costs(10 if quick else _ROUNDS)
    try:
        told = spread.run(*((20, 4) if quick else (1000, 10)))
    except NotPermittedError as error:
        print(f"nothing was spread: this machine has no second network: {error}")
        return 1
    print("", *told.lines(), sep="\n")
    return int(told.exact != told.turns)
