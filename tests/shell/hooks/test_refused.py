"""A refusal is read as it comes, and the request goes out again without its cause."""

import json

import pytest
from mitmproxy.http import Response

from converter.shell.hooks.refused import METADATA, Refused
from tests.support.addon_flows import CHAT, ask, request, running, wait

SCHEMA = {"type": "object", "properties": {"day": {"type": "string", "pattern": r"\d"}}}
TOOL = {"type": "function", "function": {"name": "log", "parameters": SCHEMA}}
BODY = {"model": "m", "messages": [], "tools": [TOOL]}
REFUSAL = b'{"error": {"message": "failed to parse grammar"}}'


@pytest.mark.parametrize("length", [1, 1000])
def test_the_second_request_lacks_what_was_refused(length: int) -> None:
    with running() as (addon, _):
        flow = ask(addon, request(CHAT, BODY))
        flow.response = Response.make(400, b"", {"content-type": "application/json"})
        wait(addon.responseheaders(flow))
        watcher = addon._listener.watcher(flow)
        assert isinstance(watcher, Refused)
        for at in range(0, len(REFUSAL), length):
            assert not watcher.stopped
            watcher(REFUSAL[at : at + length])
        assert watcher.stopped
        again = watcher.again(possible=True)
        assert again
        assert "pattern" not in (again.text or "pattern")
        assert json.loads(str(flow.metadata[METADATA])) == BODY
        assert not watcher.stopped
