"""Start and stop the proxies of a run, one for all contenders with the same arguments (`Proxies`).
How a process is pinned to a core, and how it is ended, is in `processes.py`; the starts of other
projects' proxies are in `peers.py`.

The addon is copied first: mitmproxy reloads an addon when its file changes, so an edit of the
sources would spoil a run.
"""

import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from tools.bench import peers
from tools.bench.contenders import FOLDER, SOURCE, WORKERS_PREFIX, Contender
from tools.bench.processes import PinnedProcess, Run

QUIET = ("--set", "flow_detail=0", "--set", "termlog_verbosity=warn")
"""Options with which mitmdump prints no flows, and logs nothing below a warning."""


def copy_addon(source: Path, folder: Path) -> Path:
    """Copy the addon's sources into `folder`; return that folder."""
    shutil.copytree(source / "converter", folder / "converter")
    shutil.copy(source / "think_addon.py", folder)
    return folder


class Proxies:
    """The processes of a run's proxies. Each is started once and runs until `stop`."""

    def __init__(
        self, server: int, source: Path, folder: Path, core: int, ports: Iterable[int]
    ) -> None:
        """`server`: the model server's port; `source`: the folder of the addon's sources; `folder`:
        for the proxies' files; `core`: of all proxies; `ports`: the ports on which they listen.
        """
        self._server, self._folder, self._core = server, folder, core
        self._source = copy_addon(source, folder / "addon")
        self._ports = iter(ports)
        self._started: dict[tuple[str, ...], tuple[int, PinnedProcess]] = {}

    def start(self, arguments: tuple[str, ...]) -> None:
        """Start a proxy with these arguments, unless one with the same arguments runs already.

        It is mitmdump or the addon's workers; or another project's proxy, if the first argument is
        its name.
        """
        if arguments in self._started:
            return
        own = self._folder / f"proxy{len(self._started)}"
        own.mkdir()
        run = Run(own, self._source, next(self._ports), self._server, self._core)
        start = peers.STARTERS.get(arguments[0])
        self._started[arguments] = (
            run.port,
            start(run) if start else _mitmdump(run, arguments),
        )

    def port_and_process(self, row: Contender) -> tuple[int, PinnedProcess | None]:
        """Return the port to which a contender's client sends, and the process of its proxy.

        A contender without a proxy has the server's port, and None.
        """
        return self._started[row.arguments] if row.arguments is not None else (self._server, None)

    def all(self) -> list[tuple[int, PinnedProcess]]:
        """Return port and process of each proxy, from the one that was started first."""
        return list(self._started.values())

    def stop(self) -> None:
        """Stop all proxies."""
        for _, process in self._started.values():
            process.stop()


def _mitmdump(run: Run, arguments: tuple[str, ...]) -> PinnedProcess:
    """Start mitmdump with the arguments of a contender; with `workers:N`, the addon's workers."""
    program, own = _split_program(arguments)
    mode = f"reverse:http://127.0.0.1:{run.server}@127.0.0.1:{run.port}"
    for name, folder in ((FOLDER, run.folder), (SOURCE, run.source)):
        own = [argument.replace(name, str(folder)) for argument in own]
    confdir = ("--set", f"confdir={run.folder}")
    return run.start([*program, *confdir, *QUIET, "--mode", mode, *own])


def _split_program(arguments: tuple[str, ...]) -> tuple[list[str], Iterable[str]]:
    """Return the command that a contender's arguments start, and the arguments that it gets.

    `("-s", "a.py")` -> the path of mitmdump, and both arguments. `("workers:2", "-s", "a.py")` ->
    a Python that starts two workers of the addon, and the last two arguments.
    """
    first, *others = arguments
    if not first.startswith(WORKERS_PREFIX):
        return [str(Path(sys.executable).with_name("mitmdump"))], arguments
    count = first.removeprefix(WORKERS_PREFIX)
    load = "import sys; from converter.extras.command.workers import run_workers"
    run = f"{load}; run_workers({count}, sys.argv[1:])"
    return [sys.executable, "-c", run], others
