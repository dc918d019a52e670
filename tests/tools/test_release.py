"""The preparation of a tree for a release."""

import re
import tomllib
from pathlib import Path

import pytest

import converter
from tools import release

ROOT = Path(__file__).parents[2]
PROJECT = (ROOT / "pyproject.toml").read_text()
URL = "https://host.example/owner/name"


def test_links_to_files_become_absolute_and_pictures_the_files_themselves() -> None:
    text = "[a](docs/a.md#b) ![p](docs/p.png) [c](https://x.y/) [d](#e)"
    assert release.with_absolute_links(text, URL, "v1") == (
        f"[a]({URL}/blob/v1/docs/a.md#b) ![p]({URL}/raw/v1/docs/p.png) [c](https://x.y/) [d](#e)"
    )


def test_the_readme_has_no_other_link_afterwards() -> None:
    text = release.with_absolute_links((ROOT / "README.md").read_text(), URL, "v1")
    targets = re.findall(r"\]\(([^)]+)\)", text)
    assert targets
    assert not [target for target in targets if not target.startswith(("https://", "#"))]


def test_the_published_readme_begins_with_a_line_that_needs_no_checkout() -> None:
    text = release.install_by_name((ROOT / "README.md").read_text())
    first = text.partition("```\n")[2].partition("```")[0].splitlines()
    assert first[0].split("#")[0].split() == ["uvx", "think-addon", "http://localhost:8000"]
    assert first[1].startswith("pipx install think-addon ")
    assert "install ." not in text
    with pytest.raises(ValueError, match="once in README"):
        release.install_by_name(text)


def test_the_project_gets_the_addresses_of_who_publishes_it() -> None:
    project = tomllib.loads(release.with_urls(PROJECT, URL))["project"]
    assert project["urls"]["Issues"] == f"{URL}/issues"
    assert "urls" not in tomllib.loads(PROJECT)["project"]


def test_there_is_one_version_and_changes_of_it() -> None:
    source = (ROOT / "converter" / "__init__.py").read_text()
    assert release.version_of(source) == converter.__version__
    assert "version" in tomllib.loads(PROJECT)["project"]["dynamic"]
    assert release.notes_of((ROOT / "CHANGELOG.md").read_text(), converter.__version__)


def test_a_version_without_changes_is_not_published() -> None:
    assert release.notes_of("# C\n\n## 2\n\n- b\n\n## 1\n\n- a\n", "2") == "- b"
    with pytest.raises(ValueError, match="expected a heading `## 3`"):
        release.notes_of("## 2\n\n- b\n", "3")
