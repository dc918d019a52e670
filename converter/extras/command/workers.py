"""`run_workers` runs several processes of mitmdump on one port, for `think-addon --workers 4`.
`start.py` calls it.

The kernel gives each new connection to one of the processes. A process that was killed, or that
ended with exit code 0, is replaced. Any other exit code ends all processes, because mitmdump fails
only when it cannot start. The processes share one memory of replies and of lessons about servers: a
SQLite file, unless the user sets another memory.

A worker replaces three functions of `asyncio` before mitmproxy starts, because mitmproxy 12 has no
options for them: `asyncio.start_server`, by which mitmproxy opens its port, `asyncio.run`, and
`asyncio.eager_task_factory`. mitmproxy looks them up in `asyncio` at each use.
"""

import asyncio
import functools
import importlib
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, cast

from converter.addon.exchange.option_readers import MEMORY_VARIABLE
from converter.extras.command.addresses import certificates_folder

NUMBER = "{worker}"
"""In each process's arguments this text is replaced by the process's number: `-w flows-{worker}`
becomes `-w flows-1`, `-w flows-2` ...
"""
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, *filter(None, [getattr(signal, "SIGHUP", None)]))
"""The signals that end all workers."""
SECONDS_TO_STOP = 10
"""How long the workers may take to end after SIGTERM, before they are killed."""
_AUTHORITY, _LAST_FILE = "mitmproxy-ca.pem", "mitmproxy-dhparam.pem"
"""Two files of mitmproxy's certificate authority. If `_AUTHORITY` is missing, mitmproxy writes all
files of the authority, and `_LAST_FILE` last.
"""
_FILE_OPTIONS = ("-w", "--save-stream-file")
"""Options of mitmdump whose next argument names a file that mitmdump writes."""
_UNSHARED_TARGETS = (*_FILE_OPTIONS, "save_stream_file=", "think_metrics=")
"""The beginnings of arguments that name a file or a port. Each process needs a file or port of its
own. The folder of `think_record` and the file or pipe of `think_events` can be shared.
"""

_spawn = get_context("spawn")
"""Starts each worker as a new Python process, not as a fork of this one."""


def run_workers(count: int, arguments: Sequence[str], first: Sequence[str] = ()) -> int:
    """Run `count` processes of mitmdump until a stop signal comes or one of them fails; return the
    exit code.

    `arguments` are mitmdump's; `first` are further arguments for the first process alone. Raises
    ValueError if the processes cannot work side by side (`check_workers`).
    """
    check_workers(count, arguments)
    _print_line(f"starting {count} processes")
    if count > 1:
        os.environ.setdefault(MEMORY_VARIABLE, "sqlite:")
    return _Crew(count, arguments, first).run()


def check_workers(count: int, arguments: Sequence[str]) -> None:
    """Raise ValueError if `count` processes with these arguments cannot work side by side: they
    cannot share a port, or would write to the same file.
    """
    if count < 1:
        raise ValueError(f"expected a number from 1 for --workers, got {count}")
    if count == 1:
        return
    if not can_share_port():
        raise ValueError("expected one worker: this system lets no two processes share a port")
    for word, following in pairwise([*arguments, ""]):
        target = following if word in _FILE_OPTIONS else word
        if word.startswith(_UNSHARED_TARGETS) and NUMBER not in target and not target.endswith("="):
            raise ValueError(
                f"expected a file or port for each worker, got one for all in {target!r}:"
                f" put {NUMBER} into its name"
            )


def _run_worker(number: int, arguments: Sequence[str], parent: Connection) -> None:
    """Run the worker `number`: mitmdump in this process, until mitmdump or the parent process ends.
    `parent`: a pipe that closes when the parent ends.
    """
    threading.Thread(target=_end_with_parent, args=(parent,), daemon=True).start()
    share_port()
    use_uvloop()
    from mitmproxy.tools.main import mitmdump  # noqa: PLC0415 (the parent needs no mitmproxy)

    mitmdump([word.replace(NUMBER, str(number)) for word in arguments])


def _end_with_parent(parent: Connection) -> None:
    """Wait until the parent process has ended, even by a kill; then end this process by SIGTERM."""
    wait([parent])
    os.kill(os.getpid(), signal.SIGTERM)


class _Crew:
    """Starts, replaces and stops the worker processes, in their parent process. The parameters are
    those of `run_workers`.
    """

    def __init__(self, count: int, arguments: Sequence[str], first: Sequence[str]) -> None:
        self._count, self._arguments, self._first = count, list(arguments), list(first)
        self._workers: dict[SpawnProcess, int] = {}
        self._stopping = False
        self._theirs, self._ours = _spawn.Pipe(duplex=False)

    def run(self) -> int:
        """Run the workers until a stop signal comes or a worker fails; return the exit code. A
        worker that has not ended `SECONDS_TO_STOP` after its SIGTERM is killed.
        """
        before = {number: signal.signal(number, self._terminate) for number in STOP_SIGNALS}
        try:
            self._start_all()
            return self._watch()
        finally:
            self._terminate()
            deadline = time.monotonic() + SECONDS_TO_STOP
            self._for_each_worker(lambda each: each.join(max(0.0, deadline - time.monotonic())))
            self._for_each_worker(SpawnProcess.kill)
            self._for_each_worker(SpawnProcess.join)
            for number, handler in before.items():
                signal.signal(number, handler)

    def _start_all(self) -> None:
        """Start the first worker, wait until it has written mitmproxy's certificates, and start the
        others. Workers that wrote certificates at the same time would read incomplete files.
        """
        folder = certificates_folder(self._arguments)
        goes_on = (folder / _AUTHORITY).exists()
        self._start(1)
        [first] = self._workers
        while not (goes_on or self._stopping or (folder / _LAST_FILE).exists()):
            # Do not wait longer if the first worker has ended; `_watch` reports its exit code.
            goes_on = bool(wait([first.sentinel], timeout=0.05))
        for number in range(2, self._count + 1):
            self._start(number)

    def _start(self, number: int) -> None:
        """Start the worker with this number."""
        arguments = [*self._arguments, *(self._first if number == 1 else [])]
        process = _spawn.Process(target=_run_worker, args=(number, arguments, self._theirs))
        process.start()
        self._workers[process] = number
        if self._stopping:
            # A stop signal that came before the process was in `_workers` did not reach it.
            process.terminate()

    def _watch(self) -> int:
        """Replace each worker that ends, until a stop signal comes or a worker ends with an error.
        Return the exit code: 0 after a stop signal, else that worker's.
        """
        while not self._stopping:
            wait([process.sentinel for process in self._workers])
            for process in [each for each in self._workers if not each.is_alive()]:
                number = self._workers.pop(process)
                if self._stopping:
                    continue
                code = process.exitcode or 0
                news = f"worker {number} has ended (exit code {code})"
                if code > 0:
                    _print_line(f"{news}, so all are stopped")
                    return code
                _print_line(f"{news}; another takes its place")
                self._start(number)
        return 0

    def _terminate(self, *_: object) -> None:
        """Send SIGTERM to all workers, and replace none from now on. Also the handler of a signal
        that stops the workers.
        """
        self._stopping = True
        self._for_each_worker(SpawnProcess.terminate)

    def _for_each_worker(self, act: Callable[[SpawnProcess], object]) -> None:
        """Call `act` with the process of each worker. `act`: for example `SpawnProcess.kill`."""
        for process in list(self._workers):
            act(process)


def _print_line(news: str) -> None:
    """Print news of the workers as a line on standard error."""
    print(f"think-addon: {news}.", file=sys.stderr, flush=True)


def can_share_port() -> bool:
    """Return True if processes that listen on one port share its connections. On macOS one process
    gets all connections.
    """
    return sys.platform == "linux" and hasattr(socket, "SO_REUSEPORT")


def share_port() -> None:
    """Replace `asyncio.start_server` by one that lets other processes listen on the same port; the
    kernel spreads new connections over the processes.
    """
    asyncio.start_server = functools.partial(asyncio.start_server, reuse_port=True)


def use_uvloop() -> bool:
    """Have `asyncio.run` use uvloop if it is installed, because uvloop needs less time for a chunk;
    also have `asyncio.eager_task_factory` work with uvloop. Return True if uvloop is installed.
    """
    try:
        uvloop = importlib.import_module("uvloop")
    except ImportError:
        return False
    asyncio.run = functools.partial(asyncio.run, loop_factory=uvloop.new_event_loop)
    factory: Any = asyncio.eager_task_factory

    def task(loop: Any, coroutine: Any, *, eager_start: bool = True, **options: Any) -> Any:
        """Return a task, which begins at once. `eager_start` is ignored: uvloop 0.23 passes it, and
        asyncio's factory of Python 3.13.0 does not take it.
        """
        return factory(loop, coroutine, **options)

    asyncio.eager_task_factory = cast("Any", task)
    return True
