"""Change README.md and pyproject.toml for a release, and write release-notes.md, in CI.

    python tools/release.py --tag v1.2.3 --url https://host/owner/name

PyPI shows README.md without the repository's other files. So links to these files become absolute,
and the installation from a checkout becomes one by the package's name. pyproject.toml gets the
addresses of the repository that publishes, which only CI knows.
"""

import argparse
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""The folder of this project."""
_LINK = re.compile(r"(!?)(\[[^\]]*\])\((?!https?:|#|mailto:)([^)\s]+)\)")
"""The pattern of a link in Markdown to a file of this project."""

_FROM_A_CHECKOUT = re.compile(r"(?m)^pipx install \.  .*\nthink-addon (http:\S+)  .*$")
"""The pattern of README's two lines that install from a checkout and start the addon."""
_BY_NAME = """\
uvx think-addon \\1       # in front of your server; leave it running
pipx install think-addon                    # to keep it: then without `uvx`"""
"""The lines that replace those of `_FROM_A_CHECKOUT`: they install the package by its name."""


def install_by_name(readme: str) -> str:
    """Return README.md with an installation by the package's name, `uvx think-addon`, in place of
    one from a checkout, `pipx install .`.

    Raises ValueError unless the text has the two lines of `_FROM_A_CHECKOUT` exactly once.
    """
    text, starts = _FROM_A_CHECKOUT.subn(_BY_NAME, readme)
    if starts != 1:
        raise ValueError("expected `pipx install .` and a start of think-addon, once in README.md")
    return text


def with_absolute_links(text: str, url: str, tag: str) -> str:
    """Return Markdown whose links to the repository's files are absolute.

    `[a](docs/a.md)` -> `[a](URL/blob/TAG/docs/a.md)`; a picture's link has `raw` for `blob`.
    """

    def absolute_link(match: re.Match[str]) -> str:
        """Return the absolute link in place of a relative one."""
        picture, label, path = match.groups()
        return f"{picture}{label}({url}/{'raw' if picture else 'blob'}/{tag}/{path})"

    return _LINK.sub(absolute_link, text)


def with_urls(project: str, url: str) -> str:
    """Return pyproject.toml with a table of addresses: homepage, documentation, issues ..."""
    addresses = {
        "Homepage": url,
        "Documentation": f"{url}/tree/main/docs",
        "Changelog": f"{url}/blob/main/CHANGELOG.md",
        "Issues": f"{url}/issues",
        "Source": url,
    }
    rows = "".join(f'{name} = "{address}"\n' for name, address in addresses.items())
    return project.replace("[project.scripts]", f"[project.urls]\n{rows}\n[project.scripts]", 1)


def version_of(source: str) -> str:
    """Return the value of `__version__` in the text of converter/__init__.py."""
    return str(re.findall(r'(?m)^__version__ = "(.+)"$', source)[0])


def notes_of(changes: str, number: str) -> str:
    """Return the text below the heading of version `number` in CHANGELOG.md (`changes`).

    Raises ValueError if there is no such heading, or nothing below it.
    """
    match = re.search(rf"(?ms)^## {re.escape(number)}\n(.*?)(?=^## |\Z)", changes)
    if not match or not match[1].strip():
        raise ValueError(f"expected a heading `## {number}` with changes in CHANGELOG.md")
    return match[1].strip()


def main() -> None:
    reader = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    reader.add_argument(
        "--tag", required=True, help="must be v and the version of converter/__init__.py"
    )
    reader.add_argument("--url", required=True, help="of the repository")
    chosen = reader.parse_args()
    number = version_of((ROOT / "converter" / "__init__.py").read_text())
    if chosen.tag != f"v{number}":
        raise SystemExit(
            f"expected the tag v{number}, got {chosen.tag}: change `__version__`, or the tag"
        )
    (ROOT / "release-notes.md").write_text(
        notes_of((ROOT / "CHANGELOG.md").read_text(), number) + "\n"
    )
    readme, project = ROOT / "README.md", ROOT / "pyproject.toml"
    readme.write_text(
        with_absolute_links(install_by_name(readme.read_text()), chosen.url, chosen.tag)
    )
    project.write_text(with_urls(project.read_text(), chosen.url))


if __name__ == "__main__":
    main()
