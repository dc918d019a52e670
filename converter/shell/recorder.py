"""Keeps exchanges as recordings while mitmproxy runs: each one with `think_record`, a chosen one
with the command `think.record`.

A flow is copied on mitmproxy's loop, which is quick; reading, cleaning and writing it takes its
time in a thread, one flow after another, so that no stream waits for it.
"""

import logging
import os
import re
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from mitmproxy import ctx
from mitmproxy.http import HTTPFlow

from converter.endpoints import find
from converter.observe.printable import bounded
from converter.recordings import expectation, flow_file
from converter.recordings.expectation import Expectation
from converter.recordings.library import Library
from converter.recordings.recording import Recording, RecordingError
from converter.shell.aside import in_short_steps
from converter.shell.log_lines import LONGEST_LINE, path_of
from converter.shell.messages import model_of
from converter.shell.thought_hook import announce

_log = logging.getLogger(__name__)

DEFAULT_FOLDER = "recordings"
_NUMBERED = re.compile(r"\.?(\d{4,})-")
_NO_NAME = re.compile(r"[^a-z0-9]+")
MOST_WAITING = 200
"""Exchanges that wait to be written; scrubbing takes longer than a fast server's small replies."""
_LONGEST = 60
"""Characters of a model's name in a recording's."""


class Recorder:
    """An addon of its own. What it was given is written when mitmproxy ends at the latest."""

    name = "think-recorder"

    def __init__(self) -> None:
        self._worker: ThreadPoolExecutor | None = None
        self._waiting = 0

    def ended(self, flow: HTTPFlow) -> None:
        """Keep an exchange that is over, if all are kept."""
        folder = str(ctx.options.think_record)
        if folder and self._waiting >= MOST_WAITING:
            _log.error("think: no recording: %s wait to be written", MOST_WAITING)
        elif folder:
            copied = flow.copy()
            self._hand_over(lambda: _keep_numbered(copied, Path(folder).expanduser()))

    def keep(self, flow: HTTPFlow, name: str, expected: Expectation | None = None) -> Future[Path]:
        """Keep a flow under a name, and what it should read; the file is there when the future is
        done. Raises RecordingError.
        """
        library = Library(Path(str(ctx.options.think_record) or DEFAULT_FOLDER).expanduser())
        path = library.path(name)
        if path.exists():
            raise RecordingError(f"{path} is there already")
        recording = flow_file.from_flow(flow, name)
        make_folder(library.folder)
        return self._hand_over(lambda: _keep_named(library, recording, expected))

    def done(self) -> None:
        """Finish what is to be written."""
        if self._worker:
            self._worker.shutdown(wait=True)
            self._worker = None

    def _hand_over[Result](self, write: Callable[[], Result]) -> Future[Result]:
        self._worker = self._worker or ThreadPoolExecutor(1, "think-recorder")
        future = self._worker.submit(in_short_steps, write)
        self._waiting += 1
        future.add_done_callback(self._written)
        return future

    def _written(self, written: Future[Any]) -> None:
        self._waiting -= 1
        _log_failure(written)


def make_folder(folder: Path) -> None:
    """Make a folder to write in, if its parent is there. Raises RecordingError."""
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise RecordingError(f"{folder} cannot be made: {error.strerror}") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise RecordingError(f"{folder} is not to be written in")


def _log_failure(written: Future[Any]) -> None:
    """A recording that cannot be kept costs a line of the log."""
    error = written.exception()
    if isinstance(error, RecordingError):
        _log.error("think: no recording: %s", error)
    elif error:
        _log.error("think: no recording, by a fault of the addon", exc_info=error)


def _keep_named(library: Library, recording: Recording, expected: Expectation | None) -> Path:
    path = library.keep(recording)
    if expected:
        expectation.keep(path, recording, expected)
    announce(f"recording: kept {path}")
    return path


def _keep_numbered(flow: HTTPFlow, folder: Path) -> None:
    """Keep a recording under the next number, which no other run takes."""
    try:
        recording = flow_file.from_flow(flow, "")
    except RecordingError as error:
        _log.info("recording: none of %s: %s", path_of(flow), bounded(str(error), LONGEST_LINE))
        return
    library = Library(folder)
    make_folder(folder)
    with _next_number(folder) as number:
        library.keep(replace(recording, name=f"{number:04}-{_described(recording)}"))


@contextmanager
def _next_number(folder: Path) -> Iterator[int]:
    """Claim the number after the highest; others see the claim until the recording is there."""
    number = 0
    while (claim := _claimed(folder, number := max(number, *_numbers(folder)) + 1)) is None:
        pass
    try:
        yield number
    finally:
        claim.unlink(missing_ok=True)


def _claimed(folder: Path, number: int) -> Path | None:
    """Return a claim to a number, None if another run was quicker."""
    claim = folder / f".{number:04}-"
    try:
        claim.touch(exist_ok=False)
    except FileExistsError:
        return None
    except OSError as error:
        raise RecordingError(f"{folder}: {error.strerror}") from None
    if _numbers(folder).count(number) == 1:
        return claim
    claim.unlink()  # it was taken and used since we looked
    return None


def _numbers(folder: Path) -> list[int]:
    found = [_NUMBERED.match(path.name) for path in folder.iterdir()]
    return [0, *(int(number[1]) for number in found if number)]


def _described(recording: Recording) -> str:
    """Return what an exchange was: `chat-tiny-think`. The last part of a model's path says enough,
    and tells no folder.
    """
    route, _ = find(recording.asked.method, recording.asked.path) or (None, "")
    kind = route.kind if route else "exchange"
    model = re.split(r"[\\/]", model_of(recording.asked.body).rstrip("\\/"))[-1].lower()
    return "-".join(filter(None, (kind, _NO_NAME.sub("-", model)[:_LONGEST].strip("-"))))
