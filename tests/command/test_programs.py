"""mitmproxy's programs by what shows the flows."""

import subprocess
import sys

import pytest

from converter.command.programs import PROGRAMS

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("interface", PROGRAMS)
def test_each_program_is_there_and_takes_arguments(interface: str) -> None:
    script = f"from converter.command.programs import run; run({interface!r}, ['--version'])"
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert ended.stdout.startswith("Mitmproxy: 12.")
