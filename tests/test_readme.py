"""The manual tells what the tables hold."""

from pathlib import Path

import pytest

from converter.recordings.library import Library
from converter.recordings.listing import markdown, row
from converter.tags import TABLE, ThinkTags

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
LINES = README.splitlines()


def _written(mark: str) -> str:
    return "`" + mark.replace("|", "\\|").replace("\n", "⏎") + "`"


@pytest.mark.parametrize("family", TABLE, ids=lambda family: family.name)
def test_every_family_has_its_row(family: ThinkTags) -> None:
    on = "yes" if not family.prose else "by the model's name" if family.asked else "no"
    row = f"| `{family.name}` | {_written(family.open)} {_written(family.close)} | {family.models} | {on} |"
    assert row in LINES


def test_every_recording_has_its_row() -> None:
    """What `python -m converter.recordings list --markdown` prints stands between the two marks."""
    library = Library(ROOT / "recordings")
    told = README.partition("<!-- recordings -->\n")[2].partition("<!-- /recordings -->")[0]
    assert told.strip() == markdown(row(library.load(name)) for name in library.names()).strip()
