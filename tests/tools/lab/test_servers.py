"""The start of each server."""

from pathlib import Path

import pytest

from tools.lab.installing import INSTALLERS, Installation
from tools.lab.servers import MODEL, _command, _environment

INSTALLED = Installation(Path("/opt/server"))


@pytest.mark.parametrize("name", INSTALLERS)
def test_it_listens_on_this_machine_alone(name: str) -> None:
    parts = [
        *_command(name, INSTALLED, 99),
        *_environment(name, INSTALLED, Path("/tmp"), 99).values(),
    ]
    assert "127.0.0.1" in " ".join(parts)
    assert "99" in " ".join(parts)
    assert "0.0.0.0" not in " ".join(parts)
    assert name in {"ollama", "transformers"} or MODEL in parts
