"""A process that keeps long exchanges, beside mitmproxy's: `recording_work` in another interpreter.

In a thread of mitmproxy's it had the loop wait, because Python lets one thread run at a time, and
leaves it only between two steps of its own: with a stream of 11 MB to keep, single calls of C over
all that it holds (a join, a Counter of its parts, the freeing of a million objects) took 0.1 to 0.6
seconds, in a dozen places; and each system call of the loop cost it a turn. Shorter steps in each
place would have to be kept short for ever. A process needs none, leaves mitmproxy its core (it is
nice), gives its memory back, and survives mitmproxy: what it was given is written.

mitmproxy's own binary holds no Python to start; there, and where the process does not start, the
thread does the work in steps that are as short as they go.

It reads orders with flows' files from its standard input, and answers each with the recording's
file or with the error. Both are pickled, because both ends are of the same code and user.
"""

import gc
import os
import pickle
import subprocess
import sys
import traceback
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from mitmproxy.http import HTTPFlow
from mitmproxy.io import FlowReader

from converter.recordings.recording import RecordingError
from converter.shell.record import recording_work
from converter.shell.record.recording_work import Order

_PROJECT = Path(__file__).parents[3]
_READY = b"ready\n"
_NICENESS = 10


class RecordingProcess:
    """The process as mitmproxy's side sees it, in one thread."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._fails = bool(getattr(sys, "frozen", False)) or not sys.executable

    def runs(self) -> bool:
        """Start it, unless it runs; tell whether it does."""
        if self._process is None and not self._fails:
            self._fails = not self._start()
        return self._process is not None

    def keep(self, data: bytes, order: Order) -> Path:
        """Have the flow in these bytes kept; return the recording's file. Raises RecordingError,
        and RuntimeError for a fault of ours.
        """
        assert self._process
        assert self._process.stdin
        assert self._process.stdout
        with suppress(OSError):  # one that has ended answers nothing
            pickle.dump((data, order), self._process.stdin)
            self._process.stdin.flush()
        try:
            answer: Path | Exception = pickle.load(self._process.stdout)
        except EOFError:
            words = f"the process that writes it ended with status {self.end()}"
            raise RecordingError(words) from None
        if isinstance(answer, Exception):
            raise answer
        return answer

    def end(self) -> int:
        """Let it end; return its status."""
        process, self._process = self._process, None
        if process is None:
            return 0
        with process, suppress(OSError):
            assert process.stdin
            process.stdin.close()
        return process.returncode

    def _start(self) -> bool:
        path = os.pathsep.join(filter(None, [str(_PROJECT), os.environ.get("PYTHONPATH")]))
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "converter.shell.record.recording_process"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,  # a console of mitmproxy's draws the terminal
                env={**os.environ, "PYTHONPATH": path},
                # Or Ctrl-C would end it in the middle; not a session of its own, among which Linux
                # shares the processor evenly, however nice they are.
                process_group=0 if os.name == "posix" else None,
            )
        except OSError:
            return False
        assert self._process.stdout
        if self._process.stdout.readline() == _READY:
            return True
        self.end()
        return False


def serve(orders: BinaryIO, answers: BinaryIO) -> None:
    """Do what is ordered, until the orders end."""
    gc.disable()  # it would look at all that an exchange is made of, again and again
    answers.write(_READY)
    answers.flush()
    with suppress(EOFError):
        while True:
            pickle.dump(_answer(*pickle.load(orders)), answers)
            answers.flush()
            gc.collect()


def _answer(data: bytes, order: Order) -> Path | Exception:
    try:
        [flow] = FlowReader(BytesIO(data)).stream()
        assert isinstance(flow, HTTPFlow)
        return recording_work.keep(flow, order)
    except RecordingError as error:
        return error
    except Exception:
        return RuntimeError(traceback.format_exc())


if __name__ == "__main__":
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    serve(sys.stdin.buffer, sys.stdout.buffer)
