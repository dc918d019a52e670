"""Which Python `make` takes for .venv, on machines with other Pythons on PATH or under pyenv."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

FINDER = Path(__file__).parents[2] / ".ci" / "find-python"
BASH = shutil.which("bash") or "bash"
GOOD = f'exec "{sys.executable}" "$@"'
PRETENDS = f'exec "{sys.executable}" -c "import sys; {{}}; exec(sys.argv[1])" "$2"'
OLD = PRETENDS.format("sys.version_info = (3, 11, 7)")
BROKEN_SHIM = "echo 'pyenv: command not found' >&2; exit 127"


class Machine:
    """A machine with only the Pythons it is given."""

    def __init__(self, folder: Path) -> None:
        self.programs = folder / "bin"
        self.pyenv = folder / "pyenv"
        self.programs.mkdir()

    def add(self, name: str, script: str) -> None:
        self._write(self.programs / name, script)

    def add_pyenv(self, version: str, script: str) -> None:
        self._write(self.pyenv / "versions" / version / "bin" / "python3", script)

    def find(self) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": str(self.programs), "PYENV_ROOT": str(self.pyenv)}
        return subprocess.run(
            [BASH, str(FINDER)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def _write(self, path: Path, script: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!{BASH}\n{script}\n")
        path.chmod(0o755)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_an_old_python_and_a_broken_shim_are_passed_over(machine: Machine) -> None:
    machine.add("python3", OLD)
    machine.add("python3.13", BROKEN_SHIM)
    machine.add("python3.12", GOOD)
    assert machine.find().stdout.strip() == sys.executable


def test_versions_that_only_pyenv_has_are_found(machine: Machine) -> None:
    machine.add("python3", OLD)
    machine.add("python3.12", BROKEN_SHIM)
    machine.add_pyenv("3.11.7", OLD)
    machine.add_pyenv("3.12.1", GOOD)
    assert machine.find().stdout.strip() == sys.executable


@pytest.mark.parametrize("only", [OLD, BROKEN_SHIM])
def test_none_at_all_is_one_line_that_says_what_to_install(machine: Machine, only: str) -> None:
    machine.add("python3", only)
    found = machine.find()
    assert (found.returncode, found.stdout) == (1, "")
    assert found.stderr.startswith("Python 3.12 or newer was not found: install ")
    assert found.stderr.count("\n") == 1
