"""The process that keeps long exchanges: the same files as the thread's, and what goes wrong there
is told here.
"""

import ast
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from mitmproxy.http import HTTPFlow
from mitmproxy.io import FlowWriter

from converter.extras.recordings import recording_work
from converter.extras.recordings.flow_file import to_flow
from converter.extras.recordings.library import Library
from converter.extras.recordings.recording_work import Order
from tests.support.recorded import FOLDER

pytestmark = pytest.mark.slow

NAME = "vllm-two-choices-stream"
FLOW = to_flow(Library(FOLDER).load(NAME))


def _dumped(flow: HTTPFlow = FLOW) -> bytes:
    out = io.BytesIO()
    FlowWriter(out).add(flow)
    return out.getvalue()


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_it_writes_byte_for_byte_what_the_thread_writes(tmp_path: Path) -> None:
    here, there = (Order(str(tmp_path / name)) for name in ("here", "there"))
    path = recording_work.keep_beside(_dumped(), there)
    assert path == Path(there.folder, recording_work.keep(FLOW, here).name)
    assert _files(Path(there.folder)) == _files(Path(here.folder))


def test_it_hears_no_ctrl_c_and_leaves_mitmproxy_the_processor(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    told = tmp_path / "told"
    noted = "os.getpid(), os.getpgid(0), os.getsid(0), os.getpriority(os.PRIO_PROCESS, 0)"
    write = f"open({str(told)!r}, 'w').write(repr(({noted})))"
    monkeypatch.setattr(recording_work, "_SERVES", f"{recording_work._SERVES}; import os; {write}")
    assert recording_work.keep_beside(_dumped(), Order(str(tmp_path), "kept"))
    process, group, session, niceness = ast.literal_eval(told.read_text())
    assert (group, session) == (process, os.getsid(0))
    assert niceness > os.getpriority(os.PRIO_PROCESS, 0)


def test_one_that_is_killed_keeps_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(recording_work, "_SERVES", "import os; os.kill(os.getpid(), 9)")
    assert recording_work.keep_beside(_dumped(), Order(str(tmp_path), "kept")) is None


def test_mitmproxys_own_binary_has_no_python_to_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("a process"))
    assert recording_work.keep_beside(_dumped(), Order(str(tmp_path), "kept")) is None
