"""Ask real model servers everything through the addon, and write what worked.

    python -m tools.lab [SERVER[:CONFIGURATION] ...]

Each is installed once into .cache, started in each of its configurations with the model of
tests/tiny_model, and asked the same in four dialects, streamed and whole, by the official SDKs; then
agents run on it. A server that cannot be had is a line.
"""

import datetime
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tests.support.harness import Proxy, start_proxy
from tools.lab import cache
from tools.lab.agents import agents
from tools.lab.installing import INSTALLERS, MissingError
from tools.lab.matrix import CASES, asked, told
from tools.lab.servers import CONFIGURATIONS, FOR_CLAUDE_CODE, MODEL, Started, started
from tools.lab.table import Column, keep, write

FAULT_ROW = "no fault in the addon's log"
_FAULTS = ("fault of the addon", "Traceback")
_NAMED = ("--set", f"think_models={FOR_CLAUDE_CODE}={MODEL}")
"""Claude Code asks for a name of its own."""


def main(names: Sequence[str], folder: Path) -> int:
    """Run the lab for these servers; return the exit status."""
    if unknown := [name for name in names if not _wanted(name)]:
        print(f"no server is called {', '.join(unknown)}: {', '.join(CONFIGURATIONS)}")
        return 2
    chosen = [pair for name in names or CONFIGURATIONS for pair in _wanted(name)]
    columns = list[Column]()
    for name, configuration in chosen:
        print(f"== {name}, {configuration}", flush=True)
        column = run(name, configuration, folder / name)
        if column.missing:
            print(f"NOT run: {column.missing}", flush=True)
        columns.append(column)
        write(keep(columns))
    return 0


def _wanted(named: str) -> list[tuple[str, str]]:
    """Return a server's configurations, or the one that is named behind it."""
    name, _, only = named.partition(":")
    return [(name, each) for each in CONFIGURATIONS.get(name, ()) if only in ("", each)]


def run(name: str, configuration: str, folder: Path) -> Column:
    """Return what one configuration of a server showed."""
    day, version = datetime.datetime.now(datetime.UTC).date().isoformat(), INSTALLERS[name][0]
    try:
        with started(name, folder, CONFIGURATIONS[name][configuration]) as server:
            with start_proxy([f"reverse:{server.address}"], _NAMED, folder, "proxy") as proxy:
                verdicts = dict(_rows(name, proxy, folder))
            figures = {cache.READ_ROW: _read(server, folder)}
    except MissingError as missing:
        return Column(name, version, configuration, day, str(missing)[:300])
    return Column(name, version, configuration, day, verdicts=verdicts, figures=figures)


def _rows(name: str, proxy: Proxy, folder: Path) -> Iterator[tuple[str, Mapping[str, str]]]:
    port = proxy.ports[0]
    for case in CASES:
        if name not in case.not_of:
            answers = dict(asked(port, case))
            print(f"{case.name}: {told(answers)}", flush=True)
            yield case.name, answers
    for row, verdicts in agents(port, folder):
        print(f"{row}: {told(verdicts)}", flush=True)
        yield row, verdicts
    faults = [line for line in proxy.output.splitlines() if any(map(line.__contains__, _FAULTS))]
    yield FAULT_ROW, {"log": faults[0][:120] if faults else ""}


def _read(server: Started, folder: Path) -> str:
    """Return the tokens that the server read of a conversation whose client drops the thoughts."""
    read = {}
    for way, options in cache.WAYS.items():
        with start_proxy([f"reverse:{server.address}"], options, folder, "cache") as proxy:
            read[way] = cache.tokens_read(proxy.ports[0], way)
    words = cache.in_words(read)
    print(f"{cache.READ_ROW}: {words}", flush=True)
    return words


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        sys.exit(main(sys.argv[1:], Path(temporary)))
