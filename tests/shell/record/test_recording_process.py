"""The process that keeps long exchanges: the same files as the thread's, and what goes wrong there
is told here.
"""

import io
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mitmproxy.http import HTTPFlow
from mitmproxy.io import FlowWriter

from converter.recordings import expectation
from converter.recordings.expectation import Expectation
from converter.recordings.flow_file import to_flow
from converter.recordings.library import Library
from converter.recordings.recording import RecordingError
from converter.shell.record import recording_work
from converter.shell.record.recording_process import RecordingProcess
from converter.shell.record.recording_work import NothingToKeepError, Order
from tests.support.recorded import FOLDER

pytestmark = pytest.mark.slow

NAME = "vllm-two-choices-stream"
FLOW = to_flow(Library(FOLDER).load(NAME))


@pytest.fixture
def process() -> Iterator[RecordingProcess]:
    made = RecordingProcess()
    assert made.runs()
    yield made
    made.end()


def _dumped(flow: HTTPFlow = FLOW) -> bytes:
    out = io.BytesIO()
    FlowWriter(out).add(flow)
    return out.getvalue()


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_it_writes_byte_for_byte_what_the_thread_writes(
    process: RecordingProcess, tmp_path: Path
) -> None:
    here, there = (Order(str(tmp_path / name)) for name in ("here", "there"))
    path = process.keep(_dumped(), there)
    assert path == Path(there.folder, recording_work.keep(FLOW, here).name)
    assert _files(Path(there.folder)) == _files(Path(here.folder))


def test_one_after_the_other_is_written_by_the_same_process(
    process: RecordingProcess, tmp_path: Path
) -> None:
    expected = Expectation("deep", "hello", "I say so")
    orders = [Order(str(tmp_path), name, expected) for name in ("one", "two")]
    paths = [process.keep(_dumped(), order) for order in orders]
    assert [path.stem for path in paths] == ["one", "two"]
    assert [expectation.load(path) for path in paths] == [expected, expected]
    assert process.end() == 0


def test_what_cannot_be_kept_is_told_and_the_next_is_kept(
    process: RecordingProcess, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    foreign = FLOW.copy()
    foreign.metadata = {}
    with pytest.raises(NothingToKeepError, match="captured without the addon"):
        process.keep(_dumped(foreign), Order(str(tmp_path)))
    with pytest.raises(RecordingError, match="file cannot be made"):
        process.keep(_dumped(), Order(str(tmp_path / "file")))
    with pytest.raises(RuntimeError, match="FlowReadException"):
        process.keep(_dumped()[:-1], Order(str(tmp_path)))
    assert process.keep(_dumped(), Order(str(tmp_path), "kept")).exists()


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """Every process that is started."""
    found: list[subprocess.Popen[bytes]] = []

    class Noted(subprocess.Popen[bytes]):
        def __init__(self, *arguments: Any, **more: Any) -> None:
            super().__init__(*arguments, **more)
            found.append(self)

    monkeypatch.setattr(subprocess, "Popen", Noted)
    return found


def test_a_process_that_is_killed_costs_what_it_was_given_and_no_more(
    started: list[subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    process = RecordingProcess()
    assert process.runs()
    started[0].kill()
    with pytest.raises(RecordingError, match="ended with status -9"):
        process.keep(_dumped(), Order(str(tmp_path)))
    assert process.runs()
    assert process.keep(_dumped(), Order(str(tmp_path), "kept")).exists()
    process.end()
    assert [each.returncode for each in started] == [-9, 0]


def test_it_hears_no_ctrl_c_and_leaves_mitmproxy_the_processor(
    started: list[subprocess.Popen[bytes]],
) -> None:
    process = RecordingProcess()
    assert process.runs()
    pid = started[0].pid
    assert (os.getpgid(pid), os.getsid(pid)) == (pid, os.getsid(0))
    assert os.getpriority(os.PRIO_PROCESS, pid) > os.getpriority(os.PRIO_PROCESS, 0)
    process.end()


@pytest.mark.parametrize("program", ["/bin/false", "/nowhere/python", ""])
def test_where_it_does_not_start_it_does_not_run(
    monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    monkeypatch.setattr(sys, "executable", program)
    assert not RecordingProcess().runs()


def test_mitmproxys_own_binary_has_no_python_to_start(
    monkeypatch: pytest.MonkeyPatch, started: list[subprocess.Popen[bytes]]
) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert not RecordingProcess().runs()
    assert started == []
