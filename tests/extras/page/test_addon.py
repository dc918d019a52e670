"""The page costs nothing where there is none, and nothing while no page is open."""

import asyncio
import sys

import pytest
from mitmproxy.addons.view import View
from mitmproxy.test import taddons

from converter.addon.probes.upstream_client import UpstreamClient
from converter.addon.servers.known_servers import KnownServers
from converter.extras.page.addon import Page, page_address
from converter.extras.page.extra import MountedPage
from converter.extras.page.listed import ListRows
from tests.support.addon_flows import CHAT, request
from tests.support.harness import ADDON, MITMDUMP, Program

pytestmark = pytest.mark.slow

WEB = "mitmproxy.tools.web.app"
UNUSED = ("converter.extras.page.addon", "converter.addon.memory.sqlite_store", "sqlite3")
"""Modules that mitmdump has no use for, unless an option asks for a file."""


def test_without_mitmweb_it_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, WEB, raising=False)
    page = MountedPage(UpstreamClient(KnownServers()))
    with taddons.context(page):
        page.running()
        page.done()
    assert WEB not in sys.modules


def test_mitmdump_imports_nothing_of_the_page(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("dump")
    script = folder / "look.py"
    script.write_text(
        f"import sys\ndef running():\n    found = {{{WEB!r}, *{UNUSED!r}}} & sys.modules.keys()\n"
        "    print('imported', found or 'none', flush=True)\n"
    )
    arguments = ["-n", "-s", str(ADDON), "-s", str(script), "--set", f"confdir={folder}"]
    with Program([str(MITMDUMP), *arguments], folder / "log") as program:
        assert program.wait_for(r"imported (.+)") == ["none"]
        assert "watch it think" not in program.output


@pytest.mark.parametrize(
    ("web", "page"),
    [
        ("http://127.0.0.1:8081/?token=a", "http://127.0.0.1:8081/think?token=a"),
        ("http://[::1]:8081/", "http://[::1]:8081/think"),
    ],
)
def test_its_address_has_the_token_of_mitmweb(web: str, page: str) -> None:
    assert page_address(web) == page


def test_a_running_exchange_is_neither_kept_nor_requested_again() -> None:
    page = Page(UpstreamClient(KnownServers()), ListRows(View()))
    flow = request(CHAT)
    assert flow.live
    with pytest.raises(ValueError, match="still running"):
        asyncio.run(page.keep_as_recording(flow, {"name": "name"}))
    with taddons.context(), pytest.raises(ValueError, match="still running"):
        asyncio.run(page.send_again(flow))
