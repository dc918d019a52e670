"""The tool that looks for gaps works; a person judges the figures."""

import pytest

from tools.bench import gaps
from tools.bench.gap_cases import CASES, Case

pytestmark = pytest.mark.slow


def test_each_case_has_a_name_of_its_own() -> None:
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.nightly
def test_a_row_is_printed_for_a_case_beside_which_a_stream_went_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert gaps.main(["--repetitions", "1", "--only", "count of", "--rows", "bare", "addon"]) == 0
    heading, row, aim = capsys.readouterr().out.splitlines()
    assert heading == gaps.HEADING
    assert row.startswith("count of 20,000 messages' tokens")
    assert row.count("(") == 2
    assert aim.startswith("aim: below 0.1 s")


@pytest.mark.parametrize(
    ("bare", "addon", "late"),
    [([0.02], [0.05, 0.3, 0.06], False), ([0.02], [0.2], True), ([0.3], [0.25], False)],
)
def test_the_addon_is_late_beyond_the_aim_where_mitmdump_alone_is_not(
    bare: list[float], addon: list[float], late: bool
) -> None:
    assert ("LATE" in gaps.line(Case("a"), {"bare": bare, "addon": addon})) is late
