"""The script that measures what the page costs still runs; what it measures is nobody's promise."""

import pytest

from tools.page_benchmark import main

pytestmark = pytest.mark.slow


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("part", "rows"), [("paced", 4), ("fast", 3), ("paint", 7), ("sessions", 4)]
)
def test_each_part_says_what_it_measured(
    part: str, rows: int, capsys: pytest.CaptureFixture[str]
) -> None:
    small = ["--frames", "4", "--runs", "1", "--exchanges", "3", "--megabytes", "0.001"]
    main(["--only", part, *small])
    _, *said = capsys.readouterr().out.splitlines()
    assert len(said) == rows
