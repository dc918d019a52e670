"""The shape of the sources: imports go one way, each file has its tests, and nothing names the
place where it was written.
"""

import ast
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support import strategies
from tools import imports

ROOT = Path(__file__).parents[1]
SOURCES = sorted(
    source
    for source in [
        ROOT / "think_addon.py",
        *(ROOT / "converter").rglob("*.py"),
        *(ROOT / "laws").rglob("*.py"),
    ]
)

FLOORS = (
    {"core.model"},
    {"core.wire"},
    {"core.calls"},
    {"core.reading"},
    {"core.dialects"},
    {"core.reply"},
    {"core.library"},
    {"addon.servers"},
    {"addon.exchange"},
    {"addon"},
    {"extras"},
    {"laws"},
    {"think_addon", "command"},
)
"""A module imports from floors below its own, and from its own room."""
RANK = {name: rank for rank, names in enumerate(FLOORS) for name in names}
DIALECTS = {"anthropic", "ollama", "openai_chat", "responses"}
_OF_A_DIALECT = tuple(f"converter.core.dialects.{name}" for name in DIALECTS)
LIVE = {"think_addon", "addon", "extras"}
"""Only they may meet mitmproxy."""
COMES_WITH_THE_PROXY = {"brotli", "certifi", "h11"}
"""Packages that mitmproxy itself imports, so that its own binary holds them."""
EXTRAS = {
    "converter.extras.redis.redis_store": {"redis"},
    "converter.extras.traces.sender": {"opentelemetry", "requests"},
    "converter.extras.traces.spans": {"opentelemetry"},
    "converter.extras.watch.metrics": {"prometheus_client", "tornado"},
}
"""Packages that a module loads only where a user has chosen what needs them."""
TEST_ENVIRONMENT = {"laws.sdk_reading", "laws.pytest_plugin"}
"""They run where tests run: with pytest and the SDKs, which the proxy never needs."""


def _module(source: Path) -> str:
    """`converter.core.reading.families` for converter/core/reading/families.py,
    `converter.core.dialects` for the package's own file.
    """
    return ".".join(source.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@cache
def _tree(source: Path) -> ast.Module:
    return ast.parse(source.read_text())


@cache
def _nodes(source: Path) -> tuple[ast.AST, ...]:
    """Every node of a file: each rule reads all files, so that they are read once."""
    return tuple(ast.walk(_tree(source)))


@cache
def _imports(source: Path) -> tuple[str, ...]:
    """Every module that a file imports, whole names; what it takes from a package counts as a
    module of it.
    """
    names: list[str] = []
    for node in _nodes(source):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{source.name}: relative import"
            assert node.module
            package = (ROOT / node.module.replace(".", "/")).is_dir()
            names += (
                [f"{node.module}.{alias.name}" for alias in node.names]
                if package
                else [node.module]
            )
    return tuple(names)


def _unit(module: str) -> str:
    """The name by which the floors know a module: its own, else its room's."""
    name = module.removeprefix("converter.")
    while name not in RANK and "." in name:
        name = name.rpartition(".")[0]
    return name


def _room(module: str) -> str:
    """The floor of a module (`core`, `addon`, `extras`), or `laws`."""
    return module.removeprefix("converter.").split(".")[0]


def _extra(module: str) -> str:
    """The package of an extra, such as `watch`; nothing for a module of another floor."""
    parts = module.split(".")
    return parts[2] if parts[:2] == ["converter", "extras"] and len(parts) > 2 else ""


def each(sources: Iterable[Path]) -> Callable[[Callable[[Path], None]], Callable[[str], None]]:
    """Ask a rule of each source, in one test a room: thousands of tests would cost more than their
    rules.
    """
    rooms: dict[str, list[Path]] = {}
    for source in sources:
        room = source.relative_to(ROOT).parent.parts[:2]
        rooms.setdefault("/".join(room) or source.stem, []).append(source)

    def for_each(rule: Callable[[Path], None]) -> Callable[[str], None]:
        @pytest.mark.parametrize("room", rooms)
        def of_all(room: str) -> None:
            faults = []
            for source in rooms[room]:
                try:
                    rule(source)
                except AssertionError as error:
                    faults.append(f"{source.relative_to(ROOT)}: {error}")
            assert faults == []

        of_all.__doc__ = rule.__doc__
        return of_all

    return for_each


def _is_live(source: Path) -> bool:
    return _room(_module(source)) in LIVE


def _ours(source: Path) -> list[str]:
    return [name for name in _imports(source) if name.startswith(("converter.", "laws."))]


@each(SOURCES)
def test_every_source_has_its_floor(source: Path) -> None:
    packages = {"converter", "converter.core"}
    assert _module(source) in packages or _unit(_module(source)) in RANK


def _goes_up(module: str, imported: str) -> bool:
    """A module imports from floors below its own and from its own room; an extra is imported by
    itself alone, and by the doors.
    """
    if _extra(imported):
        doors = _unit(module) in {"think_addon", "command", "laws"}
        return not doors and _extra(module) != _extra(imported)
    return RANK[_unit(imported)] > RANK[_unit(module)]


def test_imports_go_down_the_floors() -> None:
    up = [
        f"{_module(source)} -> {name}"
        for source in SOURCES
        for name in _ours(source)
        if _goes_up(_module(source), name)
    ]
    assert sorted(set(up)) == []


def test_no_modules_import_one_another() -> None:
    values = imports.circles([_module(source) for source in SOURCES])
    assert [" <-> ".join(modules) for modules in values] == []


def _lines_of_code(source: Path) -> int:
    text = source.read_text()
    strings_at = {
        number
        for node in _nodes(source)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    return sum(
        number not in strings_at and bool(line.strip()) and not line.lstrip().startswith("#")
        for number, line in enumerate(text.splitlines(), 1)
    )


MOST_TO_KNOW = {("rewriter",): 2_110, ("stages",): 7_335, ("rewriter", "stages"): 8_675}
"""Lines of code of all files that a module of `converter.core.reply` needs: so much has to be known
to change the way of a reply's bytes, the reading of its text, and both.
"""


@pytest.mark.parametrize("modules", MOST_TO_KNOW, ids=" and ".join)
def test_a_reply_needs_little(modules: tuple[str, ...]) -> None:
    needed = set().union(*(imports.closure(f"converter.core.reply.{name}") for name in modules))
    assert {name.split(".")[1] for name in needed - {"converter"}} == {"core"}
    files = filter(None, map(imports.file_of, needed))
    assert sum(map(_lines_of_code, files)) <= MOST_TO_KNOW[modules]


MOST_CODE = {"core": 15_195, "addon": 8_305, "extras": 5_998}
"""Lines of code of each floor of `converter/`: none of a docstring or a comment, and no blank one, so
that a sentence that helps costs nothing.
"""
MOST_TESTS = 78_917
"""All lines of Python in `tests/` and `laws/`."""
SLACK = {"core": 100, "addon": 100, "extras": 100, "tests": 400}
"""So far below its bound a count may be. To raise a bound takes a line in the commit that says what
was taken out for it, or why nothing could be.
"""


def _follows(name: str, lines: int, most: int) -> None:
    assert lines <= most, (
        f"{name} has {lines} lines, {most} are allowed: what can go for the new ones?"
    )
    assert lines >= most - SLACK[name], f"{name} fell to {lines} lines: lower its bound ({most})"


@pytest.mark.parametrize("floor", MOST_CODE)
def test_the_code_of_a_floor_has_a_bound_that_follows_down(floor: str) -> None:
    sources = (ROOT / "converter" / floor).rglob("*.py")
    _follows(floor, sum(map(_lines_of_code, sources)), MOST_CODE[floor])


def test_the_lines_of_tests_have_a_bound_that_follows_down() -> None:
    sources = [source for room in ("tests", "laws") for source in (ROOT / room).rglob("*.py")]
    _follows("tests", sum(source.read_text().count("\n") for source in sources), MOST_TESTS)


def test_who_moves_bytes_knows_no_stage() -> None:
    needed = imports.closure("converter.core.reply.rewriter")
    assert "converter.core.reading.engine.engine" not in needed
    assert "converter.core.reading.families" not in needed
    assert "converter.core.calls.assembler" not in needed


@each(SOURCES)
def test_no_dialect_knows_another(source: Path) -> None:
    dialect_names = [
        name
        for name in [_module(source), *_ours(source)]
        if name.startswith("converter.core.dialects.")
    ]
    dialects = {name.split(".")[2] for name in dialect_names} & DIALECTS
    assert len(dialects) <= 1 or not _module(source).startswith(_OF_A_DIALECT)


NAMES_A_DIALECT = {
    "converter.core.dialects.table",  # its rows
    "converter.extras.command.clients",  # the word in Codex's own settings
}
"""All others loop over the table, beside the laws and the redaction, which know each dialect by
themselves.
"""
_OF_DIALECTS = re.compile(
    r"openai|anthropic|responses|.*(/v1/messages|/responses|/chat/completions).*", re.DOTALL
)


def _texts(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Every string but docstrings, and every name that is taken from the table."""
    documents = {
        id(statement.value)
        for node in nodes
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        for statement in node.body
        if isinstance(statement, ast.Expr)
    }
    for node in nodes:
        if isinstance(node, ast.Constant) and id(node) not in documents:
            yield str(node.value)
        elif isinstance(node, ast.ImportFrom) and node.module == "converter.core.dialects.table":
            yield from (alias.name.lower().removesuffix("_chat") for alias in node.names)


@each(SOURCES)
def test_a_dialect_is_named_in_its_folder_and_its_row_only(source: Path) -> None:
    module = _module(source)
    if (
        module.startswith((*_OF_A_DIALECT, "laws.", "converter.extras.recordings.redact."))
        or module in NAMES_A_DIALECT
    ):
        return
    named = [text for text in _texts(_nodes(source)) if _OF_DIALECTS.fullmatch(text)]
    folders = [name for name in _ours(source) if name.startswith(_OF_A_DIALECT)]
    assert named + folders == []


@each(SOURCES)
def test_the_core_meets_no_proxy(source: Path) -> None:
    meets = [name for name in _imports(source) if name.split(".")[0] == "mitmproxy"]
    assert not meets or _is_live(source)


INTERNALS = {
    "converter.addon.layers.guard",
    "converter.addon.mitmproxy_internals",
    "converter.extras.page.mitmweb_internals",
}
PROXY_SOURCES = [
    source
    for source in SOURCES
    if any(name.split(".")[0] == "mitmproxy" for name in _imports(source))
    and _module(source) not in INTERNALS
]


@each(PROXY_SOURCES)
def test_private_members_of_the_proxy_are_used_in_one_module(source: Path) -> None:
    """Our layers are children of mitmproxy's: what those override is named in the guard."""
    own = {"self", "cls", "super()"}
    private = [
        ast.unparse(node)
        for node in _nodes(source)
        if isinstance(node, ast.Attribute)
        and re.match(r"_(?!_)", node.attr)
        and ast.unparse(node.value) not in own
    ]
    modules = [name for name in _imports(source) if name.startswith("mitmproxy.") and "._" in name]
    web = [name for name in _imports(source) if name.startswith("mitmproxy.tools.web")]
    assert private + modules + web == []


@each(SOURCES)
def test_nothing_but_the_standard_library_and_the_proxy_is_needed(source: Path) -> None:
    if _module(source) in TEST_ENVIRONMENT:
        return
    tops = {name.split(".")[0] for name in _imports(source)}
    allowed = {"converter", "laws", "mitmproxy"} | (
        COMES_WITH_THE_PROXY if _is_live(source) else set()
    )
    assert tops - sys.stdlib_module_names - allowed == EXTRAS.get(_module(source), set())


def test_what_comes_with_the_proxy_is_what_it_needs_itself() -> None:
    needed = {re.split(r"[^\w-]", line)[0].lower() for line in metadata.requires("mitmproxy") or []}
    assert needed >= COMES_WITH_THE_PROXY


PRODUCT = [source for source in SOURCES if source.is_relative_to(ROOT / "converter")]


@each([source for source in PRODUCT if not source.name.startswith("__")])
def test_every_source_has_its_test_file(source: Path) -> None:
    """At the same place: tests/core/wire/test_sse.py for converter/core/wire/sse.py. The laws
    need none: tests/laws shows that they find faults.
    """
    room = source.parent.relative_to(ROOT / "converter")
    assert (ROOT / "tests" / room / f"test_{source.name}").is_file()


_CLAUSES = re.compile(
    r"(What|That|Who|Whose|Which|Where|When|Whether|Why|How|By|For|In|On|At|As|To|With|If|So|It|This"
    r"|These|There|Here)\b"
)
"""First words of a sentence that is neither an imperative nor a noun phrase."""


@each(SOURCES)
def test_a_docstring_begins_with_its_promise(source: Path) -> None:
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    begun = [
        sentence.partition("\n")[0]
        for node in _nodes(source)
        if isinstance(node, documented) and (sentence := ast.get_docstring(node))
    ]
    assert [sentence for sentence in begun if _CLAUSES.match(sentence)] == []


_REPLACED = re.compile(
    r"(?:^|_)(?:told|said|asked|heard|given|made|found|known|words|place|way|thing)(?:_|$)"
    r"|(?:Told|Said|Asked|Heard|Given|Made|Found|Known|Words|Place|Way|Thing)(?![a-z])"
)
"""The words that CONTRIBUTING's glossary replaces."""
OWN_NAMES = {"asked", "heard", "connection_made", "traces_words"}
OWN_NAMES |= {"DestinationKnown", "KnownServers", "KnownTurns"}
"""Hooks of `Watcher`, an option, and names of mitmproxy, asyncio, known servers and known turns."""


def _defined(node: ast.AST) -> str:
    """Return the name that a node gives to a function, a class, a parameter or a variable."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return node.name
    if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
        return node.id if isinstance(node, ast.Name) else node.attr
    return node.arg if isinstance(node, ast.arg) else ""


@each(
    [*SOURCES, *(source for room in ("tests", "tools") for source in (ROOT / room).rglob("*.py"))]
)
def test_names_keep_to_the_glossary(source: Path) -> None:
    names = set(map(_defined, _nodes(source)))
    assert {name for name in names if _REPLACED.search(name)} <= OWN_NAMES


LONGEST_FILE, LONGEST_FUNCTION = 500, 60
WHOLE = {
    "converter.core.reading.families",
    "converter.addon.servers.profiles",
    "converter.core.reading.engine.engine",
}
"""Rows and the class of a row, and the loop of one machine with its theory: cut in two, they would
be harder to read.
"""


@each(SOURCES)
def test_a_file_is_read_at_one_sitting(source: Path) -> None:
    length = source.read_text().count("\n")
    assert length <= LONGEST_FILE or _module(source) in WHOLE


@each(SOURCES)
def test_a_function_fits_in_the_eye(source: Path) -> None:
    long = [
        node.name
        for node in _nodes(source)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno >= LONGEST_FUNCTION
    ]
    assert long == []


def _kept() -> list[Path]:
    """Every file that is or would be in the repository."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = (
        subprocess.run(listed, cwd=ROOT, check=True, capture_output=True)
        .stdout.decode()
        .split("\0")
    )
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


def _places() -> list[bytes]:
    """The folders of who runs this, except those that say nothing, such as / and /tmp."""
    folders = {ROOT, ROOT.parent, Path.home()} - {Path(tempfile.gettempdir())}
    return [f"{folder}/".encode() for folder in folders if len(folder.parts) > 1]


def test_no_file_names_the_folder_where_it_was_written() -> None:
    places = _places()
    strings_at = [
        (path.relative_to(ROOT), folder)
        for path in _kept()
        for folder in places
        if folder in path.read_bytes()
    ]
    assert strings_at == []


def test_the_sources_are_among_the_files_that_are_kept() -> None:
    assert set(SOURCES) <= set(_kept())


_CLOCKS = re.compile(
    r"\b(?:(?:monotonic|perf_counter|process_time|thread_time)(?:_ns)?|clock_gettime|time\.time)\("
)


def _reads_a_clock(node: ast.AST, names: set[str]) -> bool:
    used = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    used |= {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}
    return bool(_CLOCKS.search(ast.unparse(node)) or used & names)


def _of_the_clock(function: ast.AST, names: set[str]) -> set[str]:
    """The names in a function whose values come from a clock, or from what reads one."""
    assigned = ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr
    values = set(names)
    for _ in range(3):  # from one to the next
        for node in ast.walk(function):
            if isinstance(node, assigned) and node.value and _reads_a_clock(node.value, values):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                parts = [part for target in targets for part in ast.walk(target)]
                values |= {part.id for part in parts if isinstance(part, ast.Name)}
    return values


def _asserts_by_the_clock(source: Path) -> Iterator[str]:
    text = source.read_text()
    if not _CLOCKS.search(text):
        return
    functions = [
        node for node in _nodes(source) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    measuring = {
        node.name
        for node in functions
        for part in ast.walk(node)
        if isinstance(part, ast.Return)
        and part.value
        and _reads_a_clock(part.value, _of_the_clock(node, set()))
    }
    for function in functions:
        names = _of_the_clock(function, measuring)
        for node in ast.walk(function):
            if isinstance(node, ast.Assert) and _reads_a_clock(node.test, names):
                yield f"{source.relative_to(ROOT)}:{node.lineno}"


def test_no_assert_reads_a_clock() -> None:
    """The speed of a machine shows nothing about the code: figures belong to `make bench`."""
    sources = [
        source for room in ("tests", "laws", "tools") for source in (ROOT / room).rglob("*.py")
    ]
    assert [values for source in sorted(sources) for values in _asserts_by_the_clock(source)] == []


STARTERS = {"claude_code", "codex", "console", "front", "harness", "mitmweb", "npm", "on_terminal"}
"""Modules of tests/support that start a program."""
QUICK = {"test_shape.py", "test_library_alone.py"}
"""They start a program that is done at once."""
MARKED_SLOW = "\npytestmark = pytest.mark.slow\n"
IN_EXTRA_TEST = {"_pytest", "hypothesis", "pytest"} | COMES_WITH_THE_PROXY
IN_EXTRA_TEST |= {"h2", "mitmproxy", "mitmproxy_rs", "ruamel"}
OURS = {"converter", "docs", "laws", "tests", "think_addon", "tools"}


def _loaded(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports that run as a module loads: none of a function or for types only."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        elif not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _loaded(child)


@cache
def _loads(source: Path) -> frozenset[str]:
    """The modules that a file loads by itself, whole names."""
    names: set[str] = set()
    for node in _loaded(_tree(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(names)


@cache
def _file(module: str) -> Path | None:
    file = ROOT / f"{module.replace('.', '/')}.py"
    return file if file.is_file() else None


def _needs(source: Path) -> set[str]:
    """The packages that must be installed for a file to load."""
    waiting, seen, packages = [source], {source}, set[str]()
    while waiting:
        for name in _loads(waiting.pop()):
            if (file := _file(name)) and file not in seen:
                seen.add(file)
                waiting.append(file)
            packages.add(name.split(".")[0])
    return packages - OURS - sys.stdlib_module_names


TESTS = sorted((ROOT / "tests").rglob("test_*.py"))


@each(TESTS)
def test_what_starts_a_program_or_needs_a_package_is_marked_slow(test: Path) -> None:
    text = test.read_text()
    starts = {"subprocess", *(f"tests.support.{name}" for name in STARTERS)} & _loads(test)
    slow = starts or "capture: Capture" in text or _needs(test) - IN_EXTRA_TEST
    assert not slow or MARKED_SLOW in text or test.name in QUICK


def test_a_share_of_the_tests_has_a_row_of_each(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(strategies, "_SHARE", 5)
    plugins = request.config.pluginmanager.get_plugins()
    (ours,) = [plugin for plugin in plugins if hasattr(plugin, "QUICK_ROWS")]
    for_each, left = [*request.session.items], list[pytest.Item]()
    hook = SimpleNamespace(pytest_deselected=lambda **strings_at: left.extend(strings_at["items"]))
    ours.pytest_collection_modifyitems(SimpleNamespace(hook=hook), for_each)
    every = Counter(item.nodeid.partition("[")[0] for item in request.session.items)
    taken = Counter(item.nodeid.partition("[")[0] for item in for_each)
    assert taken.keys() == every.keys()
    assert len(for_each) + len(left) == len(request.session.items)
    assert all(rows >= every[test] // 5 for test, rows in taken.items())


def test_a_share_of_rows_is_the_same_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strategies, "_SHARE", 5)
    rows = [f"{client}-{form}" for client in range(25) for form in range(4)]
    drawn = strategies.drawn_rows(rows, 1, str)
    assert len(drawn) == 20
    assert drawn == strategies.drawn_rows(rows[::-1], 1, str)
    assert {row[-1] for row in drawn} == {"0", "1", "2", "3"}  # of each form, unlike each fifth
    assert len(strategies.drawn_rows(rows[:4], 1, str)) == 1
    assert len(strategies.drawn_rows(rows[:30], 12, str)) == 12
