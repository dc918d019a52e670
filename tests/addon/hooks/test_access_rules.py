"""Headers that stay here, flows that the addon acts on, and web pages that are refused."""

import asyncio
import json

import pytest
from mitmproxy.connection import ConnectionState
from mitmproxy.http import HTTPFlow
from mitmproxy.proxy.mode_specs import ProxyMode

from converter.addon.exchange import settings
from converter.addon.hooks.access_rules import AccessRules, foreign_page_header, is_to_private_host
from converter.addon.keep.flow_record import RUNNING_RECORDS
from tests.support.addon_flows import CHAT, MESSAGES, ask, request, running
from tests.support.rows import rows_of

ROWS = rows_of(__file__)


@pytest.mark.parametrize("host", ROWS["hosts that no page can have come in"])
def test_hosts_that_no_page_can_have_come_in(host: str) -> None:
    assert foreign_page_header(host, None, ()) == ""
    assert foreign_page_header("localhost", f"http://{host or 'localhost'}", ()) == ""


@pytest.mark.parametrize("host", ROWS["a page that points its name here stays outside"])
def test_a_page_that_points_its_name_here_stays_outside(host: str) -> None:
    assert foreign_page_header(host, None, ()) == f"Host: {host}"


@pytest.mark.parametrize(
    "origin",
    ["https://evil.example", "http://evil.example:80", "null", "", "evil", "http://8.8.8.8"],
)
def test_a_foreign_page_that_posts_stays_outside(origin: str) -> None:
    assert foreign_page_header("localhost:8080", origin, ()) == f"Origin: {origin}"


@pytest.mark.parametrize(
    "origin", ["http://localhost:3000", "vscode-webview://x", "chrome-extension://abc", "app://x"]
)
def test_local_pages_and_programs_come_in(origin: str) -> None:
    assert foreign_page_header("localhost:8080", origin, ()) == ""


def test_a_name_that_a_person_allows_comes_in() -> None:
    assert foreign_page_header("llm.example", "https://llm.example", ("llm.example",)) == ""
    assert foreign_page_header("llm.example", "https://other.example", ("llm.example",)) != ""
    assert foreign_page_header("any.example", "null", ("*",)) == ""


DEFAULT = settings.read()
FOREIGN = {"origin": "https://evil.example"}


def local(path: str = CHAT, **headers: str) -> HTTPFlow:
    """A request to a proxy that listens on this machine only."""
    flow = request(path, **headers)
    flow.client_conn.sockname = ("127.0.0.1", 8080)
    return flow


@pytest.mark.parametrize(("path", "dialect"), [(CHAT, "openai"), (MESSAGES, "anthropic")])
def test_a_foreign_page_is_refused_in_the_dialect_of_its_path(
    path: str, dialect: str, caplog: pytest.LogCaptureFixture
) -> None:
    refused = AccessRules().refusal(local(path, **FOREIGN), "localhost:8080", DEFAULT)
    assert refused
    assert refused.status_code == 403
    body = json.loads(refused.content or b"")
    assert ("type" in body) == (dialect == "anthropic")
    assert "Origin: https://evil.example" in body["error"]["message"]
    assert "think_hosts" in caplog.text


def test_a_name_pointed_at_this_machine_is_refused() -> None:
    refused = AccessRules().refusal(local(), "evil.example:8080", DEFAULT)
    assert refused
    assert b"Host: evil.example:8080" in (refused.content or b"")


def test_what_is_not_a_pages_comes_in() -> None:
    assert AccessRules().refusal(local(), "localhost:8080", DEFAULT) is None
    assert AccessRules().refusal(local(), None, DEFAULT) is None


def test_what_a_person_allows_comes_in() -> None:
    allowed = settings.read({"hosts": ["Evil.Example"]})
    assert AccessRules().refusal(local(**FOREIGN), "evil.example", allowed) is None


def test_a_proxy_that_listens_elsewhere_or_goes_forward_refuses_nobody() -> None:
    flow = local(**FOREIGN)
    flow.client_conn.sockname = ("192.168.1.5", 8080)
    assert AccessRules().refusal(flow, "evil.example", DEFAULT) is None
    flow = local(**FOREIGN)
    flow.client_conn.proxy_mode = ProxyMode.parse("regular")
    assert AccessRules().refusal(flow, "evil.example", DEFAULT) is None


def test_the_addon_refuses_before_anything_else() -> None:
    with running() as (addon, _):
        flow = ask(addon, local(**FOREIGN))
        assert flow.response
        assert flow.response.status_code == 403
        assert flow.id not in RUNNING_RECORDS


@pytest.mark.parametrize("path", [CHAT, MESSAGES, "/v1/unknown"])
def test_a_key_of_anthropics_stays_here_and_is_logged_once(
    path: str, caplog: pytest.LogCaptureFixture
) -> None:
    with running() as (addon, _):
        for _ in range(2):
            flow = ask(addon, local(path, authorization="Bearer sk-ant-oat01-x", x_api_key="mine"))
            assert "sk-ant" not in str(flow.request.headers)
            assert "mine" in str(flow.request.headers)
        assert caplog.text.count("is not sent to the model server") == 1
        assert "sk-ant" not in caplog.text


def test_before_anthropics_own_api_its_keys_pass() -> None:
    flow = local(x_api_key="sk-ant-x", anthropic_version="1")
    flow.request.host, flow.request.scheme = "api.anthropic.com", "https"
    AccessRules().clean_headers(flow, None)
    assert flow.request.headers["x-api-key"] == "sk-ant-x"
    flow.request.scheme = "http"  # whoever answers there, it is not the API
    AccessRules().clean_headers(flow, None)
    assert "x-api-key" not in flow.request.headers


def test_what_is_none_of_our_requests_keeps_its_cookies() -> None:
    with running() as (addon, _):
        assert ask(addon, local("/ui", cookie="a")).request.headers["cookie"] == "a"
        assert "cookie" not in ask(addon, local(CHAT, cookie="a")).request.headers


def test_home_is_where_the_connection_leads() -> None:
    flow = local(host="localhost")
    flow.request.host = "8.8.8.8"
    assert not asyncio.run(is_to_private_host(flow))
    flow.server_conn.state, flow.server_conn.peername = ConnectionState.OPEN, ("10.0.0.1", 80)
    assert asyncio.run(is_to_private_host(flow))
