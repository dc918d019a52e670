"""The report on a miss still runs; a person judges the figures."""

import pytest

from tools.bench.earlier import HEADING, TURNS, main

pytestmark = pytest.mark.slow


@pytest.mark.nightly
def test_a_row_is_printed_for_each_conversation(capsys: pytest.CaptureFixture[str]) -> None:
    main()
    heading, *rows = capsys.readouterr().out.splitlines()
    assert heading == HEADING
    assert [int(row.split()[0]) for row in rows] == list(TURNS)
