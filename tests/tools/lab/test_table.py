"""The tables of the lab: README has the tables of the newest run."""

import pytest

from tools.lab import table

pytestmark = pytest.mark.slow


def test_readme_shows_the_newest_run() -> None:
    columns = table.read_columns()
    assert columns
    written = {table.README: table.server_table, table.PAGE: table.configuration_lines}
    for page, write in written.items():
        shown = page.read_text().partition(table.BEGIN)[2].partition(table.END)[0]
        assert write(columns) in shown, "run make lab"
    assert table.KEPT.exists()
