"""What is done to mitmproxy's own messages."""

import gzip

import pytest

from converter.exchange.exchange import JSON, Answer
from converter.shell import messages
from converter.wire.bounds import BODY_LIMIT
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


@pytest.mark.parametrize(
    ("encoding", "compressed"), [("", False), ("identity", False), ("gzip", True), (" GZIP ", True)]
)
def test_what_must_be_whole_to_be_read(encoding: str, compressed: bool) -> None:
    assert messages.is_compressed(response(content_encoding=encoding)) is compressed


def test_the_servers_connection_is_used_once_and_the_client_does_not_know() -> None:
    flow = request(CHAT)
    flow.response = from_server = response(connection="keep-alive")
    messages.use_connection_once(flow)
    assert from_server.headers["connection"] == "close"
    assert flow.response.headers["connection"] == "keep-alive"


def test_a_copy_shares_nothing_that_changes_and_is_not_streamed() -> None:
    message = response(EVENT_STREAM, a="1")
    message.stream = True
    made = messages.copied(message)
    assert vars(made.data) == vars(message.data)
    assert made.stream is False
    made.headers["a"], made.http_version, made.raw_content = "2", "HTTP/2.0", b"other"
    assert message.headers["a"] == "1"
    assert message.http_version == "HTTP/1.1"
    assert message.raw_content != b"other"


def test_a_request_is_copied_as_a_request() -> None:
    message = request(CHAT).request
    made = messages.copied(message)
    made.path = "/other"
    assert (type(made), message.path) == (type(message), CHAT)


def test_a_request_with_another_body_says_how_long_it_is() -> None:
    sent = request(CHAT).request
    sent.headers["transfer-encoding"], sent.headers["content-encoding"] = "chunked", "gzip"
    messages.fill(sent, b"{}", {b"x-own": b"1", b"content-type": None})
    assert (sent.raw_content, sent.headers["content-length"]) == (b"{}", "2")
    gone = ("transfer-encoding", "content-encoding", "content-type")
    assert not any(name in sent.headers for name in gone)
    assert sent.headers["x-own"] == "1"


def test_a_stream_has_no_length() -> None:
    flow, head = request(CHAT), response(EVENT_STREAM, content_length="7")
    messages.open_for_streaming(flow.request, head)
    assert "content-length" not in head.headers
    assert head.headers["transfer-encoding"] == "chunked"


def test_a_body_is_uncompressed_and_one_that_cannot_be_comes_as_it_is() -> None:
    good, bad, notes = (
        response(content_encoding="gzip"),
        response(content_encoding="gzip"),
        list[str](),
    )
    good.raw_content, bad.raw_content = gzip.compress(b"a"), b"no gzip"
    assert (messages.body(good, notes), notes) == (b"a", [])
    assert messages.body(bad, notes) == b"no gzip"
    assert ["is no gzip" in note for note in notes] == [True]


def test_of_a_compressed_body_no_more_is_read_than_its_limit() -> None:
    long, notes = response(content_encoding="gzip"), list[str]()
    long.raw_content = gzip.compress(bytes(9 << 20))
    assert messages.body(long, notes, 2 << 20) == bytes((2 << 20) + 1)
    assert notes == ["the body has more than 2 megabytes uncompressed, not read on"]


@pytest.mark.parametrize("name", ["", "identity", "None"])
def test_a_body_may_be_said_to_be_plain(name: str) -> None:
    """Servers of streams write `none`, so that nobody in between compresses them."""
    plain, notes = response(content_encoding=name), list[str]()
    plain.raw_content = b"a"
    assert not messages.is_compressed(plain)
    assert (messages.body(plain, notes), notes) == (b"a", [])


def test_a_reply_is_replaced_whole() -> None:
    replaced = response("text/plain", 500, content_encoding="gzip", transfer_encoding="chunked")
    messages.replace(replaced, Answer(200, JSON, b"{}"))
    assert (replaced.status_code, replaced.reason, replaced.raw_content) == (200, "OK", b"{}")
    assert dict(replaced.headers) == {"content-type": JSON, "content-length": "2"}


def test_an_answer_of_our_own() -> None:
    made = messages.made(Answer(404, JSON, b"{}"))
    assert (made.status_code, made.content, made.headers["content-type"]) == (404, b"{}", JSON)


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


@pytest.mark.parametrize(
    ("body", "model"), [(b'{"model": "m"}', "m"), (b"{}", ""), (b"[]", ""), (b"no JSON", "")]
)
def test_the_model_of_a_request_is_what_it_names(body: bytes, model: str) -> None:
    assert messages.model_of(body) == model


def test_what_people_look_at_is_uncompressed_up_to_the_limit() -> None:
    bomb = response(content_encoding="gzip")
    bomb.raw_content = gzip.compress(bytes(BODY_LIMIT + 1000))
    assert messages.content_of(bomb) == bytes(BODY_LIMIT + 1)
    assert messages.content_of(None) == b""


def test_an_answer_says_when_to_try_again() -> None:
    assert messages.made(Answer(503, JSON, b"", retry_after=1)).headers["retry-after"] == "1"
    assert "retry-after" not in messages.made(Answer(200, JSON, b"")).headers
