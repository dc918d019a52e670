"""Keep one exchange: redact it, replay it for each dialect, and write the files.

The recording gets a name or the next number. Nothing of mitmproxy is needed but the flow.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from mitmproxy.http import HTTPFlow

from converter.addon.files import make_folder
from converter.addon.http_messages import model_of
from converter.core.dialects.table import find
from converter.extras.recordings import flow_file
from converter.extras.recordings.library import Expectation, Library
from converter.extras.recordings.recording import Recording, RecordingError
from converter.extras.recordings.redact.redactor import redacted, redacted_text

_NUMBERED = re.compile(r"\.?(\d{4,})-")
_NO_NAME = re.compile(r"[^a-z0-9]+")
_CLIENT = re.compile(r"[\w.+-]{1,60}/[\w.+-]{1,40}")
"""A program and its version."""
_LONGEST = 60
"""Characters of a model's name in a recording's."""


class NothingToKeepError(RecordingError):
    """An exchange of which there is nothing to keep: the server gave no reply."""


def keep(flow: HTTPFlow, folder: Path, name: str = "", expected: Expectation | None = None) -> Path:
    """Keep a flow as a recording, under the next number if `name` is empty, which no other run
    takes; return its file. Raises RecordingError.
    """
    library = Library(folder)
    if name:
        recording = flow_file.from_flow(flow, name)
        path = library.keep(recording)
        if expected:
            library.expect(recording, expected)
        return path
    try:
        recording = flow_file.from_flow(flow, "")
    except RecordingError as error:
        raise NothingToKeepError(str(error)) from None
    make_folder(folder)
    with _next_number(folder) as number:
        return library.keep(replace(recording, name=f"{number:04}-{_described(recording)}"))


def redacted_flow(flow: HTTPFlow) -> HTTPFlow:
    """Return a flow as its recording would show it, with its own id, time, marker and comment, and
    its client's name. Raises RecordingError.
    """
    recording = flow_file.from_flow(flow, flow.id)
    shown = flow_file.to_flow(redacted(recording))
    state = flow_file.moved(shown.get_state(), flow.request.timestamp_start - flow_file.BEGAN)
    clean = HTTPFlow.from_state(state)
    assert isinstance(clean, HTTPFlow)
    clean.id, clean.marked = flow.id, flow.marked
    clean.comment = redacted_text(recording, flow.comment)
    client = flow.request.headers.get("user-agent", "").partition(" ")[0]
    if _CLIENT.fullmatch(client):
        clean.request.headers["user-agent"] = client
    return clean


@contextmanager
def _next_number(folder: Path) -> Iterator[int]:
    """Claim the number after the highest; others see the claim until the recording is there."""
    number = 0
    while True:
        number = max(number, *_numbers(folder)) + 1
        claim = folder / f".{number:04}-"
        try:
            claim.touch(exist_ok=False)
        except FileExistsError:
            continue  # another run was quicker
        except OSError as error:
            raise RecordingError(f"{folder}: {error.strerror}") from None
        if _numbers(folder).count(number) == 1:
            break
        claim.unlink()  # it was taken and used since we looked
    try:
        yield number
    finally:
        claim.unlink(missing_ok=True)


def _numbers(folder: Path) -> list[int]:
    matches = [_NUMBERED.match(path.name) for path in folder.iterdir()]
    return [0, *(int(number[1]) for number in matches if number)]


def _described(recording: Recording) -> str:
    """Return the endpoint and the model, such as `chat-tiny-think`. Of a model's path only the last
    part is used, which names no folder.
    """
    route, _ = find(recording.request.method, recording.request.path) or (None, "")
    kind = route.kind if route else "exchange"
    model = re.split(r"[\\/]", model_of(recording.request.body).rstrip("\\/"))[-1].lower()
    return "-".join(filter(None, (kind, _NO_NAME.sub("-", model)[:_LONGEST].strip("-"))))
