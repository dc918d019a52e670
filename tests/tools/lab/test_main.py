"""The lab's command."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support import frames
from tests.support.by_path_server import CHAT, ByPathServer, Says
from tools.lab import __main__ as lab
from tools.lab.matrix import CASES

pytestmark = pytest.mark.slow


def test_a_configuration_that_breaks_keeps_what_it_showed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @contextmanager
    def started(*_: object) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(address=server.address)

    def breaks(*_: object) -> Iterator[tuple[str, dict[str, str]]]:
        yield "loops", {"a": ""}
        raise RuntimeError("it is gone")

    monkeypatch.setattr(lab, "started", started)
    monkeypatch.setattr(lab, "CASES", CASES[:1])
    monkeypatch.setattr(lab, "agents", breaks)
    with ByPathServer({CHAT: Says(frames.whole("<think>a</think>b"))}) as server:
        column = lab.run("sglang", "no parser", tmp_path)
    assert {*column.verdicts} == {CASES[0].name, "loops", lab.FAULT_ROW}
    assert column.verdicts[lab.FAULT_ROW] == {"log": "RuntimeError: it is gone"}
    assert column.missing == ""
    assert "s sglang, no parser: loops: yes" in capsys.readouterr().out
