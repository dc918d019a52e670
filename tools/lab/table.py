"""The newest run of the lab: kept as JSON, and written as tables for people."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tools.lab import matrix

ROOT = Path(__file__).resolve().parents[2]
KEPT = Path(__file__).parent / "newest.json"
README, PAGE = ROOT / "README.md", ROOT / "docs" / "lab.md"
BEGIN, END = "<!-- lab: begin -->", "<!-- lab: end -->"
NOT_TRIED = "–"
ALL_RIGHT = "yes"


@dataclass(frozen=True, slots=True)
class Column:
    """One configuration of one server. `day`: of its run. `missing`: the reason if it could not be
    installed. `verdicts`: by row, then by dialect and form: the fault, empty if there was none.
    `figures`: rows without a rule of right and wrong, which only the kept JSON shows.
    """

    server: str
    version: str
    configuration: str
    day: str
    missing: str = ""
    verdicts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    figures: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str]:
        """The name by which a later run replaces the column."""
        return self.server, self.configuration

    @property
    def title(self) -> str:
        """The head of the column."""
        return f"{self.server} {self.version}, {self.configuration}"


def read(file: Path = KEPT) -> list[Column]:
    """Return the columns of the newest runs."""
    return [Column(**column) for column in json.loads(file.read_text())] if file.exists() else []


def keep(columns: Sequence[Column], file: Path = KEPT) -> list[Column]:
    """Keep these columns, which replace older ones of the same name; return all columns."""
    newer = {column.key: column for column in columns}
    kept = [newer.pop(column.key, column) for column in read(file)]
    kept += newer.values()
    written = json.dumps([asdict(column) for column in kept], indent=1, ensure_ascii=False)
    file.write_text(written + "\n")
    return kept


def by_configuration(columns: Sequence[Column]) -> str:
    """Return a line of the rows that are right everywhere, and a line for each configuration: the
    count of right answers, and the rows with faults. The kept JSON has each wrong answer.
    """
    rows = list(dict.fromkeys(row for column in columns for row in column.verdicts))
    had = [column for column in columns if not column.missing]
    right = [row for row in rows if {_cell(column, row) for column in had} == {ALL_RIGHT}]
    lines = [f"- **{column.title}**: {_line(column, rows)}" for column in columns]
    everywhere = f"Right everywhere: {', '.join(right)}.\n\n" if right else ""
    return everywhere + "\n".join(lines)


def _line(column: Column, rows: Sequence[str]) -> str:
    if column.missing:
        return f"could not be had: {column.missing}"
    cells = {row: _cell(column, row) for row in rows}
    few = [f"{row}: {cell}" for row, cell in cells.items() if cell not in (ALL_RIGHT, NOT_TRIED)]
    unasked = [row for row, cell in cells.items() if cell == NOT_TRIED]
    not_tried = [f"not asked: {', '.join(unasked)}"] if unasked else []
    return "; ".join([*few, *not_tried]) or "all right"


def _cell(column: Column, row: str) -> str:
    verdicts = column.verdicts.get(row)
    return matrix.summary(verdicts).partition(";")[0] if verdicts else NOT_TRIED


def summary(columns: Sequence[Column]) -> str:
    """Return README's table: a row for each server, with the count of right answers in each
    configuration.
    """
    heads = list(dict.fromkeys(column.configuration for column in columns))
    lines = [["answers that were right", *heads, "run on"], ["---"] * (len(heads) + 2)]
    for server in dict.fromkeys(column.server for column in columns):
        own = {column.configuration: column for column in columns if column.server == server}
        version, day = next((each.version, each.day) for each in own.values())
        counts = [_count(own[head]) if head in own else NOT_TRIED for head in heads]
        lines.append([f"{server} {version}", *counts, day])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _count(column: Column) -> str:
    if column.missing:
        return "not had"
    verdicts_of_column = [
        word for verdicts in column.verdicts.values() for word in verdicts.values()
    ]
    return f"{verdicts_of_column.count('')} of {len(verdicts_of_column)}"


def between(page: str, written: str) -> str:
    """Return a page with this text between its marks."""
    head, _, rest = page.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n{written}\n{END}{tail}"


def write(columns: Sequence[Column]) -> None:
    """Write README's table, and the page with a line for each configuration."""
    README.write_text(between(README.read_text(), summary(columns)))
    PAGE.write_text(between(PAGE.read_text(), by_configuration(columns)))
