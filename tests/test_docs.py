"""The manual tells what the tables hold."""

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

import converter
from converter.addon import bounds as of_the_addon
from converter.addon.servers.chat_templates import TEMPLATES, Template
from converter.core.reading.families import TABLE
from converter.core.reading.thought_row import ThoughtRow
from converter.core.reading.tool_calls.call_row import CallRow
from converter.core.reading.tool_calls.forms import FORMS
from converter.core.wire import bounds as of_replies
from tests.test_shape import FLOORS

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
ARCHITECTURE = (DOCS / "architecture.md").read_text()
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
MAKE = re.compile(r"\bmake ([a-z-]+)")
FAMILIES_SECTION = (DOCS / "options.md").read_text().partition("### Families of marks\n")[2]
ALWAYS, BY_MODEL = (
    "By `auto`, for every model",
    "By `auto`, if the request's model has such a name",
)


def _written(mark: str) -> str:
    return "`" + mark.replace("\n", "⏎") + "`"


def family_line(family: ThoughtRow) -> str:
    marks = f"{' or '.join(map(_written, family.opens))} {_written(family.close)}"
    return f"- `{family.name}`, {marks}: "


@pytest.mark.parametrize("family", TABLE, ids=lambda family: family.name)
def test_every_family_has_its_row(family: ThoughtRow) -> None:
    head = BY_MODEL if family.ambiguous_in_prose else ALWAYS
    listed = FAMILIES_SECTION.partition(f"**{head}**\n")[2].partition("\n**")[0]
    assert f"\n{family_line(family)}" in listed


def _templates_texts() -> dict[str, str]:
    """The words of each list of models, by its head."""
    section = (DOCS / "reading.md").read_text().partition("## Models and their chat templates")[2]
    lists = re.findall(r"^- \*\*(.+?)\*\*(.*(?:\n  .+)*)", section, re.MULTILINE)
    return {head: " ".join(text.split()) for head, text in lists}


TEMPLATES_TEXTS = _templates_texts()
TEMPLATES_LISTED = {
    head: set(re.findall("`([^`]+)`", text)) for head, text in TEMPLATES_TEXTS.items()
}
USUAL_SWITCHES = {"enable_thinking: true", "thinking: true"}
"""Told once, for all models for which no other is named."""


def _switches(switches: Mapping[str, object]) -> set[str]:
    return {
        f"{name}: {', '.join(sorted(map(json.dumps, one if isinstance(one, tuple) else [one])))}"
        for name, one in switches.items()
    }


def lists_of(row: Template) -> set[str]:
    """The heads of the lists that a template belongs to."""
    if not row.opens:
        opens = "never"
    elif row.switches:
        opens = "only with a switch"
    else:
        opens = "always" if row.always else "unless the request turns thinking off"
    heads = {opens, "bare closer"} if row.bare_closer else {opens}
    if row.history is None:
        return heads
    loop = "those of the running tool loop" if row.history.loop else "all"
    return {*heads, "none" if row.history.form == "drop" else loop}


@pytest.mark.parametrize("row", TEMPLATES, ids=lambda row: row.models)
def test_every_chat_template_is_in_its_lists(row: Template) -> None:
    heads = {head for head, listed in TEMPLATES_LISTED.items() if row.models in listed}
    assert heads == lists_of(row)
    if row.switches and not _switches(row.switches) <= USUAL_SWITCHES:
        assert _with_switches(row, row.switches) in TEMPLATES_TEXTS["only with a switch"]
    if row.history and row.history.switches:
        assert _with_switches(row, row.history.switches) in TEMPLATES_TEXTS["all"]


def _with_switches(row: Template, switches: Mapping[str, object]) -> str:
    named = ", ".join(f"`{each}`" for each in sorted(_switches(switches)))
    return f"`{row.models}` ({named})"


def test_the_lists_of_chat_templates_have_nothing_else() -> None:
    switches = [each for row in TEMPLATES for each in _switches(row.switches)]
    kept = [each for row in TEMPLATES if row.history for each in _switches(row.history.switches)]
    listed = {"chat_template_kwargs", *(row.models for row in TEMPLATES), *switches, *kept}
    assert set().union(*TEMPLATES_LISTED.values()) == listed


def form_line(form: CallRow) -> str:
    begins = next(filter(None, (*form.opens, form.section[0], *form.firsts)), "")
    mark = f"```` {begins} ````" if begins.startswith("`") else _written(begins)
    return f"- `{form.name}`, {mark}: "


FORMS_LISTED = (DOCS / "tool-calls.md").read_text().partition("## Forms\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize("name", {form.name: form for form in FORMS})
def test_every_form_of_tool_calls_has_its_row(name: str) -> None:
    first = next(form for form in FORMS if form.name == name)
    assert f"\n{form_line(first)}" in FORMS_LISTED


def test_the_list_of_forms_has_nothing_else() -> None:
    lines = tuple(map(form_line, FORMS))
    assert [it for it in re.findall("^- .*", FORMS_LISTED, re.M) if not it.startswith(lines)] == []


def test_the_readme_is_one_page() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


def test_the_readme_links_every_page() -> None:
    readme = (ROOT / "README.md").read_text()
    assert [page.name for page in DOCS.glob("*.md") if f"](docs/{page.name})" not in readme] == []


@pytest.mark.parametrize(
    "page", [*sorted(ROOT.glob("*.md")), *sorted(DOCS.glob("*.md"))], ids=lambda page: page.name
)
def test_every_link_to_a_file_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


def _anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize(
    "page", [*sorted(ROOT.glob("*.md")), *sorted(DOCS.glob("*.md"))], ids=lambda page: page.name
)
def test_every_link_to_a_heading_leads_there(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]*)#([^)]+)\)", page.read_text())
    targets = [(page.parent / file if file else page, anchor) for file, anchor in links]
    assert [f"{file.name}#{to}" for file, to in targets if to not in _anchors(file)] == []


def test_the_version_has_its_changes() -> None:
    assert f"\n## {converter.__version__}\n" in (ROOT / "CHANGELOG.md").read_text()


def test_the_package_says_who_may_use_it_and_where() -> None:
    assert PROJECT["license"] == "MIT"
    assert (ROOT / "LICENSE").read_text().startswith("MIT License\n")
    assert PROJECT["authors"] == [{"name": "the think-addon authors"}]
    assert PROJECT["dependencies"] == ["mitmproxy>=12.2,<12.4"]
    assert {"description", "readme", "keywords", "classifiers", "requires-python"} <= PROJECT.keys()


@pytest.mark.parametrize("target", sorted(set(MAKE.findall(CONTRIBUTING))))
def test_every_documented_make_target_exists(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_every_file_that_the_architecture_names_is_there() -> None:
    named = set(re.findall(r"`((?:converter|tests)/[\w./]*|think_addon\.py)`", ARCHITECTURE))
    assert len(named) > 30
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def test_the_architecture_has_every_floor_in_order() -> None:
    rooms = ARCHITECTURE.partition("## Rooms and floors")[2].partition("\n## ")[0]
    heads = re.findall(r"^(\d+)\. ((?:`[^`]+`(?:, )?)+):", rooms, re.MULTILINE)
    named = [re.findall(r"`(?:converter/)?([^`]*?)(?:\.py|/)`", head) for _, head in heads]
    listed = [{name.replace("/", ".") for name in names} for names in named]
    assert [int(number) for number, _ in heads] == list(range(1, len(FLOORS) + 1))
    assert listed == [{name for name in floor if _is_there(name)} for floor in FLOORS]


def _is_there(name: str) -> bool:
    path, rooms = name.replace(".", "/"), [ROOT / "converter", ROOT]
    places = [room / each for room in rooms for each in (path, f"{path}.py")]
    return any(each.exists() for each in places)


def test_each_question_about_a_change_has_one_answer() -> None:
    listed = ARCHITECTURE.partition("## Which file do I open")[2]
    answers = re.findall(r"^- ([^`]+): `(.+)`$", listed, re.MULTILINE)
    assert len(answers) >= 12
    assert len(answers) == listed.count("\n- ")
    assert len({question for question, _ in answers}) == len(answers)


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted(DOCS.glob("*.md"))], ids=lambda page: page.name
)
def test_every_command_listens_on_this_machine_only(page: Path) -> None:
    """But for those that say why not: in a container, and where connections are redirected."""
    joined = page.read_text().replace("\\\n", " ")
    commands = re.findall(
        r"mitm(?:dump|web|proxy) +[^`\n]*-s [^`\n]*think_addon\.py[^`\n]*", joined
    )
    open_to_others = ["transparent@8080", "--mode local:", " -n ", "--listen-host 0.0.0.0"]
    closed = ["--listen-host 127.0.0.1", *open_to_others]
    assert [line for line in commands if not any(text in line for text in closed)] == []


def test_the_security_page_says_what_is_promised_what_is_not_and_how_to_report() -> None:
    parts = re.split(r"^## (.+)$", (DOCS / "security.md").read_text(), flags=re.MULTILINE)
    listed = dict(zip(parts[1::2], parts[2::2], strict=True))
    assert list(listed) == ["What it promises", "What it does not promise", "Reporting"]
    assert all(len(text.split()) > 20 for text in listed.values())


def bound_line(bound: of_replies.Bound) -> str:
    mega, rest = divmod(bound, 1 << 20)
    amount = f"{mega} M" if mega and not rest else f"{bound:,}"
    line = f"- {bound.what}: {amount} {bound.unit}"
    return line if bound.beyond == "the dialect's error" else f"{line}; {bound.beyond}"


def test_the_lists_of_bounds_are_the_codes_and_have_each_that_ends_a_reply() -> None:
    section = (DOCS / "faults.md").read_text().partition("## What is held, at most")[2]
    listed = re.findall(r"^- .+", section.partition("\n## ")[0], re.MULTILINE)
    lines = {bound_line(bound): bound for bound in (*of_replies.TABLE, *of_the_addon.TABLE)}
    assert [line for line in listed if line not in lines] == []
    ends = [line for line, bound in lines.items() if re.search("error|502", bound.beyond)]
    assert ends
    assert [line for line in ends if line not in listed] == []
