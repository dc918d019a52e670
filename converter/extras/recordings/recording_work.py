"""The work of the recorder's thread: `keep` writes a flow as a recording, `redacted_flow` redacts a
flow. `library.py` redacts, replays and writes the files.

A recording without a name gets the next number. No running mitmproxy is needed, only the flow.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from mitmproxy.http import HTTPFlow

from converter.addon.files import FileError, make_folder
from converter.addon.http_messages import model_of
from converter.core.dialects.table import find_endpoint
from converter.extras.recordings import flow_file
from converter.extras.recordings.library import Expectation, Library
from converter.extras.recordings.redact.redactor import redacted, redacted_text

_NUMBERED = re.compile(r"\.?(\d{4,})-")
"""Matches the beginning of a numbered recording's file name, or of a claim (`.0007-`)."""
_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")
"""Matches the characters of a model's name that a recording's name does not get."""
_CLIENT = re.compile(r"[\w.+-]{1,60}/[\w.+-]{1,40}")
"""Matches a client's name and version in a user agent, such as `claude-cli/2.1.332`. A redacted
flow keeps its user agent only in this form.
"""
_LONGEST_MODEL = 60
"""The most characters of a model's name within a recording's name."""


def keep(flow: HTTPFlow, folder: Path, name: str = "", expected: Expectation | None = None) -> Path:
    """Write a flow as the recording `name`, and return the recording's file. An empty `name` is
    replaced by the folder's next number, endpoint and model: `0007-chat-tiny-think`. No other
    process uses this number. `expected`: the expectation to write, None for none; it is ignored if
    `name` is empty.

    Raises RecordingError if the flow holds no reply that can be kept, and FileError if a file
    cannot be written.
    """
    library, recording = Library(folder), flow_file.from_flow(flow, name)
    if not name:
        request = recording.request
        route, _ = find_endpoint(request.method, request.path) or (None, "")
        kind = route.kind if route else "exchange"
        # If the model's name is a path, only its last part is used: a folder may name a user.
        model = re.split(r"[\\/]", model_of(request.body).rstrip("\\/"))[-1].lower()
        model = _NOT_IN_NAMES.sub("-", model)[:_LONGEST_MODEL].strip("-")
        make_folder(folder)
        with _claim_next_number(folder) as number:
            name = "-".join(filter(None, (f"{number:04}", kind, model)))
            return library.keep(replace(recording, name=name))
    path = library.keep(recording)
    if expected:
        library.write_expectation(recording, expected)
    return path


def redacted_flow(flow: HTTPFlow) -> HTTPFlow:
    """Return a flow redacted as its recording would be. The flow keeps its id, time, marker and
    (redacted) comment, and the client's name and version. Raises RecordingError if the flow cannot
    be recorded.
    """
    recording = flow_file.from_flow(flow, flow.id)
    clean = flow_file.to_flow(redacted(recording), began=flow.request.timestamp_start)
    clean.id, clean.marked = flow.id, flow.marked
    clean.comment = redacted_text(recording, flow.comment)
    client = flow.request.headers.get("user-agent", "").partition(" ")[0]
    if _CLIENT.fullmatch(client):
        clean.request.headers["user-agent"] = client
    return clean


@contextmanager
def _claim_next_number(folder: Path) -> Iterator[int]:
    """Yield the number after the highest in the folder. Until the end of the `with` block an empty
    file `.0007-` keeps other processes from using the number.
    """
    number = 0
    while True:
        number = max(number, *_used_numbers(folder)) + 1
        claim = folder / f".{number:04}-"
        try:
            claim.touch(exist_ok=False)
        except FileExistsError:
            continue  # Another process has just claimed this number.
        except OSError as error:
            raise FileError(f"{folder}: {error.strerror}") from None
        if _used_numbers(folder).count(number) == 1:
            break
        # Another process has claimed and used the number since `_used_numbers` looked.
        claim.unlink()
    try:
        yield number
    finally:
        claim.unlink(missing_ok=True)


def _used_numbers(folder: Path) -> list[int]:
    """Return the numbers at the beginning of the folder's file names, and 0, so that there always
    is a highest number.
    """
    matches = [_NUMBERED.match(path.name) for path in folder.iterdir()]
    return [0, *(int(number[1]) for number in matches if number)]
