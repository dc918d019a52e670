"""A flow's record of its exchange: its comment, its marker and its notes, saved or not."""

import gzip
import json

import pytest
from mitmproxy import flowfilter
from mitmproxy.addons.serverplayback import ServerPlayback
from mitmproxy.http import HTTPFlow
from mitmproxy.proxy.layers.http._hooks import HttpResponseHeadersHook

from converter.addon.keep.flow_record import MOVED, NOTHING, TROUBLE, forget, notes_of, summary_of
from converter.addon.keep.notes import METADATA
from converter.addon.mitmproxy_internals import is_replayed_by_the_server
from converter.extras.page.row import row
from tests.support.addon_flows import (
    BASIC,
    CHAT,
    EVENT_STREAM,
    MESSAGES,
    request,
    response,
    running,
    streaming,
    wait,
)
from tests.support.frames import data, stream, whole
from tests.support.kept_flows import exchanged, kept, pass_on, saved, watched

THOUGHT = stream("<think>a</think>", "b")
PLAIN = stream("b")
BODY = whole("<think>a</think>b")


def bodies(flow: HTTPFlow) -> tuple[str, bytes | None, bytes | None]:
    return (
        flow.request.path,
        flow.request.raw_content,
        flow.response.raw_content if flow.response else None,
    )


def test_the_servers_chunks_are_noted_with_their_times() -> None:
    cuts = notes_of(kept(streaming(), response(EVENT_STREAM), *THOUGHT))["chunks"]
    assert isinstance(cuts, list)
    assert [length for length, _ in cuts] == [len(chunk) for chunk in THOUGHT]
    assert all(at >= 0 for _, at in cuts)


def test_a_compressed_reply_reverts_to_readable_bytes() -> None:
    flow = kept(request(CHAT), response(content_encoding="gzip"), gzip.compress(BODY))
    flow.revert()
    assert flow.response
    assert flow.response.content == flow.response.raw_content == BODY


def test_an_error_reply_reverts_to_the_servers_own() -> None:
    error = json.dumps({"error": {"message": "no such model", "type": "x", "code": 404}}).encode()
    flow = kept(request(MESSAGES), response(status=404), error)
    assert json.loads(bodies(flow)[2] or b"")["type"] == "error"
    flow.revert()
    assert bodies(flow)[2] == error


def test_a_broken_stream_holds_what_came_until_then() -> None:
    with watched() as there:
        flow = there.begin(streaming(), response(EVENT_STREAM))
        pass_on(flow, *THOUGHT[:2])
        there.break_off(flow, "server died")
    got = bodies(flow)[2]
    assert got
    assert b"thinking_delta" in got
    assert (notes_of(flow)["ended"], flow.marked) == ("server died", TROUBLE)
    flow = saved(flow)
    flow.revert()
    assert bodies(flow)[2] == b"".join(THOUGHT[:2])


def test_a_request_that_no_server_answered_has_both_sides() -> None:
    with watched() as there:
        flow = there.break_off(there.ask(streaming()), "no route to host")
    assert flow.request.path == MESSAGES
    flow = saved(flow)
    flow.revert()
    assert (flow.request.path, flow.response) == (CHAT, None)


def test_where_nobody_looks_no_body_is_kept() -> None:
    with running() as (addon, _):
        flow = request(CHAT, {**BASIC, "stream": True})
        addon.requestheaders(flow)
        wait(addon.request(flow))
        flow.response = response(EVENT_STREAM)
        wait(addon.responseheaders(flow))
        pass_on(flow, *THOUGHT, b"")
        wait(addon.response(flow))
    assert METADATA not in flow.metadata
    assert bodies(flow)[2] is None


def test_notes_that_are_none_count_as_none() -> None:
    flow = request(CHAT)
    for noted in (None, "{", "[]", 7):
        flow.metadata[METADATA] = noted
        assert notes_of(flow) == {}


def misread(path: str = CHAT) -> HTTPFlow:
    return kept(
        request(path, {**BASIC, "stream": True}), response(EVENT_STREAM), *stream("a</think>", "b")
    )


def test_the_comment_says_in_short_what_was_done() -> None:
    chunks = stream("<think>ab</think>", "c", "<think>d</think>", "e</think>")
    assert kept(streaming(), response(EVENT_STREAM), *chunks).comment == "2 thoughts, 3 chars"
    assert misread().comment == "opener missing"


def test_the_comment_says_where_a_thought_was_ended_and_why() -> None:
    chunks = stream("<think>ab", "cdef</think>", "g")
    options = {"budget": "enforce", "budget_tokens": "1"}
    flow = kept(streaming(), response(EVENT_STREAM), *chunks, **options)
    assert flow.comment.endswith(
        "a thought was ended behind 4 characters of thinking, because its budget was spent"
    )
    summary = notes_of(flow)["summary"]
    assert isinstance(summary, dict)
    assert summary["thoughts_ended"] == {"budget": 1}


def test_a_tag_that_no_family_reads_is_in_the_comment_with_its_option() -> None:
    flow_request = request(CHAT, {**BASIC, "stream": True})
    flow = kept(flow_request, response(EVENT_STREAM), *stream("<mythink>a", "</mythink>b"))
    assert flow.comment == (
        "<mythink> begins the text, and no family reads it, "
        "try --set think_tags=auto --set think_tags='<mythink> </mythink>'"
    )
    assert flow.marked == TROUBLE


def test_what_a_server_says_is_no_control_sequence_in_a_comment() -> None:
    flow = kept(request(CHAT), response("text/html", 502), b"<title>\x1b[31m\xc2\x9b31m</title>")
    assert flow.comment == r"status 502: ␛[31m\x9b31m"
    assert flow.comment.isprintable()


FILTERS = {
    "~comment chars": {"moved"},
    "~comment thought": {"moved"},
    '~comment "opener missing"': {"trouble"},
    "~comment thought & ~u /v1/messages": {"moved"},
    "~m POST & ~u completions & ! ~comment thought": {"nothing", "trouble"},
    "~marker black": {"moved"},
    "~marker warning": {"trouble"},
    "~marker white": {"nothing"},
}


@pytest.mark.parametrize(("expression", "matching"), FILTERS.items())
def test_filters_find_what_comments_and_markers_say(expression: str, matching: set[str]) -> None:
    flows = {
        "moved": exchanged(MESSAGES, EVENT_STREAM, THOUGHT),
        "nothing": kept(request(CHAT), response(), whole("b")),
        "trouble": misread(),
    }
    assert {flow.marked for flow in flows.values()} == {MOVED, NOTHING, TROUBLE}
    assert {name for name, flow in flows.items() if flowfilter.match(expression, flow)} == matching


def test_a_comment_and_marker_of_a_person_stay() -> None:
    with watched() as there:
        flow = there.begin(streaming(), response(EVENT_STREAM))
        flow.comment, flow.marked = "mine", ":grapes:"
        pass_on(flow, *THOUGHT, b"")
        there.end(flow)
    assert (flow.comment, flow.marked) == ("mine", ":grapes:")


@pytest.mark.parametrize("path", [CHAT, MESSAGES])
def test_half_a_character_of_a_server_can_be_saved(path: str) -> None:
    odd = b'data: {"error": {"message": "\\ud800"}}\n\n'
    flow = saved(
        kept(
            {CHAT: request(CHAT), MESSAGES: streaming()}[path],
            response(EVENT_STREAM),
            *THOUGHT[:2],
            odd,
        )
    )
    summary = notes_of(flow)["summary"]
    assert isinstance(summary, dict)
    assert summary["failure"] == "\ufffd"
    assert flow.comment.removeprefix("status 502: ").startswith("\ufffd ")


def test_a_request_that_a_person_edited_does_not_cost_the_servers_reply() -> None:
    with watched() as there:
        flow = there.ask(streaming())
        flow.backup()  # as mitmweb does before it takes an edit of a held request
        flow.request.content = (flow.request.content or b"").replace(b'"Hi"', b'"Ho"')
        flow.response = response(EVENT_STREAM)
        there.hook(HttpResponseHeadersHook(flow))
        pass_on(flow, *THOUGHT, b"")
        there.end(flow)
    flow.revert()
    _, body, sent = bodies(flow)
    assert json.loads(body or b"")["messages"][0]["content"] == "Ho"
    assert sent == b"".join(THOUGHT)


def test_a_flow_in_a_list_does_not_hold_its_exchange() -> None:
    flow = exchanged(CHAT, EVENT_STREAM, THOUGHT)
    assert flow.response
    assert not callable(flow.response.stream)


def test_the_message_of_an_error_in_a_stream_is_in_the_comment_for_every_client() -> None:
    failing = [
        *THOUGHT[:2],
        data({"error": {"message": "out of \x1bmemory", "type": "server_error"}}),
    ]
    for path in (CHAT, MESSAGES):
        flow = exchanged(path, EVENT_STREAM, failing)
        assert flow.marked == TROUBLE
        assert flow.comment.startswith("out of ␛memory")
        assert flow.comment.count("memory") == 1


@pytest.mark.parametrize("path", [CHAT, MESSAGES])
def test_an_http_error_is_marked_quoted_and_counted_as_failed(path: str) -> None:
    message = "the model exceeds the memory: 4,200 megabytes of 4,096"
    body = json.dumps({"error": {"message": message}}).encode()
    flow = kept(request(path), response(status=400), body)
    assert flow.marked == TROUBLE
    assert flow.comment.startswith("status 400: ")
    assert "exceeds the memory: 4,200" in flow.comment
    summary = summary_of(notes_of(flow))
    assert summary
    assert summary["model"] == "small"
    assert row(flow, None, None)["state"] == "broken"


def sent_again() -> HTTPFlow:
    flow = kept(streaming(), response(EVENT_STREAM), *stream("<think>a</think>", "b"))
    flow.is_replay = "request"
    return flow


def test_notes_on_the_last_reply_are_removed() -> None:
    flow = sent_again()
    assert flow.comment
    forget(flow)
    assert (flow.comment, flow.marked, METADATA in flow.metadata, flow.modified()) == (
        "",
        "",
        False,
        False,
    )


def test_what_a_person_noted_stays() -> None:
    flow = sent_again()
    flow.comment, flow.marked = "mine", ":grapes:"
    forget(flow)
    assert (flow.comment, flow.marked) == ("mine", ":grapes:")


def test_a_flow_that_is_not_sent_again_keeps_all() -> None:
    flow = kept(streaming(), response(EVENT_STREAM), *stream("<think>a</think>", "b"))
    forget(flow)
    assert METADATA in flow.metadata


def test_server_replay_has_a_reply_to_the_clients_request() -> None:
    flow = kept(request(CHAT), response(), b"{}")
    with watched() as there:
        playback = ServerPlayback()
        there.add(playback)
        assert not is_replayed_by_the_server(flow)
        playback.load_flows([flow])
        assert is_replayed_by_the_server(flow)
        assert not is_replayed_by_the_server(request("/other"))
