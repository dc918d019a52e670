"""The lab's command."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Barrier, Event
from types import SimpleNamespace

import pytest

from tests.support import frames
from tests.support.by_path_server import CHAT, MESSAGES, ByPathServer, Says
from tools.lab import __main__ as lab
from tools.lab.installing import MissingError
from tools.lab.matrix import CASES
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


def _column(server: str, configuration: str, _: Path) -> Column:
    return Column(server, "1", configuration, "2026-11-26")


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[Column]:
    """The columns that were written last."""
    written: list[Column] = []
    monkeypatch.setattr(lab, "keep", lambda columns: columns)
    monkeypatch.setattr(lab, "write", lambda columns: written.extend(columns[len(written) :]))
    return written


def test_two_servers_run_side_by_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: list[Column]
) -> None:
    both = Barrier(2)

    def run(*asked: object) -> Column:
        both.wait(60)
        return _column(*asked)  # type: ignore[arg-type]

    monkeypatch.setattr(lab, "run", run)
    assert lab.main(["vllm", "sglang"], tmp_path) == 0
    for name in ("vllm", "sglang"):
        own = [column.configuration for column in written if column.server == name]
        assert own == [*CONFIGURATIONS[name]]


def test_a_lab_that_is_broken_off_starts_no_server_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: list[Column]
) -> None:
    over = Event()

    def run(server: str, configuration: str, folder: Path) -> Column:
        if server == "vllm":
            raise KeyboardInterrupt
        over.wait(60)
        return _column(server, configuration, folder)

    monkeypatch.setattr(lab, "Event", lambda: over)
    monkeypatch.setattr(lab, "run", run)
    with pytest.raises(KeyboardInterrupt):
        lab.main(["vllm", "sglang"], tmp_path)
    assert over.is_set()
    assert len(written) <= 1  # the one that had begun


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


def test_a_servers_own_endpoints_are_asked_as_they_are(tmp_path: Path) -> None:
    with ByPathServer({MESSAGES: Says({"error": {"message": "not here"}}, 404)}) as server:
        showed = lab._own(SimpleNamespace(address=server.address), tmp_path)  # type: ignore[arg-type]
    assert len(showed) == 12
    assert all(showed.values())
    assert {asked.target for asked in server.asked if asked.body} == {MESSAGES, "/v1/responses"}
