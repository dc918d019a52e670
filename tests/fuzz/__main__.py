"""Look for input that breaks a promise, for so many minutes: `python -m tests.fuzz --minutes 10`.

Rounds of the tests in this folder, each with other examples than the last. What is found is printed
by pytest with the example that shows it, and ends the search.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

FOLDER = Path(__file__).parent
EXAMPLES = 400
"""Examples of each test in a round: some minutes, so that the requested time is met."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--examples", type=int, default=EXAMPLES)
    options = parser.parse_args(arguments)
    began = time.monotonic()
    rounds = 0
    while rounds == 0 or time.monotonic() - began < options.minutes * 60:
        rounds += 1
        code = _round(options.examples)
        minutes = (time.monotonic() - began) / 60
        print(
            f"round {rounds}, {minutes:.1f} minutes: {'found something' if code else 'nothing found'}",
            flush=True,
        )
        if code:
            return code
    return 0


def _round(examples: int) -> int:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(FOLDER)]
    return subprocess.run(
        command, env=os.environ | {"LAW_EXAMPLES": str(examples)}, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
