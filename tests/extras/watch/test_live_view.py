"""A reply is shown while it comes, but never for a chunk, and only where somebody looks; the last
look shows its end.
"""

import asyncio
import sys
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from mitmproxy.http import HTTPFlow

from converter.addon.keep.flow_record import RUNNING_RECORDS
from converter.addon.mitmproxy_internals import somebody_looks
from converter.extras.watch import live_view as live
from converter.extras.watch.live_view import RunningReply
from tests.support.addon_flows import EVENT_STREAM, ask, response, running, streaming, wait
from tests.support.frames import DONE, ROLE, delta, stream
from tests.support.kept_flows import Watched, pass_on, shown, watched

WEB = "mitmproxy.tools.web.app"
ENDING = stream("<think>I add.</think>", "It is 4.")[-3:]
TICKS = 20
"""Looks at a running reply; by then all is shown that is ever shown."""
NOW = [0.0]
"""The time, which passes only in `look`."""


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    own = SimpleNamespace(sleep=_sleep, ensure_future=asyncio.ensure_future)
    monkeypatch.setattr(live, "asyncio", own)
    monkeypatch.delitem(sys.modules, WEB, raising=False)  # as in the console
    with watched() as there:
        yield there


def begun(there: Watched) -> tuple[HTTPFlow, RunningReply]:
    flow = there.begin(streaming(), response(EVENT_STREAM))
    return flow, live.RUNNING[flow.id]


async def _sleep(seconds: float) -> None:
    until = NOW[0] + seconds
    while NOW[0] < until:
        await asyncio.sleep(0)


def look() -> None:
    async def ticks() -> None:
        for _ in range(TICKS):
            NOW[0] += live.INTERVAL
            for _ in range(4):
                await asyncio.sleep(0)

    wait(ticks())


def body(flow: HTTPFlow) -> bytes | None:
    assert flow.response
    return flow.response.raw_content


def test_what_the_client_has_got_is_shown_but_for_its_last_byte(there: Watched) -> None:
    flow, running = begun(there)
    pass_on(flow, ROLE, delta(content="<think>I add.</think>"))
    look()
    first = bytes(running.record.sides.client_bytes or b"")
    assert b"I add." in first
    assert there.updates == [first[:-1]]
    pass_on(flow, delta(content="It is"))
    look()
    assert there.updates == [first[:-1], bytes(running.record.sides.client_bytes or b"")[:-1]]
    assert "It is" in shown(flow, flow.response).text


def test_many_chunks_are_one_update(there: Watched) -> None:
    flow, _ = begun(there)
    pass_on(flow, ROLE, *[delta(content="word ")] * 500)
    look()
    assert len(there.updates) == 1


def test_nothing_is_sent_while_nothing_comes(there: Watched) -> None:
    flow, _ = begun(there)
    look()
    assert there.updates == []
    pass_on(flow, ROLE)
    look()
    look()
    assert len(there.updates) == 1


def test_the_end_differs_from_all_that_was_shown_before(there: Watched) -> None:
    flow, running = begun(there)
    pass_on(flow, ROLE, delta(content="<think>I add.</think>"), *ENDING)
    look()
    pass_on(flow, b"")
    there.end(flow)
    whole = bytes(running.record.sides.client_bytes or b"")
    assert body(flow) == whole
    assert whole not in there.updates
    assert "still coming" not in shown(flow, flow.response).text


@pytest.mark.parametrize("how", ["end", "break_off"])
def test_a_reply_is_forgotten_at_its_end(there: Watched, how: str) -> None:
    flow, running = begun(there)
    pass_on(flow, ROLE)
    if how == "end":
        pass_on(flow, DONE, b"")
        there.end(flow)
    else:
        there.break_off(flow, "server died")
    look()
    assert flow.id not in RUNNING_RECORDS
    assert running.task.done()
    assert there.updates == []


def test_a_script_that_is_loaded_anew_goes_on_showing_what_it_has_begun(there: Watched) -> None:
    flow, running = begun(there)
    there.unload()
    pass_on(flow, ROLE)
    look()
    assert len(there.updates) == 1
    flow.live = False  # mitmproxy's word for an exchange that nobody finishes any more
    look()
    assert running.task.done()


def test_a_long_reply_is_shown_less_often(there: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "PACE", 0.001)
    flow, _ = begun(there)
    pass_on(flow, ROLE)
    look()
    assert len(there.updates) <= 1
    before = len(there.updates)
    pass_on(flow, delta(content="word"))
    look()
    assert len(there.updates) == before


def test_a_very_long_reply_is_not_followed_to_its_end(
    there: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "LIVE_LIMIT", 100)
    flow, running = begun(there)
    pass_on(flow, ROLE, delta(content="word " * 100))
    look()
    assert running.task.done()
    assert there.updates == []


def test_in_mitmweb_nobody_looks_before_a_page_is_open(there: Watched) -> None:
    from mitmproxy.tools.web.app import ClientConnection  # noqa: PLC0415 (who imports it is mitmweb)

    assert not ClientConnection.connections
    flow, _ = begun(there)
    pass_on(flow, ROLE)
    look()
    assert there.updates == []
    assert body(flow) is None
    page: object = object()
    ClientConnection.connections.add(page)  # type: ignore[arg-type]  # that it is there is all that counts
    try:
        look()
    finally:
        ClientConnection.connections.clear()
    assert len(there.updates) == 1


def test_in_the_console_somebody_may_always_look(there: Watched) -> None:
    del there
    assert somebody_looks()


def test_where_nothing_shows_flows_no_reply_is_followed() -> None:
    with running() as (addon, _):
        flow = ask(addon, streaming())
        flow.response = response(EVENT_STREAM)
        wait(addon.responseheaders(flow))
        del RUNNING_RECORDS[flow.id]
        assert flow.id not in live.RUNNING
