"""The work of keeping one exchange: it is redacted, replayed for each dialect, and written.

The recording gets a name or the next number. The work needs nothing of mitmproxy but the flow. A
long exchange has a process of its own. In a thread of mitmproxy's it made the loop wait: Python
lets one thread run at a time, and changes threads only between two steps of Python, but with a
stream of 11 MB single calls of C over the whole stream took 0.1 to 0.6 seconds, in a dozen places.
A process leaves mitmproxy its core (it is nice), gives its memory back, and survives mitmproxy.
"""

import gc
import os
import pickle
import re
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path

from mitmproxy.http import HTTPFlow
from mitmproxy.io import FlowReader

from converter.addon.files import FileError, make_folder
from converter.addon.http_messages import model_of
from converter.core.dialects.table import find
from converter.extras.recordings import flow_file
from converter.extras.recordings.library import Expectation, Library
from converter.extras.recordings.recording import Recording, RecordingError
from converter.extras.recordings.redact.redactor import redacted, redacted_words

_NUMBERED = re.compile(r"\.?(\d{4,})-")
_NO_NAME = re.compile(r"[^a-z0-9]+")
_CLIENT = re.compile(r"[\w.+-]{1,60}/[\w.+-]{1,40}")
"""A program and its version."""
_LONGEST = 60
"""Characters of a model's name in a recording's."""
_PROJECT = Path(__file__).parents[3]
_SERVES = f"from {__name__} import serve; serve()"
_NICENESS = 10


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


def keep_beside(data: bytes, order: Order) -> Path | None:
    """Return the file of the recording that a process has made of the flow in these bytes.

    Return `None` if no process starts, as in mitmproxy's own binary, or if it was killed. Raises
    RecordingError, and RuntimeError for a fault of ours.
    """
    if getattr(sys, "frozen", False) or not sys.executable:
        return None
    path = os.pathsep.join(filter(None, [str(_PROJECT), os.environ.get("PYTHONPATH")]))
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", _SERVES],
            input=pickle.dumps((data, order)),  # both ends are of the same code and user
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # a console of mitmproxy's draws the terminal
            env={**os.environ, "PYTHONPATH": path},
            # Or Ctrl-C would end it in the middle; not a session of its own, among which Linux
            # shares the processor evenly, however nice they are.
            process_group=0 if os.name == "posix" else None,
            check=False,
        )
        answer: Path | Exception = pickle.loads(done.stdout)
    except (OSError, EOFError, pickle.UnpicklingError):
        return None
    if isinstance(answer, Exception):
        raise answer
    return answer


def serve() -> None:
    """Be the process: do what the standard input orders, and answer on the standard output."""
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    gc.disable()  # it would look at all that an exchange is made of, again and again
    pickle.dump(_answer(*pickle.load(sys.stdin.buffer)), sys.stdout.buffer)


def _answer(data: bytes, order: Order) -> Path | Exception:
    try:
        [flow] = FlowReader(BytesIO(data)).stream()
        assert isinstance(flow, HTTPFlow)
        return keep(flow, order)
    except FileError as error:
        return error
    except Exception:
        return RuntimeError(traceback.format_exc())


def redacted_flow(flow: HTTPFlow) -> HTTPFlow:
    """Return a flow as its recording would show it, with its own id, time, marker and comment, and
    its client's name. Raises RecordingError.
    """
    recording = flow_file.from_flow(flow, flow.id)
    shown = flow_file.to_flow(redacted(recording))
    state = flow_file.moved(shown.get_state(), flow.request.timestamp_start - flow_file.BEGAN)
    made = HTTPFlow.from_state(state)
    assert isinstance(made, HTTPFlow)
    made.id, made.marked = flow.id, flow.marked
    made.comment = redacted_words(recording, flow.comment)
    client = flow.request.headers.get("user-agent", "").partition(" ")[0]
    if _CLIENT.fullmatch(client):
        made.request.headers["user-agent"] = client
    return made


def _keep_named(flow: HTTPFlow, folder: Path, order: Order) -> Path:
    recording = flow_file.from_flow(flow, order.name)
    library = Library(folder)
    path = library.keep(recording)
    if order.expected:
        library.expect(recording, order.expected)
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
    """Return what an exchange was: `chat-tiny-think`. The last part of a model's path says enough,
    and tells no folder.
    """
    route, _ = find(recording.asked.method, recording.asked.path) or (None, "")
    kind = route.kind if route else "exchange"
    model = re.split(r"[\\/]", model_of(recording.asked.body).rstrip("\\/"))[-1].lower()
    return "-".join(filter(None, (kind, _NO_NAME.sub("-", model)[:_LONGEST].strip("-"))))
