"""Lines of JSON, cut anywhere."""

import pytest

from converter.wire.ndjson import NDJSON, LineDecoder

SAID = b'{"a":1}\n\n{"b":"\xe2\x80\xa8"}\r\n{"c":3}'


def test_lines_are_the_same_however_they_are_cut() -> None:
    for size in range(1, len(SAID)):
        lines = LineDecoder()
        cut = [SAID[place : place + size] for place in range(0, len(SAID), size)]
        frames = [frame for piece in cut for frame in lines.feed(piece)] + lines.close()
        assert b"".join(frame.raw for frame in frames) == SAID
        told = [frame.data for frame in frames]
        assert told == [b'{"a":1}', None, b'{"b":"\xe2\x80\xa8"}', b'{"c":3}']
        assert frames[1].comment


def test_a_line_beyond_the_limit_is_given_out_unread() -> None:
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
