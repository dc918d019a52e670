"""A saved reply: its head, its dialect, what it becomes."""

import os
from collections.abc import Iterator
from io import BufferedReader, BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.addon.exchange import settings
from converter.addon.transcript import reply
from converter.core.dialects.table import ANTHROPIC, DIALECTS, OPENAI_CHAT, Dialect, Form
from converter.extras.recordings.saved_reply import body_pieces, convert_reply
from tests.support.frames import data, stream, whole
from tests.support.native_streams import STREAMS
from tests.support.strategies import cut, law
from tests.support.transcript_samples import thought_and_answer

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nServer: x\r\n\r\n"
OPENAI_STREAM = b"".join(stream("<think>deep</think>", "Hi"))
OPENAI_WHOLE = whole("<think>deep</think>Hi")
MESSAGES_STREAM = b"".join(map(data, STREAMS["vllm: a signature of its own"][0]))


@pytest.mark.parametrize("head", [b"", HEAD, b"HTTP/1.1 100 Continue\r\n\r\n" + HEAD])
@pytest.mark.parametrize("body", [b"data: x\n\n", b"", b"{}"])
def test_a_head_goes_and_the_body_stays(head: bytes, body: bytes) -> None:
    pieces = [*body_pieces(BufferedReader(BytesIO(head + body)))]
    assert b"".join(piece for piece, _ in pieces) == body
    kind = "text/event-stream; charset=utf-8" if head else ""
    assert {each for _, each in pieces} <= {kind}


def test_a_body_is_not_held_back() -> None:
    read, write = os.pipe()
    with open(read, "rb") as source, open(write, "wb", buffering=0) as file:
        pieces = body_pieces(source)
        file.write(HEAD)
        for body in (b"data: x\n\n", b"data: y\n\n"):
            file.write(body)
            assert next(pieces)[0] == body


def pieces_of(*chunks: bytes) -> Iterator[tuple[bytes, str]]:
    return ((chunk, "") for chunk in chunks)


@pytest.mark.parametrize("client", DIALECTS)
@pytest.mark.parametrize(
    "body", [OPENAI_STREAM, OPENAI_WHOLE, MESSAGES_STREAM], ids=["stream", "whole", "messages"]
)
@law(20)
@given(st.data())
def test_a_reply_of_either_dialect_becomes_the_requested_one(
    body: bytes, client: Dialect, draw: st.DataObject
) -> None:
    pieces = draw.draw(cut(body))
    out = b"".join(convert_reply(pieces_of(*pieces), settings.read(), client))
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
    for out in convert_reply(arriving(), settings.read(), ANTHROPIC):
        written[len(arrived)] = written.get(len(arrived), b"") + out
    assert 1 not in written
    assert b"message_start" in written[2]
    assert b"deep" in written[4]


@pytest.mark.parametrize(
    "body", [b"", b"garbage", b"data: garbage\n\n", b"[1]", b'{"messages": []}']
)
def test_of_what_is_no_reply_nothing_is_written(body: bytes) -> None:
    with pytest.raises(Exception, match=r"no reply|a request"):
        next(convert_reply(pieces_of(body), settings.read(), OPENAI_CHAT))
