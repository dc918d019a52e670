"""Several processes of mitmdump on one port: `run(4, arguments)`.

The kernel gives each new connection to one of them. A process that was killed or ended in good
order is replaced. One that ends with an error ends all: mitmdump does so only when it cannot start.
They share the memory of replies, in a file where the user names no place; what one knows of a
server, the others have to find out.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from types import FrameType
from typing import Any

from converter.command import event_loop
from converter.exchange.option_readers import MEMORY_VARIABLE

NUMBER = "{worker}"
"""In an argument: the number of the process, so that each has a file of its own."""
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, *filter(None, [getattr(signal, "SIGHUP", None)]))
SECONDS_TO_STOP = 10
_NAMES_A_FILE = ("-w", "--save-stream-file")
_OWN_PLACE = (*_NAMES_A_FILE, "save_stream_file=", "think_metrics=")
"""Options that need a file or a port of their own in each process; recordings and thoughts do not.
"""

_spawn = get_context("spawn")


def run(count: int, arguments: Sequence[str], first: Sequence[str] = ()) -> int:
    """Run `count` processes until a signal ends them; return the exit code.

    `arguments` are mitmdump's; `first` are for the first process alone. Raises ValueError when they
    cannot work side by side.
    """
    check(count, arguments)
    if count > 1:
        os.environ.setdefault(MEMORY_VARIABLE, "sqlite:")
    return _Crew(count, arguments, first).run()


def check(count: int, arguments: Sequence[str]) -> None:
    """Raise ValueError when so many processes cannot run with such arguments."""
    if count < 1:
        raise ValueError(f"expected a number of workers from 1, got {count}")
    if count > 1 and not event_loop.can_share_port():
        raise ValueError("expected one worker: this system lets no two processes share a port")
    if count > 1 and (shared := _shared(arguments)):
        raise ValueError(
            f"expected a place for each worker, got one for all in {shared!r}:"
            f" put {NUMBER} into its name"
        )


def _shared(arguments: Sequence[str]) -> str:
    """Return the argument that would have all processes write to one place; none: empty."""
    for word, following in zip(arguments, [*arguments[1:], ""], strict=True):
        place = following if word in _NAMES_A_FILE else word
        if word.startswith(_OWN_PLACE) and NUMBER not in place and not place.endswith("="):
            return place
    return ""


def _work(number: int, arguments: Sequence[str], parent: Connection) -> None:
    """Be one of the processes."""
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    event_loop.share_port()
    event_loop.use_uvloop()
    from mitmproxy.tools.main import mitmdump  # noqa: PLC0415 (who only watches needs none of it)

    mitmdump([word.replace(NUMBER, str(number)) for word in arguments])


def _end_with(parent: Connection) -> None:
    """End in good order when the parent is gone, however it went."""
    wait([parent])
    os.kill(os.getpid(), signal.SIGTERM)


@dataclass(frozen=True)
class _Worker:
    number: int
    process: SpawnProcess


class _Crew:
    """The processes, seen from the one that has started them."""

    def __init__(self, count: int, arguments: Sequence[str], first: Sequence[str]) -> None:
        self._count, self._arguments, self._first = count, list(arguments), list(first)
        self._workers: list[_Worker] = []
        self._stopping = False
        self._theirs, self._ours = _spawn.Pipe(duplex=False)

    def run(self) -> int:
        before = {number: signal.signal(number, self._told_to_stop) for number in STOP_SIGNALS}
        try:
            for number in range(1, self._count + 1):
                self._start(number)
            return self._watch()
        finally:
            self._stop()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _start(self, number: int) -> None:
        arguments = [*self._arguments, *(self._first if number == 1 else [])]
        process = _spawn.Process(target=_work, args=(number, arguments, self._theirs))
        process.start()
        self._workers.append(_Worker(number, process))
        if self._stopping:  # the signal came while it started
            process.terminate()

    def _watch(self) -> int:
        """Replace processes that end, until all are to stop or one cannot start."""
        while not self._stopping:
            wait([worker.process.sentinel for worker in self._workers])
            for worker in [worker for worker in self._workers if not worker.process.is_alive()]:
                self._workers.remove(worker)
                if self._stopping:
                    continue
                code = worker.process.exitcode or 0
                words = f"worker {worker.number} has ended (exit code {code})"
                if code > 0:
                    _say(f"{words}, so all are stopped")
                    return code
                _say(f"{words}; another takes its place")
                self._start(worker.number)
        return 0

    def _told_to_stop(self, _number: int, _frame: FrameType | None) -> Any:
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
        for worker in list(self._workers):
            act(worker.process)


def _say(words: str) -> None:
    print(f"think-addon: {words}.", file=sys.stderr, flush=True)
