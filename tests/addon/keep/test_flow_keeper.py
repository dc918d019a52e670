"""Finished flows stay within the limits: first the server's bytes go, then whole flows."""

from collections.abc import Iterator

import pytest
from mitmproxy.http import HTTPFlow

from converter.addon.exchange.option_readers import MemoryLimits
from converter.addon.keep import flow_keeper
from converter.addon.keep.flow_keeper import OVERHEAD, drop_server_bytes, size_of
from converter.addon.mitmproxy_internals import flow_backup
from converter.extras.page import open_page
from converter.extras.recordings import flow_file
from converter.extras.recordings.recording import RecordingError
from tests.support.addon_flows import EVENT_STREAM, JSON, request, response, streaming
from tests.support.frames import stream, whole
from tests.support.kept_flows import Watched, saved, shown, watched

REPLY = stream("<think>I add.</think>", "It is 4. " * 20_000)


@pytest.fixture
def there() -> Iterator[Watched]:
    with watched() as there:
        yield there


def exchange(there: Watched) -> HTTPFlow:
    flow = streaming()
    flow.live = True
    there.view.add([flow])
    return there.answer(flow, response(EVENT_STREAM), *REPLY)


def keep(there: Watched, flows: int, size: int) -> None:
    keeper = next(each for each in there.addon.addons if isinstance(each, flow_keeper.FlowKeeper))
    keeper._read_limits = lambda: MemoryLimits(0, flows, size, 0, 0)


def listed(there: Watched) -> list[str]:
    return [flow.id for flow in there.view]


def test_the_oldest_flows_go_beyond_the_number(there: Watched) -> None:
    keep(there, 3, 10**9)
    flows = [exchange(there) for _ in range(5)]
    assert listed(there) == [flow.id for flow in flows[2:]]


def test_beyond_the_bytes_the_servers_own_go_before_any_flow(there: Watched) -> None:
    one = size_of(exchange(there))
    there.view.clear()
    keep(there, 100, 3 * one + 3 * OVERHEAD)
    flows = [exchange(there) for _ in range(4)]
    assert listed(there) == [flow.id for flow in flows]
    assert [flow.modified() for flow in flows] == [False, False, True, True]


def test_flows_go_where_the_servers_bytes_are_not_enough(there: Watched) -> None:
    one = size_of(exchange(there))
    there.view.clear()
    keep(there, 100, one + OVERHEAD)
    flows = [exchange(there) for _ in range(6)]
    assert listed(there)[-1] == flows[-1].id
    assert len(listed(there)) < 4
    assert sum(map(size_of, flows[-len(listed(there)) :])) <= one + OVERHEAD


def test_no_limit_keeps_all(there: Watched) -> None:
    there.options.update(think_limits=["flows=0"])
    flows = [exchange(there) for _ in range(5)]
    assert listed(there) == [flow.id for flow in flows]


def test_what_a_person_has_marked_stays(there: Watched) -> None:
    keep(there, 1, 1)
    first = streaming()
    first.live, first.marked = True, ":star:"
    there.view.add([first])
    there.answer(first, response(EVENT_STREAM), *REPLY)
    others = [exchange(there) for _ in range(3)]
    assert listed(there) == [first.id]
    assert first.modified()
    assert not [other for other in others if other.id in listed(there)]


def test_what_is_held_back_stays(there: Watched) -> None:
    keep(there, 1, 10**9)
    first = exchange(there)
    first.intercept()
    exchange(there)
    assert listed(there) == [first.id]


def test_what_was_read_from_a_file_stays(there: Watched) -> None:
    keep(there, 1, 10**9)
    read = saved(exchange(there))
    read.id = "read"
    there.view.clear()
    there.view.add([read])
    there.end(read)
    exchange(there)
    newest = exchange(there)
    assert set(listed(there)) == {read.id, newest.id}


def test_flows_that_a_person_has_removed_do_not_count(there: Watched) -> None:
    keep(there, 2, 10**9)
    exchange(there)
    there.view.clear()
    flows = [exchange(there) for _ in range(2)]
    assert listed(there) == [flow.id for flow in flows]


def test_a_flow_without_the_servers_bytes_shows_what_the_client_got(there: Watched) -> None:
    flow = exchange(there)
    before = shown(flow, flow.response).text
    drop_server_bytes(flow)
    assert shown(flow, flow.response).text == before
    assert "not kept any more" in shown(flow, flow.response, "Thinking server").text
    assert not flow.modified()


def test_a_flow_without_the_servers_bytes_is_no_recording_and_says_why(there: Watched) -> None:
    flow = exchange(there)
    drop_server_bytes(flow)
    with pytest.raises(RecordingError, match="dropped"):
        flow_file.from_flow(flow, "name")
    assert "dropped" in open_page.reply_steps(flow)[1]


def test_a_flow_that_nothing_was_done_to_has_no_second_copy(there: Watched) -> None:
    flow = request("/v1/chat/completions")
    flow.live = True
    there.answer(flow, response(JSON), whole("Hello"))
    noted = dict(flow.metadata)
    drop_server_bytes(flow)
    assert flow.metadata == noted


def test_the_size_counts_one_object_once(there: Watched) -> None:
    flow = exchange(there)
    body = b"x" * 1000
    assert flow.response
    before = size_of(flow)
    flow.request.data.content = flow.response.data.content = body
    backup = flow_backup(flow)
    assert backup
    assert size_of(flow) < before + 1000 + 1
