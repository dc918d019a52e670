"""Keep the lab's newest results in newest.json, and write them into README.md and docs/lab.md."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tools.lab import matrix

ROOT = Path(__file__).resolve().parents[2]
"""The folder of this project."""
KEPT = Path(__file__).parent / "newest.json"
"""The file with the newest results of each server's configurations."""
README, PAGE = ROOT / "README.md", ROOT / "docs" / "lab.md"
BEGIN, END = "<!-- lab: begin -->", "<!-- lab: end -->"
NOT_TRIED = "–"
"""What stands for results if a question was not asked, or a server not run in a configuration."""
ALL_RIGHT = "yes"
"""What stands for a row's results if all answers were right."""


@dataclass(frozen=True, slots=True)
class Column:
    """The results of one configuration of one server."""

    server: str
    """The name of the server, such as `vllm`."""
    version: str
    """The version of the server."""
    configuration: str
    """The configuration's name, such as `no parser`; those of all servers are in servers.py."""
    day: str
    """The day of the run, such as `2026-11-29`."""
    missing: str = ""
    """Why the server could not be installed or started; empty if it ran."""
    faults: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Name of a row -> dialect and delivery (`chat streamed`), or name of an agent's run -> its
    fault, empty if all was right.
    """
    figures: Mapping[str, str] = field(default_factory=dict)
    """Name of a row -> figures that nobody judges: `400 put back, 900 dropped`. They are kept in
    newest.json only.
    """

    @property
    def key(self) -> tuple[str, str]:
        """Server and configuration. A later run replaces the kept results with the same key."""
        return self.server, self.configuration

    @property
    def title(self) -> str:
        """What stands before these results in docs/lab.md: `vllm 0.33.0, no parser`."""
        return f"{self.server} {self.version}, {self.configuration}"


def read_columns(file: Path = KEPT) -> list[Column]:
    """Return the kept results: the newest of each configuration."""
    return [Column(**column) for column in json.loads(file.read_text())] if file.exists() else []


def keep_columns(columns: Sequence[Column], file: Path = KEPT) -> list[Column]:
    """Write these results into the file, in place of kept ones with the same key.

    Returns all results that the file now has.
    """
    newer = {column.key: column for column in columns}
    kept = [newer.pop(column.key, column) for column in read_columns(file)]
    kept += newer.values()
    written = json.dumps([asdict(column) for column in kept], indent=1, ensure_ascii=False)
    file.write_text(written + "\n")
    return kept


def configuration_lines(columns: Sequence[Column]) -> str:
    """Return the lines about all results for docs/lab.md.

    First come the rows that were asked and right in every configuration that ran. Then each
    configuration has a line with its rows that have faults, and those that were not asked.
    """
    rows = list(dict.fromkeys(row for column in columns for row in column.faults))
    had = [column for column in columns if not column.missing]
    right = [
        row for row in rows if {_right_answers_of_row(column, row) for column in had} == {ALL_RIGHT}
    ]
    lines = [f"- **{column.title}**: {_configuration_line(column, rows)}" for column in columns]
    everywhere = f"Right everywhere: {', '.join(right)}.\n\n" if right else ""
    return everywhere + "\n".join(lines)


def _configuration_line(column: Column, rows: Sequence[str]) -> str:
    """Return what stands after a configuration's title in docs/lab.md.

    First each row with wrong answers and how many were right, then the rows that were not asked:
    `two choices: 0 of 2; not asked: prompt too long`. If there are no such rows: `all right`. If
    the server could not be installed or started: `could not be had: ` and why.
    """
    if column.missing:
        return f"could not be had: {column.missing}"
    cells = {row: _right_answers_of_row(column, row) for row in rows}
    few = [f"{row}: {cell}" for row, cell in cells.items() if cell not in (ALL_RIGHT, NOT_TRIED)]
    unasked = [row for row, cell in cells.items() if cell == NOT_TRIED]
    not_tried = [f"not asked: {', '.join(unasked)}"] if unasked else []
    return "; ".join([*few, *not_tried]) or "all right"


def _right_answers_of_row(column: Column, row: str) -> str:
    """Return how many answers of a row were right: `7 of 8`; `yes` if all were.

    `–` if the row's question was not asked.
    """
    faults = column.faults.get(row)
    return matrix.summary(faults).partition(";")[0] if faults else NOT_TRIED


def server_table(columns: Sequence[Column]) -> str:
    """Return README's table: a row for each server, a column for each configuration, and one for
    the day of the run.

    A cell counts the right answers: `96 of 98`. It is `–` if the server was not run in that
    configuration, and `not had` if the server could not be installed or started.
    """
    heads = list(dict.fromkeys(column.configuration for column in columns))
    lines = [["answers that were right", *heads, "run on"], ["---"] * (len(heads) + 2)]
    for server in dict.fromkeys(column.server for column in columns):
        own = {column.configuration: column for column in columns if column.server == server}
        version, day = next((each.version, each.day) for each in own.values())
        counts = [
            _right_answers_of_column(own[head]) if head in own else NOT_TRIED for head in heads
        ]
        lines.append([f"{server} {version}", *counts, day])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _right_answers_of_column(column: Column) -> str:
    """Return how many answers of a column were right: `96 of 98`.

    `not had` if the server could not be installed or started.
    """
    if column.missing:
        return "not had"
    faults_of_column = [fault for faults in column.faults.values() for fault in faults.values()]
    return f"{faults_of_column.count('')} of {len(faults_of_column)}"


def replace_between_marks(page: str, written: str) -> str:
    """Return the page with `written` between the comments `BEGIN` and `END`, in place of what stood
    there.
    """
    head, _, rest = page.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n{written}\n{END}{tail}"


def write_pages(columns: Sequence[Column]) -> None:
    """Write the results into README.md (a table) and docs/lab.md (a line a configuration)."""
    README.write_text(replace_between_marks(README.read_text(), server_table(columns)))
    PAGE.write_text(replace_between_marks(PAGE.read_text(), configuration_lines(columns)))
