"""Try real model servers through the addon, and write the results.

    python -m tools.lab [SERVER[:CONFIGURATION] ...]

Each server is installed once into .cache, and started in each of its configurations with the model
of tests/tiny_model. The official SDKs send it the same questions in four dialects, streamed and
whole; then agents run on it. Two servers run side by side. A server that cannot be installed is a
line of the result.
"""

import datetime
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from threading import Event, Lock

from tests.support.harness import Proxy, start_proxy
from tools.lab import cache
from tools.lab.agents import agents
from tools.lab.installing import INSTALLERS, MissingError
from tools.lab.matrix import CASES, OWN, summary, verdicts_of
from tools.lab.servers import CONFIGURATIONS, FOR_CLAUDE_CODE, MODEL, Started, started
from tools.lab.table import Column, keep, write

AT_ONCE = 2
"""Servers that run side by side. Each uses one core, and up to 4 gigabytes."""
FAULT_ROW = "no fault in the addon's log"
_FAULTS = ("fault of the addon", "Traceback")
_NAMED = ("--set", f"think_models={FOR_CLAUDE_CODE}={MODEL}")
"""Options that map the name that Claude Code requests to the lab's model."""

OWN_ROW = "its own Messages and Responses endpoints"
WITH_ENDPOINTS = ("vllm", "sglang")
_NATIVE = ("--set", "think_native=messages", "--set", "think_native=responses")

type Say = Callable[[str], None]


def main(names: Sequence[str], folder: Path) -> int:
    """Run the lab for these servers; return the exit status."""
    if unknown := [name for name in names if not _wanted(name)]:
        print(f"no server is called {', '.join(unknown)}: {', '.join(CONFIGURATIONS)}")
        return 2
    chosen = dict[str, list[str]]()
    for name in names or CONFIGURATIONS:
        for server, configuration in _wanted(name):
            chosen.setdefault(server, []).append(configuration)
    columns, writing, over = list[Column](), Lock(), Event()

    def ask(server: str) -> None:
        for configuration in chosen[server]:
            if over.is_set():
                return
            column = run(server, configuration, folder / server)
            with writing:
                columns.append(column)
                write(keep(columns))

    with ThreadPoolExecutor(AT_ONCE) as pool:
        running = [pool.submit(ask, server) for server in chosen]
        try:
            for each in running:
                each.result()
        finally:
            over.set()
    return 0


def _wanted(named: str) -> list[tuple[str, str]]:
    """Return the configurations of `SERVER`, or the one of `SERVER:CONFIGURATION`."""
    name, _, only = named.partition(":")
    return [(name, each) for each in CONFIGURATIONS.get(name, ()) if only in ("", each)]


def run(name: str, configuration: str, folder: Path) -> Column:
    """Return the results of one configuration of a server."""
    day, version = datetime.datetime.now(datetime.UTC).date().isoformat(), INSTALLERS[name][0]
    verdicts, figures = dict[str, Mapping[str, str]](), dict[str, str]()
    missing, began = "", time.monotonic()

    def say(line: str) -> None:
        print(f"{time.monotonic() - began:4.0f} s {name}, {configuration}: {line}", flush=True)

    try:
        with started(name, folder, CONFIGURATIONS[name][configuration]) as server:
            say("started")
            with start_proxy([f"reverse:{server.address}"], _NAMED, folder, "proxy") as proxy:
                verdicts.update(_rows(name, proxy, folder, say))
            if name in WITH_ENDPOINTS:
                verdicts[OWN_ROW] = _own(server, folder)
                say(f"{OWN_ROW}: {summary(verdicts[OWN_ROW])}")
            figures[cache.READ_ROW] = _read(server, folder, say)
    except MissingError as error:
        missing = str(error)[:300]
        say(f"NOT run: {missing}")
    except Exception as error:  # the others are asked all the same
        traceback.print_exc()
        verdicts[FAULT_ROW] = {"log": f"{type(error).__name__}: {error}"[:120]}
    return Column(name, version, configuration, day, missing, verdicts, figures)


def _rows(
    name: str, proxy: Proxy, folder: Path, say: Say
) -> Iterator[tuple[str, Mapping[str, str]]]:
    port = proxy.ports[0]
    cases = (
        (case.name, dict(verdicts_of(port, case))) for case in CASES if name not in case.not_of
    )
    for row, verdicts in chain(cases, agents(port, folder)):
        say(f"{row}: {summary(verdicts)}")
        yield row, verdicts
    faults = [line for line in proxy.output.splitlines() if any(map(line.__contains__, _FAULTS))]
    yield FAULT_ROW, {"log": faults[0][:120] if faults else ""}


def _own(server: Started, folder: Path) -> Mapping[str, str]:
    """Return the faults of the server's own endpoints of two dialects."""
    with start_proxy([f"reverse:{server.address}"], _NATIVE, folder, "native") as proxy:
        answers = ((case, *answer) for case in OWN for answer in verdicts_of(proxy.ports[0], case))
        return {f"{case.name}, {name}": wrong for case, name, wrong in answers}


def _read(server: Started, folder: Path, say: Say) -> str:
    """Return the tokens that the server read of a conversation whose client drops the thoughts."""
    read = {}
    for name, options in cache.VARIANTS.items():
        with start_proxy([f"reverse:{server.address}"], options, folder, "cache") as proxy:
            read[name] = cache.tokens_read(proxy.ports[0], name)
    line = cache.summary(read)
    say(f"{cache.READ_ROW}: {line}")
    return line


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        sys.exit(main(sys.argv[1:], Path(temporary)))
