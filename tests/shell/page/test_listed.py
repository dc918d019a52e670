"""The list follows mitmweb's own, only while somebody looks, and tells what has changed."""

import asyncio
from collections.abc import Iterator

import pytest

from converter.shell.keep.flow_record import UNDER_WAY
from converter.shell.page import listed
from converter.shell.page.listed import Listed
from tests.support.addon_flows import CHAT, EVENT_STREAM, request, response, streaming, wait
from tests.support.frames import ROLE, stream, text
from tests.support.kept_flows import Watched, pass_on, watched


@pytest.fixture
def there() -> Iterator[Watched]:
    with watched() as there:
        yield there


def opened(there: Watched) -> Listed:
    made = Listed(there.view, UNDER_WAY)
    made.open()
    return made


def ids(exchanges: Listed, since: int = 0) -> list[object]:
    wait(exchanges.refresh())
    return [row["id"] for row in exchanges.changes(since).rows]


def test_all_that_is_there_is_read_when_it_opens(there: Watched) -> None:
    flows = [request(CHAT) for _ in range(3)]
    there.view.add([*flows, request("/v1/models", b"", "GET")])
    assert sorted(map(str, ids(opened(there)))) == sorted(flow.id for flow in flows)


def test_what_comes_changes_and_goes_is_told_once(there: Watched) -> None:
    exchanges = opened(there)
    assert ids(exchanges) == []
    flow = request(CHAT)
    there.view.add([flow])
    assert ids(exchanges) == [flow.id]
    version = exchanges.changes(0).version
    there.view.update([flow])
    assert ids(exchanges, version) == []  # nothing about it is another
    flow.response = response(status=404)
    there.view.update([flow])
    assert ids(exchanges, version) == [flow.id]
    there.view.remove([flow])
    assert ids(exchanges) == []
    assert exchanges.changes(0).gone == [flow.id]
    assert exchanges.changes(exchanges.changes(0).version).gone == []


def test_of_what_is_gone_only_the_last_is_remembered(
    there: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listed, "MOST_GONE", 2)
    exchanges = opened(there)
    flows = [request(CHAT) for _ in range(4)]
    for flow in flows:
        there.view.add([flow])
        wait(exchanges.refresh())
        there.view.remove([flow])
        wait(exchanges.refresh())
    assert exchanges.changes(0).gone == [flow.id for flow in flows[2:]]


def test_a_list_that_is_cleared_is_told(there: Watched) -> None:
    exchanges = opened(there)
    flows = [request(CHAT) for _ in range(2)]
    there.view.add(flows)
    assert len(ids(exchanges)) == 2
    there.view.clear()
    assert ids(exchanges) == []
    assert len(exchanges.changes(0).gone) == 2


def test_what_runs_is_looked_at_each_time(there: Watched) -> None:
    exchanges = opened(there)
    flow = streaming(CHAT)
    there.view.add([flow])
    there.begin(flow, response(EVENT_STREAM))
    assert ids(exchanges) == [flow.id]
    version = exchanges.changes(0).version
    pass_on(flow, ROLE, *text("<think>Hm"))
    assert ids(exchanges, version) == [flow.id]
    version = exchanges.changes(0).version
    assert ids(exchanges, version) == []
    there.break_off(flow, "gone")


def test_nothing_is_followed_while_it_is_closed(there: Watched) -> None:
    exchanges = opened(there)
    exchanges.close()
    there.view.add([request(CHAT)])
    assert ids(exchanges) == []
    exchanges.open()
    assert len(ids(exchanges)) == 1


def test_a_long_list_leaves_others_their_turn(
    there: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listed, "SLICE", 0)
    there.view.add([request(CHAT) for _ in range(50)])
    exchanges, turns = opened(there), 0

    async def others() -> None:
        nonlocal turns
        reading = asyncio.ensure_future(exchanges.refresh())
        while not reading.done():
            turns += 1
            await asyncio.sleep(0)

    wait(others())
    assert turns >= 50


def test_numbers_count_what_is_over(there: Watched) -> None:
    exchanges = opened(there)
    flows = [streaming(CHAT) for _ in range(3)]
    there.view.add(flows)
    there.answer(flows[0], response(EVENT_STREAM), *stream("<think>a</think>", "b"))
    there.answer(flows[1], response(status=500), b"no")
    there.begin(flows[2], response(EVENT_STREAM))
    there.view.update(flows)
    wait(exchanges.refresh())
    everything = exchanges.numbers()()["groups"][""]  # type: ignore[index]
    assert (everything["requests"], everything["failed"]) == (2, 1)
    there.break_off(flows[2], "gone")


def test_a_conversation_is_found_by_its_id(there: Watched) -> None:
    exchanges = opened(there)
    flow, other = request(CHAT), request("/v1/models", b"", "GET")
    there.view.add([flow, other])
    assert exchanges.find(flow.id) is flow
    assert exchanges.find(other.id) is None
    assert exchanges.find("none") is None
    assert exchanges.flows() == [flow]
