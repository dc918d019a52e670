"""Several processes of mitmdump on one port: `run(4, arguments)`.

The kernel gives each new connection to one of them. A process that was killed or ended in good
order is replaced. An error ends all processes, because mitmdump ends with one only when it cannot
start. They share a memory of replies and of lessons about servers: a file, unless the user names
another.

The event loop is changed where mitmproxy has no options for it: mitmproxy 12 opens its port with
`asyncio.start_server`, runs by `asyncio.run`, and takes its task factory from
`asyncio.eager_task_factory`. mitmproxy looks these names up when it needs them, so a worker
replaces all three before mitmproxy starts.
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
from collections.abc import Callable, Coroutine, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from types import FrameType
from typing import Any

from converter.addon.exchange.option_readers import MEMORY_VARIABLE
from converter.extras.command.addresses import certificates_folder

NUMBER = "{worker}"
"""In an argument: the number of the process, so that each has a file of its own."""
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, *filter(None, [getattr(signal, "SIGHUP", None)]))
SECONDS_TO_STOP = 10
_AUTHORITY, _LAST_FILE = "mitmproxy-ca.pem", "mitmproxy-dhparam.pem"
"""mitmproxy's own certificates; it looks for the first of them, and writes the other one last."""
_NAMES_A_FILE = ("-w", "--save-stream-file")
_OWN_TARGET = (*_NAMES_A_FILE, "save_stream_file=", "think_metrics=")
"""Options that need a file or a port of their own in each process; recordings and thoughts do not.
"""

_spawn = get_context("spawn")


def run(count: int, arguments: Sequence[str], first: Sequence[str] = ()) -> int:
    """Run `count` processes until a signal ends them; return the exit code.

    `arguments` are mitmdump's; `first` are for the first process alone. Raises ValueError when they
    cannot work side by side.
    """
    check(count, arguments)
    _say(f"starting {count} processes")
    if count > 1:
        os.environ.setdefault(MEMORY_VARIABLE, "sqlite:")
    return _Crew(count, arguments, first).run()


def check(count: int, arguments: Sequence[str]) -> None:
    """Raise ValueError when so many processes cannot run with such arguments."""
    if count < 1:
        raise ValueError(f"expected a number from 1 for --workers, got {count}")
    if count > 1 and not can_share_port():
        raise ValueError("expected one worker: this system lets no two processes share a port")
    if count > 1 and (shared := _shared(arguments)):
        raise ValueError(
            f"expected a file or port for each worker, got one for all in {shared!r}:"
            f" put {NUMBER} into its name"
        )


def _shared(arguments: Sequence[str]) -> str:
    """Return the argument that would have all processes write to one place; none: empty."""
    for word, following in zip(arguments, [*arguments[1:], ""], strict=True):
        target = following if word in _NAMES_A_FILE else word
        if word.startswith(_OWN_TARGET) and NUMBER not in target and not target.endswith("="):
            return target
    return ""


def _work(number: int, arguments: Sequence[str], parent: Connection) -> None:
    """Run one worker: mitmdump in this process, until the parent ends."""
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    share_port()
    use_uvloop()
    from mitmproxy.tools.main import mitmdump  # noqa: PLC0415 (who only watches needs none of it)

    mitmdump([word.replace(NUMBER, str(number)) for word in arguments])


def _end_with(parent: Connection) -> None:
    """Wait until the parent is gone, however it ended, and then end this process in good order."""
    wait([parent])
    os.kill(os.getpid(), signal.SIGTERM)


class _Crew:
    """The processes, seen from the one that has started them."""

    def __init__(self, count: int, arguments: Sequence[str], first: Sequence[str]) -> None:
        self._count, self._arguments, self._first = count, list(arguments), list(first)
        self._workers: dict[SpawnProcess, int] = {}
        self._stopping = False
        self._theirs, self._ours = _spawn.Pipe(duplex=False)

    def run(self) -> int:
        before = {number: signal.signal(number, self._on_stop_signal) for number in STOP_SIGNALS}
        try:
            self._start_all()
            return self._watch()
        finally:
            self._stop()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _start_all(self) -> None:
        """Start the first worker, and the others once the certificates are there, which the first
        one makes. Several workers that write certificates at one time read half a file, and end.
        """
        folder = certificates_folder(self._arguments)
        goes_on = (folder / _AUTHORITY).exists()
        self._start(1)
        [first] = self._workers
        while not (goes_on or self._stopping or (folder / _LAST_FILE).exists()):
            # or it has ended: `_watch` says why
            goes_on = bool(wait([first.sentinel], timeout=0.05))
        for number in range(2, self._count + 1):
            self._start(number)

    def _start(self, number: int) -> None:
        arguments = [*self._arguments, *(self._first if number == 1 else [])]
        process = _spawn.Process(target=_work, args=(number, arguments, self._theirs))
        process.start()
        self._workers[process] = number
        if self._stopping:  # the signal came while it started
            process.terminate()

    def _watch(self) -> int:
        """Replace processes that end, until all are to stop or one cannot start."""
        while not self._stopping:
            wait([process.sentinel for process in self._workers])
            for process in [each for each in self._workers if not each.is_alive()]:
                number = self._workers.pop(process)
                if self._stopping:
                    continue
                code = process.exitcode or 0
                news = f"worker {number} has ended (exit code {code})"
                if code > 0:
                    _say(f"{news}, so all are stopped")
                    return code
                _say(f"{news}; another takes its place")
                self._start(number)
        return 0

    def _on_stop_signal(self, _number: int, _frame: FrameType | None) -> Any:
        self._stopping = True
        self._each(SpawnProcess.terminate)

    def _stop(self) -> None:
        self._stopping = True
        self._each(SpawnProcess.terminate)
        deadline = time.monotonic() + SECONDS_TO_STOP
        self._each(lambda process: process.join(max(0.0, deadline - time.monotonic())))
        self._each(SpawnProcess.kill)
        self._each(SpawnProcess.join)

    def _each(self, act: Callable[[SpawnProcess], object]) -> None:
        for process in list(self._workers):
            act(process)


def _say(news: str) -> None:
    print(f"think-addon: {news}.", file=sys.stderr, flush=True)


def can_share_port() -> bool:
    """Return True if processes that listen on one port share its connections. On macOS one process
    gets all connections.
    """
    return sys.platform == "linux" and hasattr(socket, "SO_REUSEPORT")


def share_port() -> None:
    """Let other processes listen on the same port; the kernel divides new connections."""
    asyncio.start_server = functools.partial(asyncio.start_server, reuse_port=True)


def use_uvloop() -> bool:
    """Run on uvloop if it is installed, because a chunk costs less then; return True if it is."""
    try:
        uvloop = importlib.import_module("uvloop")
    except ImportError:
        return False
    asyncio.run = functools.partial(_run, uvloop.new_event_loop)
    asyncio.eager_task_factory = _eager_task_factory(asyncio.eager_task_factory)
    return True


def _run[T](loop_factory: Any, main: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        return runner.run(main)


def _eager_task_factory(factory: Any) -> Any:
    """uvloop 0.23 passes `eager_start`, which the factory of Python 3.13.0 does not take."""

    def task(loop: Any, coroutine: Any, *, eager_start: bool = True, **options: Any) -> Any:
        del eager_start  # it always is
        return factory(loop, coroutine, **options)

    return task
