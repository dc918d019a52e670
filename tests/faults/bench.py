"""Every fault, every dialect, streamed and whole: `python -m tests.faults.bench [--only WORDS]`.

Prints a row for each case that does not hold, or all with `--all`, and how many do.
"""

import argparse
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.faults import body_faults, content_faults, native_faults, transport_faults
from tests.faults.hostile_server import Fault, HostileServer
from tests.faults.judge import CLIENTS, CUT, FAILED, FULL, Verdict, WrongError, judge
from tests.support.harness import Proxy, start_proxy

FAULTS = [*transport_faults.FAULTS, *content_faults.FAULTS, *body_faults.FAULTS]
FORMS = {True: "stream", False: "whole"}


@dataclass(frozen=True)
class Case:
    """One fault as one client meets it. `native`: the server speaks the client's own dialect."""

    fault: Fault
    dialect: str
    stream: bool
    native: bool = False

    @property
    def name(self) -> str:
        server = "native " if self.native else ""
        return f"{server}{self.fault.name}: {self.dialect}, {FORMS[self.stream]}"


def _cases(faults: list[Fault], dialects: Iterable[str], **how: bool) -> list[Case]:
    return [
        Case(fault, dialect, stream, **how)
        for fault in faults
        for dialect in dialects
        for stream in FORMS
        if (fault.stream if stream else fault.whole)
    ]


NATIVE = {speech.dialect: native_faults.faults(speech) for speech in native_faults.SPEECHES}
CASES = [
    *_cases(FAULTS, CLIENTS),
    *(
        case
        for dialect, faults in NATIVE.items()
        for case in _cases(faults, [dialect], native=True)
    ),
]


@dataclass(frozen=True)
class Bench:
    """A hostile server, and the proxy's port before it and before those that are not there;
    `native`: another proxy's, which keeps the dialect.
    """

    server: HostileServer
    proxies: tuple[Proxy, Proxy]
    ports: dict[str, int]
    native: int

    def complaint(self, case: Case) -> str:
        """Return the fault of the reply to one client; empty if there is none."""
        self.server.fault = case.fault
        try:
            port = self.native if case.native else self.ports[case.fault.server]
            verdict = judge(port, case.dialect, case.stream)
        except WrongError as error:
            return str(error)
        return _complaint(case.fault, verdict)


def _complaint(fault: Fault, verdict: Verdict) -> str:
    if verdict.word not in fault.verdict.split():
        return f"{verdict.word}, expected {fault.verdict} ({verdict.error or verdict.parts})"
    expected = {FULL: fault.parts, CUT: fault.before, FAILED: ("", "")}[verdict.word]
    if verdict.parts != expected:
        return f"{verdict.word} with {verdict.parts}, expected {expected}"
    if verdict.word != FULL and fault.message not in verdict.error:
        return f"{verdict.word} with {verdict.error!r}, expected {fault.message!r} in it"
    if verdict.word != FULL and not verdict.error.strip():
        return f"{verdict.word} without a word"
    return ""


@contextmanager
def running(folder: Path) -> Iterator[Bench]:
    """Start the proxy with the addon in front of hostile servers."""
    with ExitStack() as stack:
        server = stack.enter_context(HostileServer())
        there = {"": server.address}
        absent = {
            address: address for address in (transport_faults.REFUSED, transport_faults.UNKNOWN)
        }
        modes = [f"reverse:{address}" for address in (there | absent).values()]
        options = ["--set", "think_server=generic"]
        proxy = stack.enter_context(start_proxy(modes, options, folder, "faults"))
        options += ["--set", "think_native=messages", "--set", "think_native=responses"]
        own = stack.enter_context(start_proxy(modes[:1], options, folder, "native"))
        ports = dict(zip(there | absent, proxy.ports, strict=True))
        yield Bench(server, (proxy, own), ports, own.ports[0])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="faults whose name holds this")
    parser.add_argument("--all", action="store_true", help="print what holds as well")
    options = parser.parse_args(arguments)
    held, tried = 0, 0
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as bench:
        for case in (case for case in CASES if options.only in case.name):
            complaint = bench.complaint(case)
            tried, held = tried + 1, held + (not complaint)
            if complaint or options.all:
                print(f"{case.name:60} {complaint or 'holds'}", flush=True)
    faults = len(FAULTS) + sum(map(len, NATIVE.values()))
    print(f"{held} of {tried} cases of {faults} faults hold")


if __name__ == "__main__":
    main()
