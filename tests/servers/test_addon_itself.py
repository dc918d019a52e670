"""What the addon says of itself."""

import json

import pytest

from converter.servers.addon_itself import ANY, server_behind, told


@pytest.mark.parametrize(
    ("server", "behind"), [("http://localhost:8000", "http://localhost:8000"), ("", ANY)]
)
def test_what_it_says_is_understood(server: str, behind: str) -> None:
    assert server_behind(json.loads(told(server))) == behind


@pytest.mark.parametrize(
    "value", [None, [], {}, {"name": "llama.cpp", "server": "x"}, "think-addon"]
)
def test_another_is_not_taken_for_it(value: object) -> None:
    assert server_behind(value) == ""
