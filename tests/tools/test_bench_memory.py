"""The report on stores still runs; a person judges the figures."""

import pytest

from tests.support.namespaces import networks_or_skip
from tools.bench.memory import HEADING, main

pytestmark = pytest.mark.slow


@pytest.mark.nightly
def test_a_row_is_printed_for_each_store_and_every_turn_is_exact(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with networks_or_skip("two machines were NOT tried"):
        pass
    assert main(["--quick"]) == 0
    heading, *rows = capsys.readouterr().out.splitlines()
    assert heading == HEADING
    assert [row.split()[0] for row in rows[:3]] == ["memory", "sqlite", "redis"]
