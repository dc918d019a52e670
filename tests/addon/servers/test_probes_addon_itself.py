"""The addon's report about itself."""

import json

import pytest

from converter.addon.servers.probes import ANY_SERVER, addon_identity, server_of_addon


@pytest.mark.parametrize(
    ("server", "behind"), [("http://localhost:8000", "http://localhost:8000"), ("", ANY_SERVER)]
)
def test_what_it_says_is_understood(server: str, behind: str) -> None:
    assert server_of_addon(json.loads(addon_identity(server))) == behind


@pytest.mark.parametrize(
    "value", [None, [], {}, {"name": "llama.cpp", "server": "x"}, "think-addon"]
)
def test_another_is_not_taken_for_it(value: object) -> None:
    assert server_of_addon(value) == ""
