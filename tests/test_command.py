"""The door for those who have installed nothing."""

import subprocess
import sys

import pytest

from tests.support.harness import TESTS

pytestmark = pytest.mark.slow


def test_the_command_is_there_without_an_installation() -> None:
    command = [sys.executable, "-m", "converter.command", "--help"]
    run = subprocess.run(command, cwd=TESTS.parent, check=True, capture_output=True, text=True)
    assert "think-addon" in run.stdout
