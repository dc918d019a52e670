"""Changes to mitmproxy's own messages."""

import gzip
import random
import tracemalloc
import zlib

import brotli  # type: ignore[import-untyped]
import pytest
from mitmproxy.http import Headers
from mitmproxy.net import encoding

from converter.addon import http_messages
from converter.addon.exchange.exchange import JSON, Answer
from converter.addon.http_messages import remove_fields, set_fields, uncompress
from converter.core.wire.bounds import BODY_LIMIT
from tests.support.addon_flows import (
    CHAT,
    EVENT_STREAM,
    MESSAGES,
    ask,
    request,
    response,
    running,
    wait,
)

FIELDS = ((b"Host", b"a"), (b"X-Api-Key", b"1"), (b"accept", b"x"), (b"x-api-key", b"2"))


def test_a_field_keeps_its_position_and_its_spelling() -> None:
    headers = Headers(FIELDS)
    set_fields(headers, {b"host": b"b", b"accept": b"y"})
    assert headers.fields == (
        (b"Host", b"b"),
        (b"X-Api-Key", b"1"),
        (b"accept", b"y"),
        (b"x-api-key", b"2"),
    )


def test_a_field_without_a_value_goes_and_a_new_one_comes_last() -> None:
    headers = Headers(FIELDS)
    set_fields(headers, {b"x-api-key": None, b"none": None, b"new": b"1"})
    assert headers.fields == ((b"Host", b"a"), (b"accept", b"x"), (b"new", b"1"))


def test_what_mitmproxy_would_make_of_it_is_the_same() -> None:
    ours, theirs = Headers(FIELDS), Headers(FIELDS)
    set_fields(ours, {b"x-api-key": None, b"host": b"c", b"new": b"1"})
    del theirs["x-api-key"]
    theirs["host"], theirs["new"] = "c", "1"
    assert ours == theirs


def test_a_head_of_which_nothing_goes_stays_the_same() -> None:
    headers = Headers(FIELDS)
    before = headers.fields
    remove_fields(headers, lambda _: False)
    assert headers.fields is before


@pytest.mark.parametrize(
    ("encoding", "compressed"), [("", False), ("identity", False), ("gzip", True), (" GZIP ", True)]
)
def test_what_must_be_whole_to_be_read(encoding: str, compressed: bool) -> None:
    assert http_messages.is_compressed(response(content_encoding=encoding)) is compressed


@pytest.mark.parametrize(
    ("server", "may"),
    [("", True), ("llama.cpp", True), ("other", True), ("uvicorn", False), ("nginx/1.24", False)],
)
def test_an_unlisted_server_may_close_after_a_stream(server: str, may: bool) -> None:
    reply = response(EVENT_STREAM)
    reply.headers.update({"server": server} if server else {})
    assert http_messages.may_close_after_streams(reply) is may


def test_the_servers_connection_is_used_once_and_the_client_does_not_know() -> None:
    flow = request(CHAT)
    flow.response = from_server = response(connection="keep-alive")
    http_messages.use_connection_once(flow)
    assert from_server.headers["connection"] == "close"
    assert flow.response.headers["connection"] == "keep-alive"


def test_a_request_with_another_body_says_how_long_it_is() -> None:
    sent = request(CHAT).request
    sent.headers["transfer-encoding"], sent.headers["content-encoding"] = "chunked", "gzip"
    http_messages.set_body(sent, b"{}", {b"x-own": b"1", b"content-type": None})
    assert (sent.raw_content, sent.headers["content-length"]) == (b"{}", "2")
    gone = ("transfer-encoding", "content-encoding", "content-type")
    assert not any(name in sent.headers for name in gone)
    assert sent.headers["x-own"] == "1"


def test_a_body_is_uncompressed_and_one_that_cannot_be_comes_as_it_is() -> None:
    good, bad, notes = (
        response(content_encoding="gzip"),
        response(content_encoding="gzip"),
        list[str](),
    )
    good.raw_content, bad.raw_content = gzip.compress(b"a"), b"no gzip"
    assert (http_messages.read_body(good, notes), notes) == (b"a", [])
    assert http_messages.read_body(bad, notes) == b"no gzip"
    assert ["is no gzip" in note for note in notes] == [True]


def test_of_a_compressed_body_no_more_is_read_than_its_limit() -> None:
    long, notes = response(content_encoding="gzip"), list[str]()
    long.raw_content = gzip.compress(bytes(9 << 20))
    assert http_messages.read_body(long, notes, 2 << 20) == bytes((2 << 20) + 1)
    assert notes == ["the body has more than 2 megabytes uncompressed, not read on"]


@pytest.mark.parametrize("name", ["", "identity", "None"])
def test_a_body_may_be_declared_plain(name: str) -> None:
    """Servers of streams write `none`, so that no proxy between compresses them."""
    plain, notes = response(content_encoding=name), list[str]()
    plain.raw_content = b"a"
    assert not http_messages.is_compressed(plain)
    assert (http_messages.read_body(plain, notes), notes) == (b"a", [])


@pytest.mark.parametrize(("path", "named"), [(MESSAGES, True), (CHAT, False)])
def test_a_messages_reply_has_the_request_id_that_sdks_show(path: str, named: bool) -> None:
    with running() as (addon, _):
        flow = ask(addon, request(path))
        flow.response = response()
        wait(addon.responseheaders(flow))
        refused = ask(addon, request(path, b"{"))
    assert ("request-id" in flow.response.headers) is named
    if named:
        assert refused.response
        assert refused.response.headers["request-id"].startswith("req_")


def test_the_servers_own_id_of_a_request_stays() -> None:
    with running() as (addon, _):
        flow = ask(addon, request(MESSAGES))
        flow.response = response(Request_ID="req_own")
        wait(addon.responseheaders(flow))
    assert flow.response.headers.get_all("request-id") == ["req_own"]


@pytest.mark.parametrize(
    ("body", "model"), [(b'{"model": "m"}', "m"), (b"{}", ""), (b"[]", ""), (b"no JSON", "")]
)
def test_the_model_of_a_request_is_what_it_names(body: bytes, model: str) -> None:
    assert http_messages.model_of(body) == model


def test_what_people_look_at_is_uncompressed_up_to_the_limit() -> None:
    bomb = response(content_encoding="gzip")
    bomb.raw_content = gzip.compress(bytes(BODY_LIMIT + 1000))
    assert http_messages.content_of(bomb) == bytes(BODY_LIMIT + 1)
    assert http_messages.content_of(None) == b""


def test_an_answer_says_when_to_try_again() -> None:
    assert (
        http_messages.response_of(Answer(503, JSON, b"", retry_after=1)).headers["retry-after"]
        == "1"
    )
    assert "retry-after" not in http_messages.response_of(Answer(200, JSON, b"")).headers


NAMES = ["gzip", "deflate", "br", "zstd"]
MEGABYTE = 1 << 20


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("body", [b"", b"a", b'{"a": 1}' * 1000, bytes(range(256)) * 999])
def test_a_body_is_read(name: str, body: bytes) -> None:
    packed = encoding.encode(body, name)
    assert isinstance(packed, bytes)
    assert uncompress(packed, name, len(body)) == body


@pytest.mark.parametrize("name", NAMES)
def test_a_body_that_holds_much_is_not_read_to_its_end(name: str) -> None:
    packed = encoding.encode(bytes(300 * MEGABYTE), name)
    assert isinstance(packed, bytes)
    tracemalloc.start()
    assert uncompress(packed, name, MEGABYTE) == bytes(MEGABYTE + 1)
    assert tracemalloc.get_traced_memory()[1] < 150 * MEGABYTE
    tracemalloc.stop()


@pytest.mark.parametrize("name", [*NAMES, "bz2", "utf-8", "gzip, br"])
def test_what_is_no_such_encoding_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        uncompress(b"no such body", name, MEGABYTE)


def test_what_a_server_may_leave_out_or_add_is_read() -> None:
    bare = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    assert uncompress(bare.compress(b"Hello") + bare.flush(), "deflate", 9) == b"Hello"
    assert uncompress(zlib.compress(b"Hello"), "gzip", 9) == b"Hello"


@pytest.mark.parametrize("name", ["gzip", "zstd"])
@pytest.mark.parametrize("size", [3, 300], ids=["in one read", "over several"])
def test_parts_that_are_each_compressed_are_one_body(name: str, size: int) -> None:
    parts = [random.Random(at).randbytes(size) for at in range(3)]
    packed = b"".join(bytes(encoding.encode(part, name)) for part in (*parts, b""))
    assert uncompress(packed, name, MEGABYTE) == b"".join(parts)


def test_what_stands_behind_gzip_and_is_none_is_passed_over() -> None:
    packed = gzip.compress(b"Hel") + gzip.compress(b"lo") + bytes(90) + b"\x1f padding"
    assert uncompress(packed, "gzip", 9) == b"Hello"


def test_of_a_body_that_is_cut_short_the_beginning_is_read() -> None:
    whole = b"Hello" * 99
    for packed, name in ((zlib.compress(whole), "gzip"), (brotli.compress(whole), "br")):
        assert whole.startswith(uncompress(packed[:-4], name, 999))
