"""Ask real model servers everything through the addon, and write what worked.

    python -m tools.lab [SERVER ...]

Each is installed once into .cache, started in each of its configurations with the model of
tests/tiny_model, and asked the same in four dialects, streamed and whole, by the official SDKs. A
server that cannot be had is a line.
"""

import datetime
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tests.support.harness import Proxy, start_proxy
from tests.support.tool_loops import ENDS, IN_BOTH, IN_OSLO, LOOPS
from tools.lab.installing import INSTALLERS, MissingError
from tools.lab.matrix import CASES, asked, told
from tools.lab.servers import CONFIGURATIONS, started
from tools.lab.table import Column, keep, write

LOOP_ROW = "tool loops of three SDKs"
FAULT_ROW = "no fault in the addon's log"
_FAULTS = ("fault of the addon", "Traceback")


def main(names: Sequence[str], folder: Path) -> int:
    """Run the lab for these servers; return the exit status."""
    if unknown := set(names) - set(CONFIGURATIONS):
        print(f"no server is called {', '.join(sorted(unknown))}: {', '.join(CONFIGURATIONS)}")
        return 2
    columns = list[Column]()
    for name in names or CONFIGURATIONS:
        for configuration, options in CONFIGURATIONS[name].items():
            print(f"== {name}, {configuration}", flush=True)
            column = run(name, configuration, options, folder / name)
            if column.missing:
                print(f"NOT run: {column.missing}", flush=True)
            columns.append(column)
            write(keep(columns))
    return 0


def run(name: str, configuration: str, options: Sequence[str], folder: Path) -> Column:
    """Return what one configuration of a server showed."""
    day, version = datetime.datetime.now(datetime.UTC).date().isoformat(), INSTALLERS[name][0]
    try:
        with (
            started(name, folder, options) as server,
            start_proxy([f"reverse:{server.address}"], [], folder, "proxy") as proxy,
        ):
            verdicts = dict(_rows(name, proxy))
    except MissingError as missing:
        return Column(name, version, configuration, day, str(missing)[:300])
    return Column(name, version, configuration, day, verdicts=verdicts)


def _rows(name: str, proxy: Proxy) -> Iterator[tuple[str, Mapping[str, str]]]:
    port = proxy.ports[0]
    for case in CASES:
        if name in case.not_of:
            continue
        verdicts = dict(asked(port, case))
        print(f"{case.name}: {told(verdicts)}", flush=True)
        yield case.name, verdicts
    verdicts = dict(_loops(port))
    print(f"{LOOP_ROW}: {told(verdicts)}", flush=True)
    yield LOOP_ROW, verdicts
    faults = [line for line in proxy.output.splitlines() if any(map(line.__contains__, _FAULTS))]
    yield FAULT_ROW, {"log": faults[0][:120] if faults else ""}


def _loops(port: int) -> Iterator[tuple[str, str]]:
    for client, loop in LOOPS.items():
        for streamed in (True, False):
            for question, cities in ((IN_OSLO, ["Oslo"]), (IN_BOTH, ["Oslo", "Rome"])):
                name = f"{client} {'streamed' if streamed else 'whole'} {len(cities)}"
                try:
                    seen = loop(port, streamed, question)
                except Exception as error:  # whatever an SDK raises is what a user would see
                    yield name, f"{type(error).__name__}: {error}"[:120]
                    continue
                right = "21 degrees" in seen.answer and seen.cities == cities
                ends = tuple(seen.ends) == ENDS[client]
                yield name, "" if right and ends else f"{seen.cities} {seen.ends}"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        sys.exit(main(sys.argv[1:], Path(temporary)))
