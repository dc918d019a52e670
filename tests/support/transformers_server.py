"""`transformers serve` with the small model: installed once into the repository's cache, beside
nothing of ours, because torch is large and wants a Python of its own.

It leaves tags and tool calls in the text, whatever the request offers.
"""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.harness import TESTS, Program

VERSION = "5.24.0"
TORCH = "torch==2.13.0+cpu"
"""Without `+cpu` some registries give a build for graphics cards, which is ten times as large."""
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
PACKAGES = (TORCH, f"transformers[serving]=={VERSION}", "accelerate", "gguf")
CACHE = TESTS.parent / ".cache" / f"transformers-{VERSION}"
SECONDS_TO_INSTALL = 600
PLAIN, FOR_CLAUDE_CODE = "tiny-think", "tiny"
"""Folders of the model, which are its names as well."""


class MissingError(Exception):
    """It cannot be had on this machine; the message says why."""


def install() -> Path:
    """Return the Python that has it, which a second call finds installed."""
    python = CACHE / "bin" / "python"
    if not (CACHE / "complete").exists():
        _install(python)
        (CACHE / "complete").touch()
    return python


def _install(python: Path) -> None:
    made_with = _python()
    shutil.rmtree(CACHE, ignore_errors=True)
    _run([made_with, "-m", "venv", str(CACHE)])
    # what is not imported is not compiled: half the processor time of an installation
    pip = [
        str(python),
        "-m",
        "pip",
        "install",
        "-qq",
        "--no-compile",
        "--disable-pip-version-check",
    ]
    try:
        _run([*pip, "--only-binary", ":all:", *PACKAGES])
    except MissingError:
        _run([*pip, "--index-url", CPU_INDEX, TORCH])
        _run([*pip, "--only-binary", ":all:", *PACKAGES])


def _python() -> str:
    """Return a Python that this build of torch knows and that can make a virtual environment."""
    for name in ("python3.11", "python3.12", "python3.13", sys.executable):
        found = shutil.which(name)
        if (
            found
            and not subprocess.run(
                [found, "-c", "import ensurepip, venv"], capture_output=True, check=False
            ).returncode
        ):
            return found
    raise MissingError("no Python from 3.11 to 3.13 can make a virtual environment")


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=SECONDS_TO_INSTALL
        )
    except subprocess.TimeoutExpired:
        raise MissingError(f"{command} took more than {SECONDS_TO_INSTALL} seconds") from None
    if done.returncode:
        raise MissingError(f"{' '.join(command[-3:])}: {done.stderr.strip()[-500:]}")


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve the models below `folder`, each under its folder's name; give the address."""
    python = install()
    make_models(python, folder)
    environment = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "HF_HOME": str(folder / "home")}
    (folder / "home" / "hub").mkdir(parents=True, exist_ok=True)
    serve = [str(python.with_name("transformers")), "serve", "--host", "127.0.0.1"]
    command = ["env", *(f"{name}={value}" for name, value in environment.items()), *serve]
    log = folder / "transformers.log"
    with Program([*command, "--port", "0"], log, cwd=folder) as program:
        yield program.wait_for(r"Uvicorn running on (http://[\d.:]+)")[0]


def make_models(python: Path, folder: Path) -> None:
    """Make the model's folders."""
    maker = TESTS / "tiny_model" / "make_model.py"
    gguf = TESTS / "tiny_model" / "tiny-think.gguf"
    for name in (PLAIN, FOR_CLAUDE_CODE):
        _run([str(python), str(maker), "folder", str(gguf), str(folder / name)])
    _leave_reminders_out(folder / FOR_CLAUDE_CODE / "chat_template.jinja")


def _leave_reminders_out(template: Path) -> None:
    """Let prompts be without Claude Code's reminders, which the model cannot read past."""
    words, written = template.read_text(), "set content = message.content %}"
    assert words.count(written) == 1
    own = "message.content.split('</system-reminder>')[-1].strip()"
    template.write_text(words.replace(written, f"set content = {own} %}}"))
