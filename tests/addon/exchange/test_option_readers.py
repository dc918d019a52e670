"""Readers of options: each takes what it names, and says what it expected of all else."""

from collections.abc import Callable
from pathlib import Path

import pytest

from converter.addon.exchange import option_readers as readers
from converter.addon.exchange.option_readers import MetricsTarget


def test_a_path_may_be_new_in_a_folder_that_is_there(tmp_path: Path) -> None:
    assert readers.read_path(str(tmp_path / "new.jsonl")) == str(tmp_path / "new.jsonl")
    assert readers.read_folder(str(tmp_path / "new")) == str(tmp_path / "new")
    assert readers.read_folder(str(tmp_path)) == str(tmp_path)


@pytest.mark.parametrize("read", [readers.read_path, readers.read_folder])
def test_an_empty_path_is_none(read: Callable[[object], str]) -> None:
    assert read("") == ""


@pytest.mark.parametrize("read", [readers.read_path, readers.read_folder])
def test_a_path_in_no_folder_is_refused(read: Callable[[object], str], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="existing folder"):
        read(str(tmp_path / "none" / "new"))


def test_a_folder_is_no_file_and_a_file_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="expected a file"):
        readers.read_path(str(tmp_path))
    with pytest.raises(ValueError, match="expected a folder"):
        readers.read_folder(str(tmp_path / "file"))


@pytest.mark.parametrize(
    ("written", "seconds", "early"),
    [("0", 0, False), ("10", 10, False), (5, 5, False), ("7,early", 7, True)],
)
def test_a_ping_is_seconds_and_may_begin_a_stream(
    written: object, seconds: int, early: bool
) -> None:
    assert readers.read_ping(written) == readers.Ping(seconds, early)


@pytest.mark.parametrize("written", ["", "-1", "1.5", "early", "10,", "10,late", "²"])
def test_all_else_is_no_ping(written: str) -> None:
    with pytest.raises(ValueError, match="expected SECONDS or SECONDS,early, got"):
        readers.read_ping(written)


TARGETS = {
    "": None,
    "9100": MetricsTarget("127.0.0.1", 9100),
    ":9100": MetricsTarget("127.0.0.1", 9100),
    "0.0.0.0:9100": MetricsTarget("0.0.0.0", 9100),
    "[::1]:9100": MetricsTarget("::1", 9100),
}


@pytest.mark.parametrize(("written", "target"), TARGETS.items(), ids=list(TARGETS))
def test_metrics_are_at_an_address(written: str, target: MetricsTarget | None) -> None:
    assert readers.read_metrics(written) == target


def test_metrics_are_in_a_file(tmp_path: Path) -> None:
    file = str(tmp_path / "metrics.prom")
    assert readers.read_metrics(file) == MetricsTarget(file=file)


@pytest.mark.parametrize("port", ["0", "65536"])
def test_a_port_that_is_none_is_refused(port: str) -> None:
    with pytest.raises(ValueError, match=f"1 to 65535, got {port}"):
        readers.read_metrics(port)


@pytest.mark.parametrize(
    ("written", "url"),
    {
        "": "",
        "http://localhost:4318": "http://localhost:4318/v1/traces",
        "https://host/": "https://host/v1/traces",
        "https://host/api/public/otel?a=b": "https://host/api/public/otel?a=b",
    }.items(),
)
def test_a_collector_is_a_url(written: str, url: str) -> None:
    assert readers.read_collector(written) == url


@pytest.mark.parametrize(
    "written", ["localhost:4318", "grpc://a:4317", "http://", "http://me:key@a", "http://a:0"]
)
def test_a_url_that_is_no_collector_is_refused_and_not_quoted(written: str) -> None:
    with pytest.raises(ValueError, match=r"^expected http://HOST:PORT or [^@]*$"):
        readers.read_collector(written)
