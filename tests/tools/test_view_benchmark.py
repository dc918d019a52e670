"""The script that measures what looking costs still runs; what it measures is nobody's promise."""

import pytest

from tools.view_benchmark import main

pytestmark = pytest.mark.slow


@pytest.mark.nightly
@pytest.mark.parametrize(("part", "rows"), [("paced", 4), ("fast", 3), ("open", 4)])
def test_each_part_says_what_it_measured(
    part: str, rows: int, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["--only", part, "--frames", "4", "--runs", "1", "--megabytes", "0.01"])
    heading, *said = capsys.readouterr().out.splitlines()
    assert "ratio" in heading
    assert len(said) == rows
