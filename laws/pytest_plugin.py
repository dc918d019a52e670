"""The plugin for `pytest --think-recordings DIR`: for each recording in a folder, every law that
applies, every golden and a person's expectation is a test.

Nothing of the addon is imported until the option, or `think_recordings` in pytest's own settings,
names a folder.
"""

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from converter.extras.recordings.library import Library
    from converter.extras.recordings.recording import Recording
    from laws.laws import Law

_FOLDERS = pytest.StashKey[list[Path]]()  # key in `config.stash`: the folders to test
_ROOT = Path(__file__).resolve().parents[1]  # the folder with `laws/` and our `converter/`
_OURS: dict[str, ModuleType] = {}
"""The modules of our package `converter`, while `sys.modules` has those of the user's project."""


class RecordingFailureError(Exception):
    """Raised by a recording's test that fails; pytest shows its message without a traceback."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--think-recordings` and `--think-cuts`, and the setting `think_recordings`."""
    group = parser.getgroup("think-addon", "recordings of think-addon")
    group.addoption(
        "--think-recordings",
        metavar="DIR",
        help="hold every recording (NAME.mitm) in this folder to the laws",
    )
    group.addoption(
        "--think-cuts", metavar="N", type=int, help="random cuts to draw for each recording and law"
    )
    parser.addini(
        "think_recordings",
        "folder of recordings to test whenever pytest is told no files",
        type="paths",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Add the folders of recordings to pytest's arguments: the option's folder; without the option
    the setting's folders, unless the command line names files. Raises UsageError for no folder.
    """
    named = config.getoption("think_recordings")
    folders = [config.invocation_params.dir / named] if named else config.getini("think_recordings")
    for folder in folders:
        if not folder.is_dir():
            raise pytest.UsageError(f"think_recordings: expected a folder, got {folder}")
    config.stash[_FOLDERS] = [folder.resolve() for folder in folders]
    if named or config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args += [
            str(folder)
            for folder in config.stash[_FOLDERS]
            if not _is_collected_anyway(folder, config)
        ]


def _is_collected_anyway(folder: Path, config: pytest.Config) -> bool:
    """Return True if a pytest argument is the folder, a folder above it, or a path in it."""
    args = [
        (config.invocation_params.dir / argument.partition("::")[0]).resolve()
        for argument in config.args
    ]
    return any(
        folder.is_relative_to(argument) or argument.is_relative_to(folder) for argument in args
    )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "RecordingFile | None":
    """Return the collector of a recording in one of the chosen folders; None for other files."""
    if file_path.suffix != ".mitm":
        return None
    folders = parent.config.stash.get(_FOLDERS, [])
    for folder in _possible_libraries(file_path):
        if folder.resolve() in folders:
            return RecordingFile.from_parent(parent, path=file_path, library_folder=folder)
    return None


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    """Collect a recording with our package `converter`, even if the tested project has its own."""
    with _own_converter(collector):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Run a recording's test with our `converter`, even if the tested project has its own."""
    with _own_converter(item):
        return (yield)


@contextmanager
def _own_converter(node: pytest.Item | pytest.Collector) -> Iterator[None]:
    """Within the `with` statement, `import converter` finds our package for a recording or its
    test, even if the project has one of this name. Nothing changes if ours is loaded already, or if
    the project imports ours: a module that was loaded twice would not recognise its own classes.
    """
    ours = isinstance(node, RecordingFile | RecordingItem)
    if (
        not ours
        or _is_ours(sys.modules.get("converter"))
        or _is_ours(_project_converter(node.config))
    ):
        yield
        return
    theirs = _unload_converter()
    sys.modules.update(_OURS)
    sys.path.insert(0, str(_ROOT))
    try:
        yield
    finally:
        sys.path.remove(str(_ROOT))
        _OURS.update(_unload_converter())
        sys.modules.update(theirs)


def _project_converter(config: pytest.Config) -> ModuleType | None:
    """Return the `converter` that the project's tests would import, not loaded; None if none."""
    folders = [str(config.rootpath), str(config.rootpath / "src"), *sys.path]
    spec = PathFinder.find_spec("converter", folders)
    return module_from_spec(spec) if spec else None


def _is_ours(module: ModuleType | None) -> bool:
    """Return True if the module is our package `converter`, which stands beside `laws/`."""
    paths = getattr(module, "__path__", ())
    return _ROOT / "converter" in (Path(path).resolve() for path in paths)


def _unload_converter() -> dict[str, ModuleType]:
    """Take the package `converter` out of `sys.modules`; return its modules by name."""
    names = [name for name in sys.modules if name.partition(".")[0] == "converter"]
    return {name: sys.modules.pop(name) for name in names}


def _possible_libraries(file: Path) -> list[Path]:
    """Return the folder of `NAME.mitm`; for `NAME/NAME.mitm` also the folder above. One of them may
    be the library of recordings.
    """
    return [file.parent, file.parent.parent] if file.parent.name == file.stem else [file.parent]


class RecordingFile(pytest.File):
    """One recording: a test for each law that applies, each golden, and a person's expectation."""

    def __init__(self, *, library_folder: Path, **keywords: Any) -> None:
        super().__init__(**keywords)
        self._library_folder = library_folder

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the tests; a file that cannot be read has one test, which fails."""
        # the imports of mitmproxy issue this warning
        with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
            from converter.extras.recordings.library import Library  # noqa: PLC0415
            from laws import laws  # noqa: PLC0415  # only where it is used
        library = Library(_relative_to_cwd(self._library_folder))
        try:
            recording = library.load(self.path.stem)
            applying, dialects = list(laws.laws_of(recording)), list(recording.dialects)
        except Exception as error:  # a damaged file must not stop the others
            reason = " ".join(str(error).split()) or type(error).__name__
            reason = reason if self.path.stem in reason else f"{self.path.name}: {reason}"
            yield RecordingItem.from_parent(self, name="can be read", find_fault=lambda: reason)
            return
        cuts = self.config.getoption("think_cuts")
        for law in applying:
            find_fault = partial(_fault_by_law, law, recording, library, cuts)
            yield RecordingItem.from_parent(self, name=str(law), find_fault=find_fault)
        for dialect in dialects:
            name = f"golden for {dialect.name.lower()} clients"
            find_fault = partial(library.golden_difference, recording, dialect)
            yield RecordingItem.from_parent(self, name=name, find_fault=find_fault)
        if library.expectation_path(recording.name).exists():
            find_fault = partial(library.expectation_difference, recording)
            yield RecordingItem.from_parent(self, name="reads as expected", find_fault=find_fault)


def _relative_to_cwd(folder: Path) -> Path:
    """Return the path relative to the current folder; unchanged if it is not in that folder."""
    here = Path(os.path.relpath(folder))
    return folder if here.parts[:1] == ("..",) else here


def _fault_by_law(law: "Law", recording: "Recording", library: "Library", cuts: int | None) -> str:
    """Return the message about the law if the recording breaks it, else an empty text. Skip the
    test if an SDK is missing. `cuts`: how many random cuts to check; None: `variants.DRAWN`.
    """
    from laws.laws import check_one  # noqa: PLC0415
    from laws.laws_of_clients import NotInstalledError  # noqa: PLC0415

    try:
        broken = check_one(law, recording, *([] if cuts is None else [cuts]))
    except NotInstalledError as missing:
        pytest.skip(str(missing))
    return broken[0].message(library.command_line("check", recording.name)) if broken else ""


class RecordingItem(pytest.Item):
    """A test of a recording: against a law, a golden or a person's expectation. `find_fault`
    returns the message of the failure; an empty text if the recording passes.
    """

    def __init__(self, *, find_fault: Callable[[], str], **keywords: Any) -> None:
        super().__init__(**keywords)
        self._find_fault = find_fault

    def runtest(self) -> None:
        """Raise RecordingFailureError if the recording has a fault."""
        if fault := self._find_fault():
            raise RecordingFailureError(fault)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the message of a RecordingFailureError, or pytest's own text for another error."""
        if isinstance(excinfo.value, RecordingFailureError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return the file, no line number, and the headline of a failure: `recording::test`."""
        return self.path, None, f"{self.path.stem}::{self.name}"
