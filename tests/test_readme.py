"""The manual tells what the tables hold."""

from pathlib import Path

import pytest

from converter.tags import TABLE, ThinkTags

LINES = (Path(__file__).parent.parent / "README.md").read_text().splitlines()


def _written(mark: str) -> str:
    return "`" + mark.replace("|", "\\|").replace("\n", "⏎") + "`"


@pytest.mark.parametrize("family", TABLE, ids=lambda family: family.name)
def test_every_family_has_its_row(family: ThinkTags) -> None:
    on = "yes" if not family.prose else "by the model's name" if family.asked else "no"
    row = f"| `{family.name}` | {_written(family.open)} {_written(family.close)} | {family.models} | {on} |"
    assert row in LINES
