"""The list follows mitmweb's own, only while somebody looks, and tells what has changed."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

import pytest

from converter.extras.page.listed import ListRows
from converter.extras.page.row import Row
from tests.support.addon_flows import CHAT, EVENT_STREAM, request, response, streaming, wait
from tests.support.frames import stream
from tests.support.kept_flows import Watched, watched


@pytest.fixture
def there() -> Iterator[Watched]:
    with watched() as there:
        yield there


def opened(there: Watched) -> ListRows:
    listed = ListRows(there.view)
    listed.open()
    return listed


def ids(exchanges: ListRows, earlier: Mapping[str, Row] = MappingProxyType({})) -> list[str]:
    """Return the exchanges whose rows have changed since `earlier`."""
    wait(exchanges.refresh())
    return [name for name, row in exchanges.rows.items() if earlier.get(name) is not row]


def test_all_that_is_there_is_read_when_it_opens(there: Watched) -> None:
    flows = [request(CHAT) for _ in range(3)]
    there.view.add([*flows, request("/v1/models", b"", "GET")])
    assert sorted(map(str, ids(opened(there)))) == sorted(flow.id for flow in flows)


def test_each_new_changed_or_deleted_exchange_is_reported_once(there: Watched) -> None:
    exchanges = opened(there)
    assert ids(exchanges) == []
    flow = request(CHAT)
    there.view.add([flow])
    assert ids(exchanges) == [flow.id]
    earlier = dict(exchanges.rows)
    there.view.update([flow])
    assert ids(exchanges, earlier) == []  # nothing about it is another
    flow.response = response(status=404)
    there.view.update([flow])
    assert ids(exchanges, earlier) == [flow.id]
    there.view.remove([flow])
    assert ids(exchanges) == []


def test_a_row_tells_what_the_numbers_at_the_head_count(there: Watched) -> None:
    exchanges = opened(there)
    flows = [streaming(CHAT) for _ in range(3)]
    there.view.add(flows)
    there.answer(flows[0], response(EVENT_STREAM), *stream("<think>a</think>", "b"))
    there.answer(flows[1], response(status=500), b"no")
    there.begin(flows[2], response(EVENT_STREAM))
    there.view.update(flows)
    wait(exchanges.refresh())
    rows = [exchanges.rows[flow.id] for flow in flows]
    assert [(each["running"], each["state"]) for each in rows] == [
        (False, "done"),
        (False, "broken"),
        (True, "waiting"),
    ]
    assert {"thinking", "text", "first_byte", "first_thought", "first_text", "end"} <= rows[
        0
    ].keys()
    there.break_off(flows[2], "gone")


def chat(*turns: tuple[str, str], **more: object) -> dict[str, object]:
    messages = [{"role": role, "content": content} for role, content in turns]
    return {"model": "small", "messages": [*messages, *more.get("calls", [])]}  # type: ignore[misc]


def test_rows_name_their_session_in_whatever_order_mitmweb_lists(there: Watched) -> None:
    turns = [("user", "Hi"), ("assistant", "Yes?"), ("user", "And?")]
    flows = [request(CHAT, chat(*turns)), request(CHAT, chat(*turns[:1]))]
    for flow, created in zip(flows, (2.0, 1.0), strict=True):
        flow.timestamp_created = created
    there.view.add(flows)
    exchanges = opened(there)
    wait(exchanges.refresh())
    assert {row["session"] for row in exchanges.rows.values()} == {flows[1].id}


def test_a_sub_agents_rows_change_when_its_call_is_read(there: Watched) -> None:
    exchanges = opened(there)
    function = {"name": "task", "arguments": '{"prompt": "Look at it"}'}
    call = {"role": "assistant", "tool_calls": [{"id": "1", "function": function}]}
    main, sub = request(CHAT, chat(("user", "Hi"))), request(CHAT, chat(("user", "Look at it")))
    there.view.add([main])
    there.view.add([sub])
    wait(exchanges.refresh())
    earlier = dict(exchanges.rows)
    goes_on = request(CHAT, chat(("user", "Hi"), calls=[call]))
    there.view.add([goes_on])
    wait(exchanges.refresh())
    within = {name: (row["session"], row["within"]) for name, row in exchanges.rows.items()}
    assert {name: within[name] for name in ids(exchanges, earlier)} == {
        sub.id: (sub.id, main.id),
        goes_on.id: (main.id, ""),
    }


def test_nothing_is_read_for_sessions_before_a_page_looks(
    there: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = list[str]()
    plain = ListRows._request_fields

    def counted(exchanges: ListRows, name: str) -> object:
        reads.append(name)
        return plain(exchanges, name)

    monkeypatch.setattr(ListRows, "_request_fields", counted)
    listed = ListRows(there.view)
    flows = [request(CHAT) for _ in range(5)]
    there.view.add(flows)
    wait(listed.refresh())
    assert reads == []
    listed.open()
    wait(listed.refresh())
    there.view.update(flows)
    wait(listed.refresh())
    assert sorted(reads) == sorted(flow.id for flow in flows)


def test_a_request_that_is_listed_late_is_still_the_first_of_its_session(there: Watched) -> None:
    """Its row is built before its body is there, and reported as changed behind those that its
    reply has caused: a client has the last bytes before mitmproxy's hook.
    """
    exchanges = opened(there)
    function = {"name": "task", "arguments": '{"prompt": "Look at it"}'}
    call = {"role": "assistant", "tool_calls": [{"id": "1", "function": function}]}
    main = request(CHAT, chat(("user", "Hi")))
    goes_on = request(CHAT, chat(("user", "Hi"), calls=[call]))
    sub = request(CHAT, chat(("user", "Look at it")))
    for number, flow in enumerate((main, goes_on, sub)):
        flow.timestamp_created = float(number)
    body, main.request.raw_content, main.request.timestamp_end = (
        main.request.raw_content,
        None,
        None,
    )
    there.view.add([main])
    wait(exchanges.refresh())
    wait(exchanges.refresh())
    main.request.raw_content, main.request.timestamp_end = body, 1.0
    for flow in (sub, goes_on):
        there.view.add([flow])
    wait(exchanges.refresh())
    rows = {name: (row["session"], row["within"]) for name, row in exchanges.rows.items()}
    assert rows == {main.id: (main.id, ""), goes_on.id: (main.id, ""), sub.id: (sub.id, main.id)}


def test_a_session_is_taken_with_its_branches_in_order(there: Watched) -> None:
    exchanges = opened(there)
    function = {"name": "task", "arguments": '{"prompt": "Look at it"}'}
    call = {"role": "assistant", "tool_calls": [{"id": "1", "function": function}]}
    flows = [
        request(CHAT, chat(("user", "Hi"))),
        request(CHAT, chat(("user", "Look at it"))),
        request(CHAT, chat(("user", "Hi"), calls=[call])),
        request(CHAT, chat(("user", "Bye"))),
    ]
    for number, flow in enumerate(flows):
        flow.timestamp_created = float(number)
        there.view.add([flow])
    wait(exchanges.refresh())
    taken = exchanges.session_exchanges(flows[1].id)
    assert [each.row["id"] for each in taken] == [flow.id for flow in flows[:3]]
    assert [each.row["id"] for each in exchanges.session_exchanges(flows[3].id)] == [flows[3].id]
    assert exchanges.session_exchanges("gone") == []
