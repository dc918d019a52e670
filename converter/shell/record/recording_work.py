"""The work of keeping one exchange: it is cleaned, replayed for each dialect, and written under a
name or the next number. It takes its time, and needs nothing of mitmproxy but the flow.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from mitmproxy.http import HTTPFlow

from converter.dialects.table import find
from converter.recordings import expectation, flow_file
from converter.recordings.expectation import Expectation
from converter.recordings.library import Library
from converter.recordings.recording import Recording, RecordingError
from converter.shell.messages import model_of

_NUMBERED = re.compile(r"\.?(\d{4,})-")
_NO_NAME = re.compile(r"[^a-z0-9]+")
_LONGEST = 60
"""Characters of a model's name in a recording's."""


class NothingToKeepError(RecordingError):
    """An exchange of which there is nothing to keep: the server gave no reply."""


@dataclass(frozen=True, slots=True)
class Order:
    """The place of a recording: in `folder`, under `name`, which is empty for the next number.
    `expected`: what it should read.
    """

    folder: str
    name: str = ""
    expected: Expectation | None = None


def keep(flow: HTTPFlow, order: Order) -> Path:
    """Keep a flow as a recording; return its file. Raises RecordingError."""
    folder = Path(order.folder)
    return _keep_named(flow, folder, order) if order.name else _keep_numbered(flow, folder)


def make_folder(folder: Path) -> None:
    """Make a folder to write in, if its parent is there. Raises RecordingError."""
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise RecordingError(f"{folder} cannot be made: {error.strerror}") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise RecordingError(f"{folder} is not to be written in")


def _keep_named(flow: HTTPFlow, folder: Path, order: Order) -> Path:
    recording = flow_file.from_flow(flow, order.name)
    path = Library(folder).keep(recording)
    if order.expected:
        expectation.keep(path, recording, order.expected)
    return path


def _keep_numbered(flow: HTTPFlow, folder: Path) -> Path:
    """Keep a recording under the next number, which no other run takes."""
    try:
        recording = flow_file.from_flow(flow, "")
    except RecordingError as error:
        raise NothingToKeepError(str(error)) from None
    make_folder(folder)
    with _next_number(folder) as number:
        name = f"{number:04}-{_described(recording)}"
        return Library(folder).keep(replace(recording, name=name))


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
    matches = [_NUMBERED.match(path.name) for path in folder.iterdir()]
    return [0, *(int(number[1]) for number in matches if number)]


def _described(recording: Recording) -> str:
    """Return what an exchange was: `chat-tiny-think`. The last part of a model's path says enough,
    and tells no folder.
    """
    route, _ = find(recording.asked.method, recording.asked.path) or (None, "")
    kind = route.kind if route else "exchange"
    model = re.split(r"[\\/]", model_of(recording.asked.body).rstrip("\\/"))[-1].lower()
    return "-".join(filter(None, (kind, _NO_NAME.sub("-", model)[:_LONGEST].strip("-"))))
