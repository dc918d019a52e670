"""mitmproxy's console with the addon in a real terminal: a tmux of our own, which nothing on the
machine meets.
"""

import itertools
import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Self

from tests.support.harness import ADDON, MITMDUMP, SECONDS_TO_START

MITMPROXY = MITMDUMP.with_name("mitmproxy")
COLUMNS, LINES = 160, 50
NUMBERS = itertools.count()
GO = "go"
LISTENS = "[127.0.0.1:"
WAITS = 'tmux wait-for "$0"; exec "$@"'  # not before all that it writes is kept


class Console:
    """mitmproxy in a terminal of 160 columns and 50 lines, in front of one server; `port` is the
    proxy's.
    """

    def __init__(self, server: str, folder: Path, *arguments: str) -> None:
        number = next(NUMBERS)
        self._socket = folder / f"tmux-{number}"
        self._written = folder / f"terminal-{number}"
        mode = [
            "--mode",
            f"reverse:{server}@127.0.0.1:0",
            "--set",
            f"confdir={folder / 'mitmproxy'}",
        ]
        program = [str(MITMPROXY), "-s", str(ADDON), *mode, *arguments]
        size = ["-x", str(COLUMNS), "-y", str(LINES)]
        self._tmux("-f", "/dev/null", "new-session", "-d", *size, "sh", "-c", WAITS, GO, *program)
        self._tmux("pipe-pane", f"exec cat > '{self._written}'")
        self._process = int(self._tmux("display-message", "-p", "#{pane_pid}"))
        self._tmux("wait-for", "-S", GO)
        self.shows(LISTENS)
        self.port = int(self.screen.rpartition(LISTENS)[2].partition("]")[0])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(ProcessLookupError):
            os.kill(self._process, signal.SIGTERM)
        _until(lambda: not self._runs(), lambda: "mitmproxy does not end")

    @property
    def screen(self) -> str:
        """What the terminal shows."""
        return self._tmux("capture-pane", "-p")

    @property
    def written(self) -> bytes:
        """Every byte that has reached the terminal."""
        return self._written.read_bytes()

    def press(self, *keys: str) -> None:
        """Press keys, in tmux's names for them."""
        self._tmux("send-keys", *keys)

    def type(self, text: str) -> None:
        """Type a text as it is."""
        self._tmux("send-keys", "-l", text)

    def command(self, text: str) -> None:
        """Give a command in mitmproxy's own command bar."""
        self.press(":")
        self.type(text)
        self.press("Enter")

    def shows(self, text: str) -> str:
        """What the terminal shows, once `text` is there."""
        _until(lambda: text in self.screen, lambda: f"no {text!r}, but:\n{self.screen}")
        return self.screen

    def hides(self, text: str) -> str:
        """What the terminal shows, once `text` is gone."""
        _until(lambda: text not in self.screen, lambda: f"still {text!r}:\n{self.screen}")
        return self.screen

    def _runs(self) -> bool:
        """Whether the terminal is still there: it ends with its program."""
        return self._run("has-session").returncode == 0

    def _tmux(self, *arguments: str) -> str:
        done = self._run(*arguments)
        assert done.returncode == 0, f"tmux {arguments[0]}: {done.stderr}"
        return done.stdout

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = ["tmux", "-u", "-S", str(self._socket), *arguments]
        environment = {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        environment.pop("TMUX", None)
        return subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS_TO_START,
            check=False,
        )


def _until(holds: Callable[[], bool], failure: Callable[[], str]) -> None:
    deadline = time.monotonic() + SECONDS_TO_START
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(failure())
        time.sleep(0.02)  # a terminal has no other way to tell than its screen
