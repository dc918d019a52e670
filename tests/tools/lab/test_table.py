"""The tables of the lab: of the newest run, and what README shows is that."""

from pathlib import Path

import pytest

from tools.lab.table import (
    BEGIN,
    END,
    KEPT,
    PAGE,
    README,
    Column,
    between,
    by_configuration,
    keep,
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
READ = Column(
    "vllm",
    "0.32.0",
    "its parsers",
    "2026-11-26",
    verdicts={"tool call": {"chat": ""}},
    figures={"tokens read": "155 put back"},
)
GONE = Column("sglang", "0.5.23", "no parser", "2026-11-25", missing="no Python 3.11")


def test_readme_shows_the_newest_run() -> None:
    columns = read()
    assert columns
    for page, written in ((README, summary), (PAGE, by_configuration)):
        shown = page.read_text().partition(BEGIN)[2].partition(END)[0]
        assert written(columns) in shown, "run make lab"
    assert KEPT.exists()


def test_a_line_says_how_many_were_right_and_what_was_not_asked() -> None:
    assert by_configuration([GOOD, BAD, GONE]).splitlines() == [
        "- **vllm 0.32.0, no parser**: not asked: stop",
        "- **vllm 0.32.0, wrong parsers**: tool call: 1 of 2; stop: 0 of 1",
        "- **sglang 0.5.23, no parser**: could not be had: no Python 3.11",
    ]


def test_rows_that_are_right_everywhere_are_one_line() -> None:
    assert by_configuration([GOOD, READ, GONE]).splitlines() == [
        "Right everywhere: tool call.",
        "",
        "- **vllm 0.32.0, no parser**: all right",
        "- **vllm 0.32.0, its parsers**: all right",
        "- **sglang 0.5.23, no parser**: could not be had: no Python 3.11",
    ]


def test_figures_are_neither_shown_nor_counted() -> None:
    assert by_configuration([READ]).splitlines()[-1] == "- **vllm 0.32.0, its parsers**: all right"
    assert summary([READ]).splitlines()[2] == "| vllm 0.32.0 | 1 of 1 | 2026-11-26 |"


def test_a_summary_has_a_row_for_each_server() -> None:
    assert summary([GOOD, BAD, GONE]).splitlines() == [
        "| answers that were right | no parser | wrong parsers | run on |",
        "| --- | --- | --- | --- |",
        "| vllm 0.32.0 | 1 of 1 | 1 of 3 | 2026-11-26 |",
        "| sglang 0.5.23 | not had | – | 2026-11-25 |",
    ]


def test_a_later_run_takes_the_place_of_an_earlier_one(tmp_path: Path) -> None:
    file = tmp_path / "newest.json"
    keep([GOOD, GONE], file)
    later = Column("vllm", "0.33.0", "no parser", "2026-12-01")
    assert keep([later, BAD], file) == read(file) == [later, GONE, BAD]


def test_a_page_keeps_what_is_around() -> None:
    page = f"head\n{BEGIN}\nold\n{END}\ntail\n"
    assert between(page, "new") == f"head\n{BEGIN}\nnew\n{END}\ntail\n"
