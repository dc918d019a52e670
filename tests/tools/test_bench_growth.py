"""The report on growth still runs; a person judges the figures."""

import pytest

from tools.bench.growth import CASES, HEADING, main

pytestmark = pytest.mark.slow


@pytest.mark.nightly
def test_a_row_of_ratios_is_printed_for_each_case(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["--size", "2", "--runs", "1"])
    heading, *rows = capsys.readouterr().out.splitlines()
    assert heading == HEADING
    assert [row[:52].rstrip() for row in rows] == [case.name for case in CASES]
    assert all(float(ratio) >= 0 for row in rows for ratio in row[52:].split())
