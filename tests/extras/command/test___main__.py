"""The command `think-addon`: which job is done, and with which exit status."""

import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from converter.extras.command.__main__ import main
from tests.support import frames
from tests.support.by_path_server import CHAT, ByPathServer, Says, owned_by
from tests.support.harness import Program, free_ports

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("arguments", "status", "line"),
    [
        (
            ["ftp://host"],
            2,
            "think-addon: expected an address such as http://localhost:8000, got 'ftp://host'\n",
        ),
        (
            ["http://localhost:8000", "--port", "x"],
            2,
            "think-addon: expected a number from 1 to 65535 for --port, got 'x'\n",
        ),
    ],
)
def test_what_cannot_be_done_is_one_line(
    arguments: list[str], status: int, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == status
    assert capsys.readouterr().err == line


@pytest.mark.parametrize(
    "arguments",
    [
        ["--nonsense"],
        ["http://a", "http://b"],
        ["doctor", "--nonsense"],
        ["http://a", "--dump", "--web"],
    ],
)
def test_wrong_use_shows_how_it_is_used(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert "usage: think-addon" in capsys.readouterr().err


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project as pip lays it down, in a folder of its own."""
    sources, folder = tmp_path_factory.mktemp("sources"), tmp_path_factory.mktemp("installed")
    shutil.copytree(ROOT / "converter", sources / "converter")
    for name in ("think_addon.py", "pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, sources)
    install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "-qq",
        "--no-deps",
        "--disable-pip-version-check",
    ]
    subprocess.run([*install, "--target", str(folder), str(sources)], check=True)
    return folder


@pytest.mark.long
def test_installed_the_command_starts_the_proxy_from_anywhere(
    installed: Path, tmp_path: Path
) -> None:
    """Nothing of this folder is at hand: what is not in the package is missed here."""
    start = f"import sys; sys.path.insert(0, {str(installed)!r}); from converter.extras.command.__main__ import main; sys.exit(main())"
    assert (installed / "bin" / "think-addon").is_file()
    named = [sys.executable, "-c", start, "--version"]
    assert subprocess.run(
        named, cwd=tmp_path, check=True, capture_output=True, text=True
    ).stdout.startswith("think-addon 0.")
    rows = {**owned_by("vllm"), CHAT: Says(frames.whole("<think>I add.</think>84"))}
    port = str(free_ports(1)[0])  # another test may have the usual one
    with (
        ByPathServer(rows) as server,
        _running(
            [sys.executable, "-c", start, server.address, "--port", port], tmp_path
        ) as program,
    ):
        proxy = program.wait_for(r"Proxy: +(\S+)")[0]
        request = urllib.request.Request(
            f"{proxy}{CHAT}", data=b'{"messages": []}', headers={"content-type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=30) as reply:
            assert b'"reasoning_content":"I add."' in reply.read()


def _running(command: list[str], folder: Path) -> Program:
    more = ["--dump", "--", "--set", f"confdir={folder}"]
    return Program([*command, *more], folder / "log", cwd=folder)


def test_no_worker_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["http://localhost:8000", "--dump", "--workers", "0"]) == 2
    assert "expected a number from 1 for --workers, got 0" in capsys.readouterr().err


def test_help_imports_nothing_of_mitmproxy() -> None:
    program = "import sys; from converter.extras.command import start; start.parser().format_help()"
    shown = f"{program}; print('mitmproxy' in sys.modules)"
    command = [sys.executable, "-c", shown]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    assert done.stdout == "False\n"
