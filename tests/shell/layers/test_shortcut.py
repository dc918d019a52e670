"""The short way: the same bytes as the long one, in one write for each read."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mitmproxy.http import HTTPFlow

from tests.support.proxy_core import END, HEAD, REQUEST, Core, Marker, chunk


def test_a_read_is_one_call_and_one_write() -> None:
    with Core() as core:
        function = Marker()
        core.streams_with(function)
        core.ask()
        core.answer(HEAD)
        core.heard()
        core.answer(chunk(b"a") + chunk(b"b") + chunk(b"c"))
        assert function.calls == [b"abc"]
        assert core.writes == [chunk(b"<abc>")]


@pytest.mark.parametrize("kept", [True, False])
def test_what_goes_the_short_way_is_kept_where_streams_are(kept: bool) -> None:
    with Core(store_streamed_bodies=kept) as core:
        core.streams_with(Marker())
        core.ask()
        core.answer(HEAD)
        core.answer(chunk(b"a"))
        core.answer(END)
        [flow] = core.flows
    assert flow.response
    assert flow.response.raw_content == (b"<a><end>" if kept else None)


def test_data_with_the_end_is_heard_before_it() -> None:
    with Core() as core:
        function = Marker()
        core.streams_with(function)
        core.ask()
        core.answer(HEAD)
        core.heard()
        core.answer(chunk(b"a") + END)
        assert core.heard() == chunk(b"<a>") + chunk(b"<end>") + END
        assert core.layer._shortcuts == {}


def test_a_stream_that_is_passed_on_takes_it_too() -> None:
    with Core() as core:
        core.streams_with(True)
        core.ask()
        core.answer(HEAD)
        core.heard()
        core.answer(chunk(b"a") + chunk(b"b"))
        assert core.writes == [chunk(b"ab")]


def test_another_addons_function_does_not_take_it() -> None:
    with Core() as core:
        core.streams_with(lambda data: data)
        core.ask()
        core.answer(HEAD)
        assert core.layer._shortcuts == {}


def test_what_is_to_be_debugged_does_not_take_it() -> None:
    with Core(proxy_debug=True) as core:
        core.streams_with(Marker())
        core.ask()
        core.answer(HEAD)
        assert core.layer._shortcuts == {}


def test_a_client_of_http_1_0_gets_bytes_without_framing() -> None:
    def head(flow: HTTPFlow) -> None:
        assert flow.response
        flow.response.stream = Marker()
        flow.response.headers.pop("transfer-encoding")

    with Core() as core:
        core.hooks["responseheaders"] = head
        core.ask(REQUEST.replace(b"HTTP/1.1", b"HTTP/1.0"))
        core.answer(HEAD)
        core.heard()
        core.answer(chunk(b"a") + chunk(b"b"))
        assert core.heard() == b"<ab>"
        core.answer(END)
        assert core.heard() == b"<end>"
        assert core.client in core.closed


@given(
    st.lists(st.binary(min_size=1, max_size=20), max_size=6),
    st.lists(st.integers(0, 200), max_size=6),
    st.sampled_from([END, b"", b"zz\r\n", b"3\r\nab"]),
)
def test_the_client_hears_the_same_as_on_the_long_way(
    said: list[bytes], cuts: list[int], end: bytes
) -> None:
    body = b"".join(map(chunk, said)) + end
    at = [0, *sorted(cut for cut in cuts if cut < len(body)), len(body)]
    heard = []
    for debug in (False, True):
        with Core(proxy_debug=debug) as core:
            function = Marker()
            core.streams_with(function)
            core.ask()
            core.answer(HEAD)
            for begin, stop in itertools.pairwise(at):
                core.answer(body[begin:stop])
            core.server_closes()
            heard.append((core.heard(), function.calls))
    assert heard[0] == heard[1]
