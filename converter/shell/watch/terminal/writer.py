"""Writes to a terminal or pipe that may be slow, or not read at all, without any waiting."""

import threading
from collections import deque
from time import sleep
from typing import TextIO

from converter.wire.bounds import TERMINAL_LIMIT

_PIECE = 1 << 12
"""Bytes per write: no more than every pipe takes at once, so that a line of the log never lands
inside one.
"""
_PAUSE = 0.05
"""Seconds until a file that does not block, and is full, is tried again."""


class Writer:
    """A file that is written in order, from a thread of its own; words beyond the bound are left
    out, and a line says how many.
    """

    def __init__(self, file: TextIO) -> None:
        binary = file.buffer  # not the text layer: whoever waits in it keeps all of the log waiting
        self._raw = getattr(binary, "raw", binary)
        self._encoding = file.encoding or "utf-8"
        self._waiting: deque[str] = deque()
        self._size = 0
        self._left_out = 0
        self._stuck = False
        self._closed = False
        self._change = threading.Condition()
        # A daemon: a terminal that never takes the rest must not keep the program from ending.
        threading.Thread(target=self._run, name="think-terminal", daemon=True).start()

    def write(self, text: str) -> None:
        """Have `text` written soon."""
        with self._change:
            if self._closed or not text:
                return
            if self._size + len(text) > TERMINAL_LIMIT:
                self._left_out += len(text)
                return
            if self._left_out:
                count = f"{self._left_out:,} characters were not printed"
                self._add(f"\n[{count}: the terminal did not take them]\n")
                self._left_out = 0
            self._add(text)

    def settle(self, seconds: float) -> bool:
        """Wait until all is written, at most so long; tell whether it is. Nobody waits twice for
        what does not move.
        """
        with self._change:
            self._stuck = not self._change.wait_for(
                lambda: not self._size, 0 if self._stuck else seconds
            )
            return not self._stuck

    def close(self, seconds: float) -> None:
        """Write the rest, at most so long, and end."""
        self.settle(seconds)
        with self._change:
            self._closed = True
            self._change.notify_all()

    def _add(self, text: str) -> None:
        self._waiting.append(text)
        self._size += len(text)
        self._change.notify_all()

    def _run(self) -> None:
        while True:
            with self._change:
                self._change.wait_for(lambda: self._waiting or self._closed)
                if not self._waiting:
                    return
                text = "".join(self._waiting)
                self._waiting.clear()
            self._put(memoryview(text.encode(self._encoding, "backslashreplace")))
            with self._change:
                self._size -= len(text)
                self._stuck = False
                self._change.notify_all()

    def _put(self, data: memoryview) -> None:
        try:
            while data:
                written = self._raw.write(data[:_PIECE])
                if written is None:  # full, and another program has made it non-blocking
                    sleep(_PAUSE)
                data = data[written or 0 :]
        except (OSError, ValueError):
            # nobody is there any more, as mitmproxy will notice by its own lines
            with self._change:
                self._closed = True
