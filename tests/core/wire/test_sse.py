"""Bytes to frames: server-sent events as the standard has them, cut anywhere, each frame with the
bytes it came in.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.core.wire.sse import (
    NDJSON,
    Frame,
    FrameDecoder,
    LineDecoder,
    MislabelledBody,
    read_frame,
    write_frame,
)
from tests.support.rows import rows_of
from tests.support.strategies import cut, law

TABLES = rows_of(__file__)

STREAMS = st.lists(
    st.sampled_from(
        [
            b"data: a",
            b"data",
            b": c",
            b"event: e",
            b"id: 1",
            b"\n",
            b"\r\n",
            b"\n\n",
            b"\r\n\r\n",
            b"\r\r",
            "\u2028".encode(),
            b"x",
        ]
    ),
    max_size=14,
).map(b"".join)


def decode(pieces: list[bytes], limit: int = 1000) -> list[Frame]:
    decoder = FrameDecoder(limit)
    return [frame for piece in pieces for frame in decoder.feed(piece)] + decoder.close()


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"], ids=repr)
def test_a_frame_ends_with_a_blank_line_of_any_kind(newline: bytes) -> None:
    body = newline.join([b"event: e", b"data: a", b"", b"data: b", b"", b""])
    frames = decode([body])
    assert [frame.data for frame in frames] == [b"a", b"b"]
    assert b"".join(frame.raw for frame in frames) == body


ROWS = TABLES["rows"]


@pytest.mark.parametrize(("raw", "data"), ROWS.values(), ids=ROWS.keys())
def test_field(raw: bytes, data: bytes | None) -> None:
    assert [(frame.raw, frame.data) for frame in decode([raw])] == [(raw, data)]


def test_a_frame_of_comments_alone_is_a_comment() -> None:
    assert [
        frame.comment for frame in decode([b": ping\n\n:\n:\n\n: a\ndata: b\n\nid: 1\n\n"])
    ] == [True, True, False, False]


def test_a_frame_comes_with_the_chunk_that_completes_it() -> None:
    decoder = FrameDecoder()
    assert decoder.feed(b"data: a\n") == []
    assert [frame.data for frame in decoder.feed(b"\ndata: b")] == [b"a"]
    assert [frame.data for frame in decoder.close()] == [b"b"]
    assert decoder.close() == []


@law(100)
@given(st.data(), STREAMS)
def test_cut_anywhere_the_frames_are_the_same(data: st.DataObject, body: bytes) -> None:
    frames = decode([body])
    assert decode(data.draw(cut(body))) == frames
    assert decode([body[offset : offset + 1] for offset in range(len(body))]) == frames


@law(100)
@given(st.data(), STREAMS | st.binary(max_size=80), st.integers(4, 30))
def test_all_bytes_come_out_again_in_order(data: st.DataObject, body: bytes, limit: int) -> None:
    assert b"".join(frame.raw for frame in decode(data.draw(cut(body)), limit)) == body


def test_a_frame_beyond_the_limit_goes_on_unread_and_the_next_is_read_again() -> None:
    body = b"data: " + b"x" * 100 + b"\n\ndata: a\n\n"
    frames = decode([body[offset : offset + 10] for offset in range(0, len(body), 10)], limit=30)
    assert [frame.data for frame in frames if frame.data is not None] == [b"a"]
    assert b"".join(frame.raw for frame in frames) == body


def test_a_frame_beyond_the_limit_is_unread_in_one_piece_as_in_many() -> None:
    body = b"data: a\n\ndata: " + b"x" * 1000 + b"\n\ndata: b\n\n"
    assert [frame.oversized for frame in decode([body])] == [False, True, False]


def test_no_more_than_the_limit_is_kept() -> None:
    decoder = FrameDecoder(limit=1000)
    for _ in range(100):
        decoder.feed(b"x" * 900)
        assert len(decoder._buffer) <= 1000


def test_a_long_line_in_single_bytes_is_searched_once() -> None:
    decoder = FrameDecoder()
    for _ in range(100_000):
        assert not decoder.feed(b"x")
    assert len(decoder.close()[0].raw) == 100_000


@pytest.mark.parametrize("event", ["", "message_start"])
@pytest.mark.parametrize("data", [b"{}", b"", "你\u2028".encode()])
def test_what_is_written_is_read_again(data: bytes, event: str) -> None:
    (frame,) = decode([write_frame(data, event)])
    assert frame.data == data
    assert frame.raw.startswith(f"event: {event}\n".encode() if event else b"data: ")


def test_a_frame_knows_its_events_name() -> None:
    assert read_frame(b"event: error\ndata: a\n\n").event == "error"
    assert read_frame(b"data: a\n\n").event == ""


def test_an_error_line_is_the_data_of_an_error() -> None:
    frame = read_frame(b'error: {"code":500}\n\n')
    assert (frame.event, frame.data) == ("error", b'{"code":500}')


BODIES = {
    "a stream": (b"data: {}\n\n: a\n\n", False),
    "JSON": (b'\n {"a": 1}\n\n', True),
    "JSON behind a byte order mark": (b'\xef\xbb\xbf{"a": 1}', True),
    "a page": (b"<html>\n\n</html>", True),
    "text": (b"boom", False),
    "nothing but blanks": (b" " * 3000, False),
}


@pytest.mark.parametrize(("body", "is_body"), BODIES.values(), ids=BODIES)
def test_how_a_body_begins_tells_what_it_is_cut_anywhere(body: bytes, is_body: bool) -> None:
    for size in (1, 2, 7, len(body)):
        decoder = MislabelledBody()
        pieces = [body[at : at + size] for at in range(0, len(body), size)]
        cut = [raw for piece in pieces for raw in decoder.cut(piece)]
        frames = [*map(decoder.read, cut), *decoder.overflow(), *decoder.close()]
        assert b"".join(frame.raw for frame in frames) == body
        assert [frame.is_body for frame in frames] == ([True] if is_body else [False] * len(frames))


def test_no_bytes_are_no_frame_whatever_they_are_called() -> None:
    assert MislabelledBody().close() == []


# Lines of JSON, cut anywhere.


BODY = b'{"a":1}\n\n{"b":"\xe2\x80\xa8"}\r\n{"c":3}'


def test_lines_are_the_same_however_they_are_cut() -> None:
    for size in range(1, len(BODY)):
        lines = LineDecoder()
        cut = [BODY[offset : offset + size] for offset in range(0, len(BODY), size)]
        frames = [frame for piece in cut for frame in lines.feed(piece)] + lines.close()
        assert b"".join(frame.raw for frame in frames) == BODY
        emitted = [frame.data for frame in frames]
        assert emitted == [b'{"a":1}', None, b'{"b":"\xe2\x80\xa8"}', b'{"c":3}']
        assert frames[1].comment


def test_a_line_beyond_the_limit_is_emitted_unread() -> None:
    lines = LineDecoder(limit=8)
    frames = [*lines.feed(b'{"a":"' + b"x" * 20), *lines.feed(b'"}\n{}\n')]
    assert [frame.oversized for frame in frames] == [True, True, False]
    assert frames[-1].data == b"{}"


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        (b'{"a":1}\n{"b":2}', True),
        (b'{"a":1}', False),
        (b'{"a":\n {"b":{}\n}}\n', False),
        (b'{"a":[{}\n,{}]}', False),
    ],
)
def test_only_lines_begin_as_lines_do(body: bytes, lines: bool) -> None:
    assert bool(NDJSON.begins.match(body)) is lines


def test_a_written_line_is_its_data() -> None:
    assert NDJSON.write(b"{}", "error") == b"{}\n"
