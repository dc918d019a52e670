"""The benchmark still runs; what it measures is for a person to judge."""

import pytest

from tests.tools.benchmark import CASES, HEADING, PROXIES, PROXY_HEADING, main


def test_the_benchmark_prints_a_row_of_ratios_for_each_case(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["--size", "2", "--runs", "1"])
    heading, *rows = capsys.readouterr().out.splitlines()
    assert heading == HEADING
    assert [row[:52].rstrip() for row in rows] == [case.name for case in CASES]
    assert all(float(ratio) >= 0 for row in rows for ratio in row[52:].split())


def test_the_benchmark_measures_a_proxy_with_and_without_the_addon(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["--size", "2", "--runs", "1", "--only", "no such case", "--proxy"])
    _, heading, *rows = capsys.readouterr().out.splitlines()
    assert heading == PROXY_HEADING
    assert [row[:52].rstrip() for row in rows] == list(PROXIES)
