"""The addon: the client's answer and the log when there is no good reply."""

import json

import pytest
from mitmproxy import flow as mitmproxy_flow

from tests.support.addon_flows import (
    BASIC,
    CHAT,
    EVENT_STREAM,
    JSON,
    MESSAGES,
    THINKING,
    answer,
    ask,
    exchanged,
    request,
    response,
    running,
    streaming,
)
from tests.support.frames import ROLE, data, stream

STREAM = b"".join(THINKING)
STATUSES = {
    (400, b'{"error":{"message":"m","type":"BadRequestError"}}'): (
        400,
        "invalid_request_error",
        "m",
    ),
    (503, b'{"error":{"message":"loading"}}'): (529, "overloaded_error", "loading"),
    (502, b"<html><h1>Bad Gateway</h1>"): (502, "api_error", "Bad Gateway"),
    (404, b""): (404, "not_found_error", "404"),
}


@pytest.mark.parametrize(("sent", "expected"), STATUSES.items())
@pytest.mark.parametrize("stream", [False, True])
def test_an_anthropic_client_gets_errors_in_its_dialect(
    sent: tuple[int, bytes], expected: tuple[int, str, str], stream: bool
) -> None:
    got = exchanged(
        streaming() if stream else request(MESSAGES),
        response("text/html", sent[0], retry_after="9"),
        sent[1],
    )
    error = json.loads(got.content or b"")["error"]
    assert (got.status_code, error["type"]) == expected[:2]
    assert expected[2] in error["message"]
    assert (got.headers["content-type"], got.headers["retry-after"]) == (JSON, "9")


LOGGED = {
    "an error of two lines": (MESSAGES, data({"error": {"message": "one\ntwo"}}), "one"),
    "a page": (MESSAGES, b"<html>\n<body>\r\n", "no chat completion"),
    "a cut": (MESSAGES, ROLE, "cut short"),
    "garbage in a stream": (CHAT, b"data: {garbage\n\n" + STREAM, "garbage"),
}


@pytest.mark.parametrize(("path", "body", "word"), LOGGED.values(), ids=LOGGED)
def test_the_log_says_what_happened_in_one_line(
    caplog: pytest.LogCaptureFixture, path: str, body: bytes, word: str
) -> None:
    with running() as (addon, _):
        answer(addon, ask(addon, request(path)), response(EVENT_STREAM), body)
    lines = [
        record.getMessage()
        for record in caplog.records
        if record.getMessage().startswith("think: ")
    ]
    assert [(word in line, "\n" in line, "POST" in line) for line in lines] == [(True, False, True)]


@pytest.mark.parametrize(
    ("message", "levels"),
    [("Client disconnected.", []), ("Connection closed by server.", ["WARNING"])],
)
def test_a_side_that_leaves_is_in_the_log(
    caplog: pytest.LogCaptureFixture, message: str, levels: list[str]
) -> None:
    """A client in the reply's own line alone, a server in a warning as well."""
    caplog.set_level("INFO")
    with running() as (addon, _):
        flow = ask(addon, request(CHAT))
        flow.error = mitmproxy_flow.Error(message)
        addon.error(flow)
        addon.error(flow)
    sent = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert [name for name, line in sent if line.startswith("think: ") and message in line] == levels
    replies = [(name, message in line) for name, line in sent if line.startswith("reply: ")]
    assert replies == [("INFO", True)]


def test_a_misread_stream_is_marked_and_described_in_its_comment() -> None:
    with running() as (addon, _):
        flow = ask(addon, request(CHAT, {**BASIC, "stream": True}))
        answer(addon, flow, response(EVENT_STREAM), b"".join(stream("a</think>", "b")))
        assert flow.marked == ":warning:"
        assert flow.comment.startswith("opener missing")
