"""A process that keeps long exchanges, beside mitmproxy's: `recording_work` in another interpreter.

In a thread of mitmproxy's it had the loop wait, because Python lets one thread run at a time, and
leaves it only between two steps of its own: with a stream of 11 MB to keep, single calls of C over
all that it holds (a join, a Counter of its parts, the freeing of a million objects) took 0.1 to 0.6
seconds, in a dozen places; and each system call of the loop cost it a turn. Shorter steps in each
place would have to be kept short for ever. A process needs none, leaves mitmproxy its core (it is
nice), gives its memory back, and survives mitmproxy: what it was given is written.

mitmproxy's own binary holds no Python to start; there, and where the process does not start, the
thread does the work in steps that are as short as they go.

It reads from its standard input a line of JSON, the order, and a flow's file; and answers with a
line.
"""

import gc
import json
import os
import subprocess
import sys
import traceback
from contextlib import suppress
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from mitmproxy.http import HTTPFlow
from mitmproxy.io import FlowReader

from converter.recordings.expectation import Expectation
from converter.recordings.recording import RecordingError
from converter.shell.record import recording_work
from converter.shell.record.recording_work import NothingToKeepError, Order

_PROJECT = Path(__file__).parents[3]
_READY = b"ready\n"
_NICENESS = 10
_FAULTS = {"nothing": NothingToKeepError, "error": RecordingError, "fault": RuntimeError}


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
        """Have the flow in these bytes kept; return the recording's file. Raises RecordingError."""
        assert self._process
        assert self._process.stdin
        assert self._process.stdout
        head = json.dumps({**asdict(order), "size": len(data)}).encode()
        with suppress(OSError):  # one that has ended answers nothing
            self._process.stdin.write(head + b"\n")
            self._process.stdin.write(data)
            self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RecordingError(f"the process that writes it ended with status {self.end()}")
        return _path(json.loads(answer))

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


def _path(answer: dict[str, str]) -> Path:
    """Return the file that an answer names. Raises RecordingError, and RuntimeError for a fault of
    ours.
    """
    for name, error in _FAULTS.items():
        if name in answer:
            raise error(answer[name])
    return Path(answer["path"])


def serve(orders: BinaryIO, answers: BinaryIO) -> None:
    """Do what is ordered, until the orders end."""
    gc.disable()  # it would look at all that an exchange is made of, again and again
    answers.write(_READY)
    answers.flush()
    for line in orders:
        order = json.loads(line)
        data = orders.read(order.pop("size"))
        answers.write(json.dumps(_answer(data, order)).encode() + b"\n")
        answers.flush()
        gc.collect()


def _answer(data: bytes, line: dict[str, Any]) -> dict[str, str]:
    try:
        [flow] = FlowReader(BytesIO(data)).stream()
        assert isinstance(flow, HTTPFlow)
        expected = line["expected"] and Expectation(**line["expected"])
        order = Order(line["folder"], line["name"], expected)
        return {"path": str(recording_work.keep(flow, order))}
    except RecordingError as error:
        return {"nothing" if isinstance(error, NothingToKeepError) else "error": str(error)}
    except Exception:
        return {"fault": traceback.format_exc()}


if __name__ == "__main__":
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    serve(sys.stdin.buffer, sys.stdout.buffer)
