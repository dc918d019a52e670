"""A flow after its exchange: the client's side, and on *Revert* the server's."""

import json

import pytest
from mitmproxy.http import HTTPFlow

from converter.addon.keep.flow_record import NOTHING, notes_of
from converter.addon.keep.notes import METADATA
from tests.support.addon_flows import BASIC, CHAT, EVENT_STREAM, JSON, MESSAGES, request, response
from tests.support.frames import stream, whole
from tests.support.kept_flows import exchanged, kept, saved

THOUGHT = stream("<think>a</think>", "b")
PLAIN = stream("b")
BODY = whole("<think>a</think>b")
EXCHANGES = {
    "streamed, OpenAI": (CHAT, EVENT_STREAM, THOUGHT),
    "streamed, Anthropic": (MESSAGES, EVENT_STREAM, THOUGHT),
    "whole, OpenAI": (CHAT, JSON, [BODY]),
    "whole, Anthropic": (MESSAGES, JSON, [BODY]),
}
EACH = pytest.mark.parametrize(("path", "kind", "chunks"), EXCHANGES.values(), ids=EXCHANGES)


def bodies(flow: HTTPFlow) -> tuple[str, bytes | None, bytes | None]:
    return (
        flow.request.path,
        flow.request.raw_content,
        flow.response.raw_content if flow.response else None,
    )


@EACH
def test_the_flow_shows_the_clients_request_and_reply(
    path: str, kind: str, chunks: list[bytes]
) -> None:
    shown, body, got = bodies(exchanged(path, kind, chunks))
    assert (shown, json.loads(body or b"")) == (path, {**BASIC, "stream": kind is EVENT_STREAM})
    assert got
    assert b"<think>" not in got
    assert (b"content_block" in got or b'"content": [' in got or b'"content":[' in got) is (
        path == MESSAGES
    )


@EACH
@pytest.mark.parametrize("from_file", [False, True], ids=["live", "from a file"])
def test_revert_restores_the_servers_request_and_reply(
    path: str, kind: str, chunks: list[bytes], from_file: bool
) -> None:
    flow = exchanged(path, kind, chunks)
    flow = saved(flow) if from_file else flow
    assert flow.modified()
    noted = flow.comment, flow.marked, flow.metadata[METADATA]
    flow.revert()
    shown, body, sent = bodies(flow)
    assert (shown, sent) == (CHAT, b"".join(chunks))
    assert json.loads(body or b"")["messages"][0]["content"] == "Hi"
    assert (flow.comment, flow.marked, flow.metadata[METADATA]) == noted


@EACH
def test_a_flow_is_the_same_after_it_was_saved(path: str, kind: str, chunks: list[bytes]) -> None:
    flow = exchanged(path, kind, chunks)
    again = saved(flow)
    assert bodies(again) == bodies(flow)
    assert notes_of(again) == notes_of(flow)


@EACH
def test_the_flow_shows_the_clients_own_headers(path: str, kind: str, chunks: list[bytes]) -> None:
    client_request = request(
        path, {**BASIC, "stream": kind is EVENT_STREAM}, accept_encoding="gzip"
    )
    flow = kept(client_request, response(kind), *chunks)
    assert flow.request.headers["accept-encoding"] == "gzip"
    flow.revert()
    assert flow.request.headers["accept-encoding"] == "identity"


def test_an_exchange_that_needed_no_change_has_nothing_to_revert_to() -> None:
    body = {**BASIC, "stream": True, "stream_options": {"include_usage": True}}
    flow = kept(request(CHAT, body), response(EVENT_STREAM), *PLAIN)
    assert not flow.modified()
    assert flow.marked == NOTHING
