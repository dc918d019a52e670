"""mitmproxy's console with the addon in a real terminal: a tmux of our own, which nothing on the
machine meets.
"""

import itertools
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

from tests.support.harness import ADDON, MITMPROXY, SECONDS_TO_START, started

COLUMNS, LINES = 160, 50
TERMINAL = {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
NUMBERS = itertools.count()
LISTENS = "[127.0.0.1:"
HELD = ("sleep", "infinity")
"""The terminal is another program's, so that it is there before mitmproxy and is looked at after."""


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
        size = ["-x", str(COLUMNS), "-y", str(LINES)]
        self._tmux("-f", "/dev/null", "new-session", "-d", *size, *HELD)
        self._tmux("pipe-pane", f"exec cat > '{self._written}'")
        command = [str(MITMPROXY), "-s", str(ADDON), *mode, *arguments]
        with open(self._tmux("display-message", "-p", "#{pane_tty}").strip(), "r+b", 0) as terminal:
            files = (terminal.fileno(),) * 3
            self._program = started(command, files, {**os.environ, **TERMINAL})
        self.shows(LISTENS)
        self.port = int(self.screen.rpartition(LISTENS)[2].partition("]")[0])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._program.terminate()
        try:
            self._program.wait(SECONDS_TO_START)
        finally:
            self._tmux("kill-server")

    @property
    def screen(self) -> str:
        """The text on the terminal."""
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
        """Wait until the terminal shows `text`; return all it shows."""
        _until(lambda: text in self.screen, lambda: f"no {text!r}, but:\n{self.screen}")
        return self.screen

    def hides(self, text: str) -> str:
        """Wait until the terminal no longer shows `text`; return all it shows."""
        _until(lambda: text not in self.screen, lambda: f"still {text!r}:\n{self.screen}")
        return self.screen

    def _tmux(self, *arguments: str) -> str:
        command = ["tmux", "-u", "-S", str(self._socket), *arguments]
        environment = {**os.environ, **TERMINAL}
        environment.pop("TMUX", None)
        done = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS_TO_START,
            check=False,
        )
        assert done.returncode == 0, f"tmux {arguments[0]}: {done.stderr}"
        return done.stdout


def _until(holds: Callable[[], bool], failure: Callable[[], str]) -> None:
    deadline = time.monotonic() + SECONDS_TO_START
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(failure())
        time.sleep(0.02)  # a terminal has no other way to tell than its screen
