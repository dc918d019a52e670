"""The connection to an HTTP/1 server: a bad head is a fault at once."""

import pytest
from mitmproxy.http import Headers
from mitmproxy.test import tutils

from converter.addon.bounds import LONGEST_HEAD
from converter.addon.layers.mends.http1_server import ServerConnection, fault_of_head
from tests.support.proxy_core import END, HEAD, Core, Marker, chunk


@pytest.mark.parametrize("interim", [b"100 Continue", b"102 Processing", b"103 Early Hints"])
def test_an_interim_head_is_not_the_reply(interim: bytes) -> None:
    with Core() as core:
        core.streams_with(Marker())
        core.ask()
        head = b"HTTP/1.1 " + interim + b"\r\nlink: </a>\r\n\r\n"
        for byte in head + head:
            core.answer(bytes([byte]))
        core.answer(HEAD + chunk(b"a") + END)
        assert core.received().endswith(chunk(b"<a>") + chunk(b"<end>") + END)
        assert core.named.count("responseheaders") == 1


def test_an_interim_head_and_the_reply_may_come_in_one_read() -> None:
    with Core() as core:
        core.streams_with(Marker())
        core.ask()
        core.answer(b"HTTP/1.1 100 Continue\r\n\r\n" + HEAD + chunk(b"a") + END)
        assert core.received().endswith(chunk(b"<a>") + chunk(b"<end>") + END)


def test_what_is_no_http_is_a_fault_at_once() -> None:
    assert not fault_of_head(b"")
    assert not fault_of_head(b"\r\nHTT")
    assert "begins with" in fault_of_head(b"HTTP/2 200")
    assert "begins with b'SSH-2.0'" in fault_of_head(b"SSH-2.0")
    assert "begins with b'<html>" in fault_of_head(b"<html>" * 99)


def test_a_head_without_end_is_a_fault() -> None:
    endless = b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * (LONGEST_HEAD // 6)
    assert "more than" in fault_of_head(endless)
    assert not fault_of_head(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * LONGEST_HEAD * 2)


def test_another_protocol_is_a_fault_where_none_was_requested() -> None:
    head = b"HTTP/1.1 101 Switching Protocols\r\n"
    assert "nobody asked for" in fault_of_head(head)
    assert "nobody asked for" in fault_of_head(head, tutils.treq())
    assert not fault_of_head(head, tutils.treq(headers=Headers(upgrade="websocket")))


def test_a_bad_head_is_answered_at_once() -> None:
    with Core() as core:
        core.ask()
        core.answer(b"garbage")
        sent = core.received()
        assert sent.startswith(b"HTTP/1.1 502 ")
        assert b"{Cannot parse HTTP response: it begins with b'garbage'}" in sent
        assert core.servers[0] in core.closed


def test_a_server_that_speaks_unasked_is_hung_up_on() -> None:
    with Core() as core:
        core.ask()
        core.answer(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\na")
        core.answer(b"HTTP/1.1 100 Continue\r\n\r\n")
        assert core.servers[0] in core.closed
        assert core.received().count(b"HTTP/1.1") == 1


def test_a_connection_is_taken_over_once_and_keeps_its_layer() -> None:
    with Core() as core:
        core.ask()
        layer = core.layer.connections[core.servers[0]].child_layer  # type: ignore[attr-defined]
        assert type(layer) is ServerConnection
        assert [type(each) for each in layer.context.layers][-1] is ServerConnection
