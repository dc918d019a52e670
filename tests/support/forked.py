"""Copies of one process that has imported mitmproxy and the addon: to start one takes a tenth of a
second, and not two of a core's.

What runs in a copy is mitmproxy's own entry point with the program's arguments, files, directory
and environment. Tests of how programs are started, and of what an installed package imports, start
them the usual way.
"""

import atexit
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import Any

get_context("forkserver").set_forkserver_preload(["tests.support.forked_imports"])
_OF_THE_PAGE = "mitmproxy.tools.web"


class _File:
    """A file descriptor that goes along to the copy."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __reduce__(self) -> tuple[Callable[..., int], tuple[object]]:
        return _received, (DupFd(self._number),)


def _received(sent: Any) -> int:
    return int(sent.detach())


class Forked:
    """A program as `subprocess.Popen` would show it. `files`: its standard input, output and error.
    `command`: begins with the path of `mitmdump`, `mitmweb` or `mitmproxy`.
    """

    def __init__(
        self,
        command: Sequence[str],
        files: tuple[int, int, int],
        environment: Mapping[str, str],
        cwd: Path | None = None,
    ) -> None:
        self.args = command
        arguments = (command, [*map(_File, files)], dict(environment), cwd or Path.cwd())
        self._process = ForkServerProcess(target=_run, args=arguments, daemon=True)
        self._process.start()
        assert self._process.pid
        self.pid = self._process.pid
        self.terminate = self._process.terminate
        self.kill = self._process.kill

    def poll(self) -> int | None:
        """Return the status with which the program ended, `None` while it runs."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Return the status once the program has ended. Raises TimeoutExpired."""
        self._process.join(timeout)
        if (status := self.poll()) is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return status


def _run(
    command: Sequence[str], files: Sequence[int], environment: dict[str, str], cwd: Path
) -> None:
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - as long as the program
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(write_through=True)  # type: ignore[union-attr]
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    sys.argv = [*command]
    from mitmproxy.tools import main  # noqa: PLC0415 - the process that asks has no use for it

    name = Path(command[0]).name
    if name != "mitmweb":  # the addon tells by these modules whether there is a page
        for module in [module for module in sys.modules if module.startswith(_OF_THE_PAGE)]:
            del sys.modules[module]
    try:
        getattr(main, name)(command[1:])
    finally:
        atexit._run_exitfuncs()
