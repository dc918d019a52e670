"""A real mitmweb keeps no more exchanges than `think_limits` says, and shows those it keeps."""

import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.support.by_path_server import CHAT, ByPathServer, Says
from tests.support.clients import Client, question
from tests.support.frames import stream
from tests.support.mitmweb import Mitmweb

pytestmark = pytest.mark.slow

TEXT = "It is 4. " * 5000
KEPT = 4


def _flows(web: Mitmweb) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.load(
        urllib.request.urlopen(web.page.replace("/?", "/flows?", 1))
    )
    return listed


def _asked(web: Mitmweb, times: int) -> None:
    with Client(web.port) as client:
        for _ in range(times):
            assert client.ask("/v1/messages", question(stream=True)).status == 200


def test_mitmweb_keeps_so_many_flows(tmp_path: Path) -> None:
    with (
        ByPathServer({CHAT: Says(steps=stream("<think>a</think>", TEXT))}) as server,
        Mitmweb(server.address, tmp_path, "--set", f"think_limits=flows={KEPT}") as web,
    ):
        _asked(web, 9)
        flows = _flows(web)
        assert len(flows) == KEPT
        assert all(flow["modified"] for flow in flows)
        web.check()


def test_mitmweb_keeps_so_many_megabytes(tmp_path: Path) -> None:
    with (
        ByPathServer({CHAT: Says(steps=stream("<think>a</think>", TEXT))}) as server,
        Mitmweb(server.address, tmp_path, "--set", "think_limits=flows_mb=1") as web,
    ):
        _asked(web, 30)
        flows = _flows(web)
        assert 0 < len(flows) < 30
        assert sum(flow["response"]["contentLength"] for flow in flows) <= 1024 * 1024
        assert not flows[0]["modified"]
        web.check()
