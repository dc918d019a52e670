"""A saved reply: its head, its dialect, what it becomes."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.addon.exchange import settings
from converter.addon.transcript import reply
from converter.core.dialects.table import ANTHROPIC, DIALECTS, OPENAI_CHAT, Dialect, Form
from converter.extras.recordings.saved_reply import converted, headless
from tests.support.frames import data, stream, whole
from tests.support.native_streams import STREAMS
from tests.support.strategies import cut, law
from tests.support.transcript_samples import thought_and_answer

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
    pieces = draw.draw(cut(head + body)) if head + body else []
    bodies, kinds = zip(*headless(iter(pieces)), strict=True)
    assert b"".join(bodies) == body
    assert kinds[-1] == ("text/event-stream; charset=utf-8" if head else "")


def test_what_only_begins_like_a_head_is_body() -> None:
    pieces = headless(iter([b"HTTP/1.1 is a protocol", b" more"]))
    assert b"".join(piece for piece, _ in pieces) == b"HTTP/1.1 is a protocol more"


def test_a_body_is_not_held_back() -> None:
    arrived: list[bytes] = []

    def arriving() -> Iterator[bytes]:
        for chunk in (HEAD, b"data: x\n\n", b"data: y\n\n"):
            arrived.append(chunk)
            yield chunk

    for body, _ in headless(arriving()):
        assert body == (b"" if arrived[-1] == HEAD else arrived[-1])


def pieces_of(*chunks: bytes) -> Iterator[tuple[bytes, str]]:
    return ((chunk, "") for chunk in chunks)


@pytest.mark.parametrize("client", DIALECTS)
@pytest.mark.parametrize(
    "body",
    [OPENAI_STREAM, OPENAI_WHOLE, MESSAGES_STREAM],
    ids=["stream", "whole", "messages"],
)
@law(20)
@given(st.data())
def test_a_reply_of_either_dialect_becomes_the_requested_one(
    body: bytes, client: Dialect, draw: st.DataObject
) -> None:
    pieces = draw.draw(cut(body))
    out = b"".join(converted(pieces_of(*pieces), settings.read(), client))
    reader = reply.ReplyReader()
    reader.feed(out)
    reader.close()
    assert reader.recogniser.dialect is client
    assert thought_and_answer(reader.transcript())[0] == "deep"
    assert thought_and_answer(reader.transcript())[1].strip() in ("Hi", "Hello")
    assert (reader.recogniser.form is Form.STREAM) == (body != OPENAI_WHOLE)


def test_a_stream_is_written_as_it_comes() -> None:
    frames = [b": ping\n\n", *stream("<think>", "deep", " thoughts")]
    arrived: list[bytes] = []

    def arriving() -> Iterator[tuple[bytes, str]]:
        for frame in frames:
            arrived.append(frame)
            yield frame, ""

    written: dict[int, bytes] = {}
    for out in converted(arriving(), settings.read(), ANTHROPIC):
        written[len(arrived)] = written.get(len(arrived), b"") + out
    assert 1 not in written
    assert b"message_start" in written[2]
    assert b"deep" in written[4]


@pytest.mark.parametrize(
    "body", [b"", b"garbage", b"data: garbage\n\n", b"[1]", b'{"messages": []}']
)
def test_of_what_is_no_reply_nothing_is_written(body: bytes) -> None:
    with pytest.raises(Exception, match=r"no reply|a request"):
        next(converted(pieces_of(body), settings.read(), OPENAI_CHAT))
