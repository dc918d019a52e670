"""A client of HTTP/1: its trailers are no fault, and its own fault is answered as one."""

import json

import pytest
from mitmproxy.http import HTTPFlow

from tests.support.proxy_core import Core, chunk

HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


def stream_up(flow: HTTPFlow) -> None:
    """As a request that is not ours."""
    flow.request.stream = True


@pytest.mark.parametrize("end", [b"0\r\n\r\n", b"0\r\nx-sum: 1\r\nx-other: 2\r\n\r\n"])
@pytest.mark.parametrize("streams", [True, False])
def test_a_request_with_trailers_is_answered(end: bytes, streams: bool) -> None:
    with Core() as core:
        if streams:
            core.hooks["requestheaders"] = stream_up
        for _ in range(2):  # and so is the next one of the connection
            core.ask(HEAD + chunk(b"{}") + end)
            core.answer(ANSWER)
            assert core.heard().endswith(b"ok")
        assert b"x-sum" not in b"".join(core.asked)


@pytest.mark.parametrize("bad", [b"zz\r\n{}\r\n", b"-2\r\n{}\r\n", b"2\r\n{}{}\r\n", b"\xff\r\n"])
@pytest.mark.parametrize("streams", [True, False])
def test_a_broken_chunk_of_the_client_is_its_own_fault(bad: bytes, streams: bool) -> None:
    with Core() as core:
        if streams:
            core.hooks["requestheaders"] = stream_up
        core.ask(HEAD + chunk(b"{"))
        core.ask(bad)
        head, _, body = core.heard().partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 400 ")
        assert f"content-length: {len(body)}".encode() in head
        assert "body is broken" in json.loads(body)["error"]["message"]
        assert core.client in core.closed
        assert "error" in core.named


def test_a_client_that_leaves_within_its_request_is_told_nothing() -> None:
    with Core() as core:
        core.ask(HEAD + chunk(b"{"))
        core.client_leaves()
        assert core.heard() == b""
        assert core.client in core.closed


def test_a_broken_chunk_behind_the_answer_s_head_is_not_answered_again() -> None:
    with Core() as core:
        core.hooks["requestheaders"] = stream_up
        core.streams_with(True)
        core.ask(HEAD + chunk(b"{"))
        core.answer(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\no")
        core.heard()
        core.ask(b"zz\r\n")
        assert b"HTTP/1.1" not in core.heard()
        assert core.client in core.closed
