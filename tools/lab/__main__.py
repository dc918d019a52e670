"""Try real model servers (`servers.py`) through the addon with questions (`matrix.py`) and agents,
and write the results (`table.py`).

    python -m tools.lab [SERVER[:CONFIGURATION] ...]

Each server is installed once into .cache. For each of its configurations (parsers, chat template)
it is started with the model of tests/tiny_model, behind a proxy with the addon. The official SDKs
ask the same questions in four dialects, streamed and whole. Then agents run: Claude Code, Codex,
tool loops of SDKs. Two servers run at a time. The results go to README.md and docs/lab.md, which
also name each server that could not be installed or started.
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
from tools.lab.agents import run_agents
from tools.lab.installing import INSTALLERS, MissingError
from tools.lab.matrix import CASES, OWN_ENDPOINT_CASES, faults_by_delivery, summary
from tools.lab.servers import CONFIGURATIONS, FOR_CLAUDE_CODE, MODEL, RunningServer, start_server
from tools.lab.table import Column, keep_columns, write_pages

SERVERS_AT_A_TIME = 2
"""How many servers run at a time. Each uses one core, and up to 4 gigabytes."""
FAULT_ROW = "no fault in the addon's log"
"""Name of the row that has a fault if the addon logged one, or if the run broke off."""
_FAULTS = ("fault of the addon", "Traceback")
"""A line of the addon's log with one of these texts is a fault."""
_MAPPED_MODEL = ("--set", f"think_models={FOR_CLAUDE_CODE}={MODEL}")
"""Options of the addon: a request for the model `tiny`, as Claude Code sends it, goes to the lab's
model `tiny-think`.
"""

OWN_ROW = "its own Messages and Responses endpoints"
"""Name of the row with the answers of a server's own endpoints."""
WITH_ENDPOINTS = ("vllm", "sglang")
"""Servers that have their own Messages and Responses endpoints."""
_OWN_ENDPOINTS = ("--set", "think_native=messages", "--set", "think_native=responses")
"""Options of the addon: requests in these dialects go on to the server's own endpoints. Otherwise
the addon would translate them into chat completions.
"""

type Say = Callable[[str], None]
"""A function that prints a line of progress."""


def main(names: Sequence[str], folder: Path) -> int:
    """Run the lab and write its results. Return the exit status: 0, or 2 for an unknown name.

    `names`: each SERVER or SERVER:CONFIGURATION; if empty, all. `folder`: for temporary files.
    """
    if unknown := [name for name in names if not _configurations_of(name)]:
        print(f"no server is called {', '.join(unknown)}: {', '.join(CONFIGURATIONS)}")
        return 2
    chosen = dict[str, list[str]]()
    for name in names or CONFIGURATIONS:
        for server, configuration in _configurations_of(name):
            chosen.setdefault(server, []).append(configuration)
    columns, writing, over = list[Column](), Lock(), Event()

    def ask(server: str) -> None:
        """Run the chosen configurations of a server; write the pages of results after each."""
        for configuration in chosen[server]:
            if over.is_set():
                return
            column = run(server, configuration, folder / server)
            with writing:
                columns.append(column)
                write_pages(keep_columns(columns))

    with ThreadPoolExecutor(SERVERS_AT_A_TIME) as pool:
        running = [pool.submit(ask, server) for server in chosen]
        try:
            for each in running:
                each.result()
        finally:
            over.set()
    return 0


def _configurations_of(named: str) -> list[tuple[str, str]]:
    """Return the pairs of server and configuration that an argument of the command names.

    `vllm` names all configurations of vLLM, `vllm:no parser` one of them. The list is empty if
    there is no such server or configuration.
    """
    name, _, only = named.partition(":")
    return [(name, each) for each in CONFIGURATIONS.get(name, ()) if only in ("", each)]


def run(name: str, configuration: str, folder: Path) -> Column:
    """Start a server in one configuration, send it all questions, and return the results.

    No exception ends this: if the server cannot be installed or started, `missing` of the results
    says why; any other exception becomes a fault in the row `FAULT_ROW`.
    """
    day, version = datetime.datetime.now(datetime.UTC).date().isoformat(), INSTALLERS[name][0]
    faults, figures = dict[str, Mapping[str, str]](), dict[str, str]()
    missing, began = "", time.monotonic()

    def say(line: str) -> None:
        """Print a line with the seconds so far, the server and the configuration."""
        print(f"{time.monotonic() - began:4.0f} s {name}, {configuration}: {line}", flush=True)

    try:
        with start_server(name, folder, CONFIGURATIONS[name][configuration]) as server:
            say("started")
            with start_proxy(
                [f"reverse:{server.address}"], _MAPPED_MODEL, folder, "proxy"
            ) as proxy:
                faults.update(_ask_everything(name, proxy, folder, say))
            if name in WITH_ENDPOINTS:
                faults[OWN_ROW] = _ask_own_endpoints(server, folder)
                say(f"{OWN_ROW}: {summary(faults[OWN_ROW])}")
            figures[cache.READ_ROW] = _measure_cache(server, folder, say)
    except MissingError as error:
        missing = str(error)[:300]
        say(f"NOT run: {missing}")
    except Exception as error:  # a fault here must not end the runs of the other servers
        traceback.print_exc()
        faults[FAULT_ROW] = {"log": f"{type(error).__name__}: {error}"[:120]}
    return Column(name, version, configuration, day, missing, faults, figures)


def _ask_everything(
    name: str, proxy: Proxy, folder: Path, say: Say
) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Ask all questions that this server gets, and run all agents; yield for each row its name and
    its faults. The last row tells of faults in the addon's log.

    The faults of a row: dialect and delivery (`chat streamed`), or name of an agent's run -> the
    fault, empty if all was right. `name`: the server's; `say`: prints a line for each row.
    """
    port = proxy.ports[0]
    cases = (
        (case.name, dict(faults_by_delivery(port, case)))
        for case in CASES
        if name not in case.skipped_servers
    )
    for row, faults in chain(cases, run_agents(port, folder)):
        say(f"{row}: {summary(faults)}")
        yield row, faults
    logged = [line for line in proxy.output.splitlines() if any(map(line.__contains__, _FAULTS))]
    yield FAULT_ROW, {"log": logged[0][:120] if logged else ""}


def _ask_own_endpoints(server: RunningServer, folder: Path) -> Mapping[str, str]:
    """Ask the server's own Messages and Responses endpoints; return the fault of each answer.

    The key is case, dialect and delivery (`tool call, messages streamed`), the value the fault. It
    is empty if the answer was right.
    """
    with start_proxy([f"reverse:{server.address}"], _OWN_ENDPOINTS, folder, "native") as proxy:
        answers = (
            (case, *answer)
            for case in OWN_ENDPOINT_CASES
            for answer in faults_by_delivery(proxy.ports[0], case)
        )
        return {f"{case.name}, {name}": wrong for case, name, wrong in answers}


def _measure_cache(server: RunningServer, folder: Path, say: Say) -> str:
    """Return, as text, how many prompt tokens the server did not find in its prompt cache.

    The same conversation is held twice, by a client that drops the thoughts: first the addon puts
    them back, then it leaves them out. `say`: prints a line with the result.
    """
    read = {}
    for name, options in cache.VARIANTS.items():
        with start_proxy([f"reverse:{server.address}"], options, folder, "cache") as proxy:
            read[name] = cache.measure_uncached_tokens(proxy.ports[0], name)
    line = cache.summary(read)
    say(f"{cache.READ_ROW}: {line}")
    return line


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        sys.exit(main(sys.argv[1:], Path(temporary)))
