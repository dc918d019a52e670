"""Options of workers; tests/end_to_end has processes that prove that workers work."""

from collections.abc import Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path

import pytest

from converter.extras.command import workers
from converter.extras.command.workers import check_workers

pytestmark = pytest.mark.slow


def test_there_is_at_least_one_worker() -> None:
    with pytest.raises(ValueError, match="from 1 for --workers, got 0"):
        check_workers(0, [])
    check_workers(1, [])


ONE_FILE = [
    ["-w", "flows"],
    ["-wflows"],
    ["--save-stream-file=flows"],
    ["--set", "save_stream_file=flows"],
    ["--set", "think_metrics=909"],
    ["-w", "flows-{worker}", "--set", "think_metrics=909"],
]


@pytest.mark.parametrize("outputs", ONE_FILE, ids=" ".join)
def test_workers_do_not_write_to_one_file(outputs: list[str]) -> None:
    check_workers(1, outputs)
    with pytest.raises(ValueError, match=r"put \{worker\} into its name"):
        check_workers(2, outputs)
    check_workers(2, [*outputs[:-1], outputs[-1] + "{worker}"])


def test_an_option_that_is_emptied_is_no_file() -> None:
    check_workers(2, ["--set", "think_metrics=", "--set", "save_stream_file="])


def test_several_workers_need_a_system_that_shares_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "can_share_port", lambda: False)
    check_workers(1, [])
    with pytest.raises(ValueError, match="lets no two processes share a port"):
        check_workers(2, [])


def makes_certificates(number: int, arguments: Sequence[str], parent: Connection) -> None:
    """In the place of mitmdump: the first process is slow, the second one ends all."""
    folder = Path(arguments[0].removeprefix("confdir="))
    last = folder / "mitmproxy-dhparam.pem"
    if number == 2:
        raise SystemExit(3 if last.exists() else 4)
    wait([parent], timeout=0.5)
    (folder / "mitmproxy-ca.pem").touch()
    last.touch()
    wait([parent])


def test_the_first_worker_makes_the_certificates_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(workers, "_run_worker", makes_certificates)
    monkeypatch.setenv("THINK_MEMORY", "memory:")
    assert workers.run_workers(2, [f"confdir={tmp_path}"]) == 3


def test_who_has_certificates_starts_all_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(workers, "_run_worker", makes_certificates)
    monkeypatch.setenv("THINK_MEMORY", "memory:")
    (tmp_path / "mitmproxy-ca.pem").touch()
    assert workers.run_workers(2, [f"confdir={tmp_path}"]) == 4
