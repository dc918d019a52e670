"""Headers of a client that never go to a model server."""

import pytest
from mitmproxy.http import Headers

from converter.addon.hooks.client_headers import withhold_headers, withhold_keys
from converter.core.dialects.table import ANTHROPIC


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("x-api-key", "sk-ant-api03-secret"),
        ("authorization", "Bearer sk-ant-oat01-secret"),
        ("Authorization", "bearer  sk-ant-api03-secret"),
        ("X-Api-Key", " SK-ANT-x"),
    ],
)
def test_keys_of_anthropic_stay_here(name: str, value: str) -> None:
    headers = Headers([(name.encode(), value.encode()), (b"accept", b"*/*")])
    assert withhold_keys(headers) == [name.lower()]
    assert dict(headers) == {"accept": "*/*"}


@pytest.mark.parametrize("value", ["Bearer local", "Bearer sk-proj-x", "Basic sk-ant", "sk-an"])
def test_other_keys_go_to_the_server(value: str) -> None:
    headers = Headers(authorization=value)
    assert withhold_keys(headers) == []
    assert headers["authorization"] == value


def test_cookies_and_headers_for_clouds_stay_here() -> None:
    anthropic = ["anthropic-version", "anthropic-beta", "X-Claude-Code-Session-Id", "x-app"]
    codex = ["X-Codex-Turn-Metadata", "x-codex-window-id", "session-id", "thread-id"]
    names = ["Cookie", *anthropic, *codex]
    headers = Headers([(name.encode(), b"x") for name in [*names, "cookie", "accept"]])
    withhold_headers(headers, ())
    assert list(headers) == ["accept"]


def test_a_server_that_speaks_messages_gets_what_belongs_to_them() -> None:
    headers = Headers(cookie="a", anthropic_version="1", anthropic_beta="b", anthropic_other="c")
    withhold_headers(headers, ANTHROPIC.label.headers)
    assert sorted(headers) == ["anthropic-beta", "anthropic-version"]
