"""How `make test` gets the programs that tests drive, on machines that lack them."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

INSTALLER = Path(__file__).parents[2] / ".ci" / "install-programs"
BASH = shutil.which("bash") or "bash"
NEEDED = ("bash", "cat", "env", "mktemp", "rm")
INSTALLS = 'echo "$@" >> "$ASKED"'


class Machine:
    """A machine with only the programs it is given; `asked` holds what its apt-get was asked for."""

    def __init__(self, folder: Path) -> None:
        self.programs = folder / "bin"
        self.programs.mkdir()
        self.asked = folder / "asked"
        for name in NEEDED:
            (self.programs / name).symlink_to(shutil.which(name) or name)

    def add(self, name: str, script: str = "exit 0") -> None:
        (self.programs / name).write_text(f"#!{BASH}\n{script}\n")
        (self.programs / name).chmod(0o755)

    def install(self, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {
            "PATH": str(self.programs),
            "SYSTEM_PROGRAMS": str(self.programs),
            "ASKED": str(self.asked),
            "TMPDIR": os.environ.get("TMPDIR", "/tmp"),
            **variables,
        }
        return subprocess.run(
            [BASH, str(INSTALLER)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def root(machine: Machine) -> Machine:
    machine.add("id", "echo 0")
    machine.add("apt-get", INSTALLS)
    return machine


def test_where_all_is_there_nothing_is_done(root: Machine) -> None:
    for name in (
        "google-chrome",
        "chromedriver",
        "tmux",
        "haproxy",
        "redis-server",
        "nginx",
        "systemd-analyze",
        "ip",
        "nft",
    ):
        root.add(name)
    done = root.install()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not root.asked.exists()


def test_root_gets_what_is_missing_and_no_more(root: Machine) -> None:
    for name in ("chromium", "systemd-analyze", "ip"):
        root.add(name)
    done = root.install()
    assert done.returncode == 0
    assert done.stdout.splitlines()[0].endswith(
        "Installing Debian's chromium-driver tmux haproxy redis-server nginx-light nftables ..."
    )
    update, install = root.asked.read_text().splitlines()
    assert update.endswith(" update")
    assert install.endswith(
        " --no-install-recommends chromium-driver tmux haproxy redis-server nginx-light nftables"
    )
