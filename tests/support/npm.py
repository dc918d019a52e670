"""Programs of the npm registry, installed once into the repository's cache."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.support.harness import TESTS

SECONDS_TO_INSTALL = 300


class MissingError(Exception):
    """The program cannot be had on this machine; the message says why."""


def install(package: str, program: str) -> Path:
    """Return the program of a package (`name@version`), which a second call finds installed."""
    folder = TESTS.parent / ".cache" / package.rpartition("/")[2].replace("@", "-")
    found = folder / "node_modules" / ".bin" / program
    if not found.exists():
        _download(package, folder)
    return found


def _download(package: str, cache: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise MissingError("npm is not installed")
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        _run([npm, "install", "--no-audit", "--no-fund", "--prefix", folder, package], package)
        # At once: half of it is never there.
        Path(folder, "node_modules").rename(cache / "node_modules")


def _run(command: list[str], package: str) -> None:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=SECONDS_TO_INSTALL
        )
    except subprocess.TimeoutExpired:
        seconds = SECONDS_TO_INSTALL
        raise MissingError(f"npm has not installed {package} within {seconds} seconds") from None
    if done.returncode:
        raise MissingError(f"npm cannot install {package}: {done.stderr.strip()[-500:]}")
