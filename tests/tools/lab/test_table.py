"""The tables of the lab: README has the tables of the newest run."""

import pytest

from tools.lab.table import BEGIN, END, KEPT, PAGE, README, by_configuration, read, summary

pytestmark = pytest.mark.slow


def test_readme_shows_the_newest_run() -> None:
    columns = read()
    assert columns
    for page, written in ((README, summary), (PAGE, by_configuration)):
        shown = page.read_text().partition(BEGIN)[2].partition(END)[0]
        assert written(columns) in shown, "run make lab"
    assert KEPT.exists()
