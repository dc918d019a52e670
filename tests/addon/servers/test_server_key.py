"""The server's API key."""

import pytest
from mitmproxy.http import Headers

from converter.addon.servers.server_key import KEY_VARIABLE, SHOWN, hide_key, put_key, server_key
from converter.core.dialects.table import ANTHROPIC

KEY = "sk-local-314159"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, f" {KEY}\n")


def test_the_key_replaces_the_clients() -> None:
    headers = Headers(authorization="Bearer unused", x_api_key="unused", accept="*/*")
    put_key(headers)
    assert dict(headers) == {"authorization": f"Bearer {KEY}", "accept": "*/*"}


def test_a_server_that_speaks_messages_gets_it_in_its_own_header_too() -> None:
    headers = Headers()
    put_key(headers, ANTHROPIC.label.headers)
    assert dict(headers) == {"authorization": f"Bearer {KEY}", "x-api-key": KEY}


def test_nothing_shows_it_afterwards() -> None:
    headers = Headers()
    put_key(headers, ANTHROPIC.label.headers)
    hide_key(headers)
    assert dict(headers) == {"authorization": SHOWN}
    client = Headers(authorization="Bearer unused")
    hide_key(client)
    assert client["authorization"] == "Bearer unused"


def test_without_one_all_stays_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_VARIABLE)
    headers = Headers(authorization="Bearer mine", x_api_key="mine")
    put_key(headers)
    hide_key(headers)
    assert dict(headers) == {"authorization": "Bearer mine", "x-api-key": "mine"}


@pytest.mark.parametrize("written", ["a b", "a\nb", "ä"])
def test_a_key_that_no_header_carries_is_refused(
    written: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, written)
    with pytest.raises(ValueError, match="printable characters in THINK_KEY"):
        server_key()
