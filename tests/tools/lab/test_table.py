"""The tables of the lab: of the newest run, and what README shows is that."""

import pytest

from tools.lab.table import (
    BEGIN,
    END,
    KEPT,
    PAGE,
    README,
    Column,
    by_configuration,
    read,
    summary,
)

pytestmark = pytest.mark.slow

GOOD = Column("vllm", "0.32.0", "no parser", "2026-11-26", verdicts={"tool call": {"chat": ""}})
BAD = Column(
    "vllm",
    "0.32.0",
    "wrong parsers",
    "2026-11-26",
    verdicts={"tool call": {"chat": "", "messages": "0 calls"}, "stop": {"chat": "a `b`"}},
)
GONE = Column("sglang", "0.5.23", "no parser", "2026-11-25", missing="no Python 3.11")


def test_readme_shows_the_newest_run() -> None:
    columns = read()
    assert columns
    for page, written in ((README, summary), (PAGE, by_configuration)):
        shown = page.read_text().partition(BEGIN)[2].partition(END)[0]
        assert written(columns) in shown, "run make lab"
    assert KEPT.exists()


def test_a_line_says_how_many_were_right_and_what_was_not_tried() -> None:
    assert by_configuration([GOOD, BAD, GONE]).splitlines() == [
        "- **vllm 0.32.0, no parser**: not asked: stop",
        "- **vllm 0.32.0, wrong parsers**: tool call: 1 of 2; stop: 0 of 1",
        "- **sglang 0.5.23, no parser**: could not be had: no Python 3.11",
    ]


def test_a_summary_has_a_row_for_each_server() -> None:
    assert summary([GOOD, BAD, GONE]).splitlines() == [
        "| answers that were right | no parser | wrong parsers | run on |",
        "| --- | --- | --- | --- |",
        "| vllm 0.32.0 | 1 of 1 | 1 of 3 | 2026-11-26 |",
        "| sglang 0.5.23 | not had | – | 2026-11-25 |",
    ]
