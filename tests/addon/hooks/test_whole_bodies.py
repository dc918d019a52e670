"""Traffic that is not ours streams, unless an option or a script needs it whole."""

import asyncio
import types
from collections.abc import Iterator

import pytest
from mitmproxy.addons import blocklist, intercept, modifybody
from mitmproxy.http import Response
from mitmproxy.options import Options
from mitmproxy.test import taddons
from mitmproxy.tools.dump import DumpMaster

from converter.addon.hooks.whole_bodies import (
    NEED_WHOLE_REPLIES,
    NEED_WHOLE_REQUESTS,
    must_hold_reply,
    must_hold_request,
)
from tests.support.addon_flows import running

TEXT = Response.make(200, b"", {"content-type": "text/plain"})
STREAMS = ["text/event-stream", "application/x-ndjson; charset=utf-8"]


class Script:
    """An addon that is neither mitmproxy's nor ours."""

    name = "script"

    def request(self, _: object) -> None: ...

    def response(self, _: object) -> None: ...


@pytest.fixture
def proxy() -> Iterator[taddons.context]:
    with running() as (_, context):
        context.master.addons.add(blocklist.BlockList(), modifybody.ModifyBody())
        yield context


def test_without_options_and_scripts_all_streams(proxy: taddons.context) -> None:
    assert not must_hold_request()
    assert not must_hold_reply(TEXT)
    proxy.options.update(block_list=["/~all/403"])
    assert must_hold_request()
    assert not must_hold_reply(TEXT)
    proxy.options.update(block_list=[], modify_body=["/a/b"])
    assert must_hold_request()
    assert must_hold_reply(TEXT)


@pytest.mark.parametrize("as_module", [False, True])
def test_a_script_sees_bodies_whole_but_no_stream(proxy: taddons.context, as_module: bool) -> None:
    script: object = Script()
    if as_module:
        script = types.ModuleType("__mitmproxy_script__.mine")
        vars(script).update(request=print, response=print)
    proxy.master.addons.add(script)
    assert must_hold_request()
    assert must_hold_reply(TEXT)
    for kind in STREAMS:
        assert not must_hold_reply(Response.make(200, b"", {"content-type": kind}))
    proxy.master.addons.remove(script)
    assert not must_hold_request()


def test_an_option_has_streams_held_too(proxy: taddons.context) -> None:
    proxy.options.update(modify_body=["/a/b"])
    for kind in STREAMS:
        assert must_hold_reply(Response.make(200, b"", {"content-type": kind}))


def test_all_options_are_mitmproxys() -> None:
    """A name that is none would be passed over."""
    assert {*NEED_WHOLE_REQUESTS, *NEED_WHOLE_REPLIES} <= asyncio.run(names_of_options())


async def names_of_options() -> set[str]:
    master = DumpMaster(Options())
    master.addons.add(intercept.Intercept())  # mitmweb's and the console's
    return set(master.options.keys())
