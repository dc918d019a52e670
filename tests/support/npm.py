"""Packages of the npm registry, installed once into the repository's cache."""

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.harness import TESTS

SECONDS_TO_INSTALL = 300


class MissingError(Exception):
    """The packages cannot be had on this machine; the message says why."""


def install(package: str, program: str) -> Path:
    """Return the program of a package (`name@version`), which a second call finds installed."""
    return install_modules(package) / ".bin" / program


def install_modules(*packages: str) -> Path:
    """Return the folder `node_modules` that holds these packages (`name@version`)."""
    if os.environ.get("NEWEST_CLIENTS"):  # the nightly run tries what users get today
        packages = tuple(f"{package.rpartition('@')[0]}@latest" for package in packages)
    folder = TESTS.parent / ".cache" / packages[0].rpartition("/")[2].replace("@", "-")
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run two at a time, and some need the same client
        if not (folder / "node_modules").exists():
            _download(packages, folder)
    return folder / "node_modules"


def _download(packages: tuple[str, ...], cache: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise MissingError("npm is not installed")
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        options = ["--no-audit", "--no-fund", "--prefix", folder]
        _run([npm, "install", *options, *packages], packages[0])
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


def installed(request: pytest.FixtureRequest, client: str, fetch: Callable[[], Path]) -> Path:
    """Return what `fetch` installs; where that cannot be, the tests that need it are left out, and
    say so.
    """
    try:
        return fetch()
    except MissingError as missing:
        reporter = request.config.pluginmanager.get_plugin("terminalreporter")
        assert reporter is not None
        reporter.write_line(f"\n{client} is NOT tested: {missing}", yellow=True, bold=True)
        pytest.skip(str(missing))
