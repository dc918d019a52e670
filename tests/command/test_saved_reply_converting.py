"""A saved reply: its head, its dialect, what it becomes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.command.saved_reply import Converting, Headless
from converter.dialects.table import ANTHROPIC, DIALECTS, OPENAI_CHAT, Dialect, Form
from converter.exchange import settings
from converter.transcript import reply
from tests.support.frames import data, stream, whole
from tests.support.native_streams import STREAMS
from tests.support.strategies import cut, law
from tests.support.transcript_samples import thought_and_said

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nServer: x\r\n\r\n"
OPENAI_STREAM = b"".join(stream("<think>deep</think>", "Hi"))
OPENAI_WHOLE = whole("<think>deep</think>Hi")
MESSAGES_STREAM = b"".join(map(data, STREAMS["vllm: a signature of its own"][0]))


@law(100)
@given(
    st.sampled_from([b"", HEAD, b"HTTP/1.1 100 Continue\r\n\r\n" + HEAD]),
    st.sampled_from([b"data: x\n\n", b"", b"{}"]),
    st.data(),
)
def test_a_head_goes_and_the_body_stays(head: bytes, body: bytes, draw: st.DataObject) -> None:
    headless = Headless()
    pieces = draw.draw(cut(head + body)) if head + body else []
    assert b"".join([*map(headless.feed, pieces), headless.close()]) == body
    assert headless.content_type == ("text/event-stream; charset=utf-8" if head else "")


def test_what_only_begins_like_a_head_is_body() -> None:
    headless = Headless()
    assert headless.feed(b"HTTP/1.1 is a protocol") + headless.close() == b"HTTP/1.1 is a protocol"
    assert headless.feed(b" more") == b" more"


def test_a_body_is_not_held_back() -> None:
    headless = Headless()
    headless.feed(HEAD)
    assert headless.feed(b"data: x\n\n") == b"data: x\n\n"


def converted(body: list[bytes], client: Dialect) -> tuple[bytes, Converting]:
    converting = Converting(settings.read(), client)
    return b"".join([*map(converting.feed, body), converting.close()]), converting


@pytest.mark.parametrize("client", DIALECTS)
@pytest.mark.parametrize(
    ("body", "dialect"),
    [
        (OPENAI_STREAM, OPENAI_CHAT),
        (OPENAI_WHOLE, OPENAI_CHAT),
        (MESSAGES_STREAM, ANTHROPIC),
    ],
    ids=["stream", "whole", "messages"],
)
@law(20)
@given(st.data())
def test_a_reply_of_either_dialect_becomes_the_one_asked_for(
    body: bytes, dialect: Dialect, client: Dialect, draw: st.DataObject
) -> None:
    out, converting = converted(draw.draw(cut(body)), client)
    reader = reply.ReplyReader()
    reader.feed(out)
    reader.close()
    assert (converting.dialect, reader.dialect) == (dialect, client)
    assert thought_and_said(reader.transcript())[0] == "deep"
    assert thought_and_said(reader.transcript())[1].strip() in ("Hi", "Hello")
    assert (reader.form is Form.STREAM) == (body != OPENAI_WHOLE)


def test_a_stream_is_written_as_it_comes() -> None:
    converting = Converting(settings.read(), ANTHROPIC)
    written = [
        converting.feed(frame) for frame in [b": ping\n\n", *stream("<think>", "deep", " thoughts")]
    ]
    assert written[0] == b""
    assert b"message_start" in written[1]
    assert b"deep" in written[3]


@pytest.mark.parametrize(
    "body", [b"", b"garbage", b"data: garbage\n\n", b"[1]", b'{"messages": []}']
)
def test_of_what_is_no_reply_nothing_is_written(body: bytes) -> None:
    out, converting = converted([body], OPENAI_CHAT)
    assert (out, converting.dialect, converting.notes) == (b"", None, [])
