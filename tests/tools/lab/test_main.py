"""The lab's command."""

from pathlib import Path

import pytest

from tools.lab import __main__ as lab
from tools.lab.installing import MissingError
from tools.lab.servers import CONFIGURATIONS
from tools.lab.table import Column

pytestmark = pytest.mark.slow


def test_an_unknown_server_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert lab.main(["vlm"], tmp_path) == 2
    assert "vlm" in capsys.readouterr().out


def test_one_configuration_may_be_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert lab._wanted("sglang:its parsers") == [("sglang", "its parsers")]
    assert lab._wanted("sglang") == [("sglang", each) for each in CONFIGURATIONS["sglang"]]
    assert lab.main(["sglang:no such"], tmp_path) == 2
    assert "sglang:no such" in capsys.readouterr().out


def test_a_server_that_cannot_be_had_is_a_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object) -> None:
        raise MissingError("no Python 3.11")

    written: list[Column] = []
    monkeypatch.setattr(lab, "started", gone)
    monkeypatch.setattr(lab, "keep", lambda columns: columns)
    monkeypatch.setattr(lab, "write", lambda columns: written.extend(columns[len(written) :]))
    assert lab.main(["sglang"], tmp_path) == 0
    assert [column.configuration for column in written] == [*CONFIGURATIONS["sglang"]]
    assert {column.missing for column in written} == {"no Python 3.11"}
