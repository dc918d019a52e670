"""A program whose output is a terminal: a pseudo-terminal, whose other end writes all that it gets
to a file.
"""

import os
import pty
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.harness import Program, started


class OnTerminal(Program):
    """As Program; what it has printed, escape sequences and all, is its `output`."""

    def __init__(
        self, command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        self._log = log
        log.touch()
        ours, its = pty.openpty()
        inherited = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        inherited |= {"TERM": "xterm-256color", **(environment or {})}
        with open(os.devnull, "rb") as nothing:
            self._process = started(command, (nothing.fileno(), its, its), inherited)
        os.close(its)
        self._reader = threading.Thread(target=_copy, args=(ours, log), daemon=True)
        self._reader.start()

    @property
    def raw(self) -> bytes:
        """Every byte that the terminal got; lines end with CR LF, as terminals want them."""
        return self._log.read_bytes()

    def stop(self) -> None:
        """As Program's; afterwards all that it has printed is in its output."""
        super().stop()
        self._reader.join()


def _copy(terminal: int, log: Path) -> None:
    with log.open("ab", buffering=0) as file, open(terminal, "rb", buffering=0) as from_terminal:
        while piece := _read(from_terminal.fileno()):
            file.write(piece)


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # nobody has the other end any more
        return b""
