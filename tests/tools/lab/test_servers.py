"""How each server is started."""

from pathlib import Path

import pytest

from tools.lab.installing import INSTALLERS, MissingError, Place
from tools.lab.servers import (
    CONFIGURATIONS,
    MODEL,
    RIGHT,
    WRONG,
    _command,
    _environment,
    free_port,
)

PLACE = Place(Path("/opt/server"))


def test_every_server_that_is_installed_is_started_in_some_way() -> None:
    assert CONFIGURATIONS.keys() == INSTALLERS.keys()
    assert all({RIGHT, WRONG} <= CONFIGURATIONS[name].keys() for name in ("vllm", "sglang"))


@pytest.mark.parametrize("name", INSTALLERS)
def test_it_listens_on_this_machine_alone(name: str) -> None:
    words = [*_command(name, PLACE, 99), *_environment(name, PLACE, Path("/tmp"), 99).values()]
    assert "127.0.0.1" in " ".join(words)
    assert "99" in " ".join(words)
    assert "0.0.0.0" not in " ".join(words)
    assert name in {"ollama", "transformers"} or MODEL in words


def test_an_unknown_one_is_refused() -> None:
    with pytest.raises(MissingError, match="vllm"):
        _command("vlm", PLACE, 99)


def test_a_port_is_free() -> None:
    assert free_port() > 1023
