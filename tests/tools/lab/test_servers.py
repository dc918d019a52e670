"""How each server is started."""

from pathlib import Path

import pytest

from tools.lab.installing import INSTALLERS, Installation
from tools.lab.servers import (
    MODEL,
    _command,
    _environment,
)

PLACE = Installation(Path("/opt/server"))


@pytest.mark.parametrize("name", INSTALLERS)
def test_it_listens_on_this_machine_alone(name: str) -> None:
    words = [*_command(name, PLACE, 99), *_environment(name, PLACE, Path("/tmp"), 99).values()]
    assert "127.0.0.1" in " ".join(words)
    assert "99" in " ".join(words)
    assert "0.0.0.0" not in " ".join(words)
    assert name in {"ollama", "transformers"} or MODEL in words
