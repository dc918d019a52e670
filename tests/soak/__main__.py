"""Many exchanges for minutes, then many streams at one time: `python -m tests.soak --minutes 8`.

Fails if any reply is wrong, if the last quarter of the time needs more than 1.05 times the memory
of the second, or if a task, socket or flow is left.
"""

import argparse
import resource
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.soak.soak import crowd, soak


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=8, help="0: streams only")
    parser.add_argument("--clients", type=int, default=24)
    parser.add_argument("--streams", type=int, default=1000, help="at one time; 0: none")
    parser.add_argument("--seed", type=int, default=0, help="the number of the first exchange")
    options = parser.parse_args(arguments)
    allow_files(4 * options.streams)
    holds = True
    with tempfile.TemporaryDirectory() as folder:
        if options.minutes:
            report = soak(options.minutes, options.clients, Path(folder), options.seed)
            print(report, flush=True)
            holds = report.holds
        if options.streams:
            crowded = crowd(options.streams, Path(folder))
            print(crowded, flush=True)
            holds = holds and not crowded.wrong and not crowded.left
    return 0 if holds else 1


def allow_files(count: int) -> None:
    """Let this process and those it starts open so many files, if it may."""
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if now < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(count, most), most))


if __name__ == "__main__":
    sys.exit(main())
