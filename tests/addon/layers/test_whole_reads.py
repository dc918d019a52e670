"""The server's side of HTTP/1: whole reads, interim heads, heads that never end."""

import itertools
from typing import Any

import pytest
from h11._readers import ChunkedReader, ContentLengthReader, Http10Reader
from h11._receivebuffer import ReceiveBuffer
from hypothesis import given
from hypothesis import strategies as st

from converter.addon.bounds import LONGEST_HEAD
from converter.addon.layers.guard import h11
from converter.addon.layers.whole_reads import WholeReads, take_complete_chunks
from tests.support.proxy_core import END, chunk


def read(reader: object, *reads: bytes) -> list[object]:
    """Return the result of each read: its data, "end", or the error that the reader raises."""
    buffer = ReceiveBuffer()
    events: list[object] = []
    for data in reads:
        buffer += data
        try:
            while (event := reader(buffer)) is not None:  # type: ignore[operator]
                if isinstance(event, h11.EndOfMessage):
                    events.append("end")
                    break
                events.append(bytes(event.data))
        except h11.ProtocolError as error:
            return [*events, str(error)]
    return events


def joined(events: list[object]) -> tuple[bytes, list[object]]:
    """Return the data of some reads, and the other results."""
    data = b"".join(part for part in events if isinstance(part, bytes))
    return data, [part for part in events if not isinstance(part, bytes)]


def test_all_chunks_of_a_read_come_at_once() -> None:
    reads = (chunk(b"a") + chunk(b"b"), chunk(b"c") + chunk(b"d"))
    assert read(WholeReads(ChunkedReader()), *reads) == [b"ab", b"cd"]


def test_a_chunk_that_is_not_complete_is_not_waited_for() -> None:
    reads = (chunk(b"a") + b"4\r\nbc", b"de\r\n" + chunk(b"f"))
    assert read(WholeReads(ChunkedReader()), *reads) == [b"abc", b"def"]


def test_h11_reads_only_the_chunks_that_a_read_has_cut() -> None:
    class Counting(ChunkedReader):
        calls = 0

        def __call__(self, buffer: ReceiveBuffer) -> Any:
            self.calls += 1
            return super().__call__(buffer)

    reader = Counting()
    reads = (chunk(b"a") * 50 + b"4\r\nbc", b"de\r\n" + chunk(b"f") * 50 + b"2\r\ng")
    assert read(WholeReads(reader), *reads) == [b"a" * 50 + b"bc", b"de" + b"f" * 50 + b"g"]
    assert reader.calls < 12


def test_data_before_the_end_comes_first() -> None:
    assert read(WholeReads(ChunkedReader()), chunk(b"a") + END) == [b"a", "end"]


def test_data_before_bad_framing_comes_first() -> None:
    data, rest = joined(read(WholeReads(ChunkedReader()), chunk(b"a") + b"zz\r\n"))
    assert data == b"a"
    assert "illegal chunk header" in str(rest[0])


def test_trailers_are_passed_over() -> None:
    """mitmproxy raises for them, and the client would wait for ever."""
    reader, buffer = WholeReads(ChunkedReader()), ReceiveBuffer()
    buffer += chunk(b"a") + b"0\r\nx-sum: 1\r\n\r\n"
    assert reader(buffer).data == b"a"
    assert list(reader(buffer).headers) == []


@pytest.mark.parametrize("begun", [b"5;", b"0\r\n"], ids=["a chunk's head", "trailers"])
def test_what_stands_between_chunks_is_not_read_for_ever(begun: bytes) -> None:
    """mitmproxy holds all that comes."""
    endless = [b"x: " + b"x" * 4096 + b"\r\n" if begun[:1] == b"0" else b"x" * 4096] * 17
    data, rest = joined(read(WholeReads(ChunkedReader()), chunk(b"a") + begun, *endless))
    assert data == b"a"
    assert str(rest[0]) == f"more than {LONGEST_HEAD} bytes between chunks"


def test_other_bodies_are_read_as_they_were() -> None:
    assert read(WholeReads(ContentLengthReader(3)), b"a", b"bc") == [b"a", b"bc", "end"]
    assert read(WholeReads(Http10Reader()), b"a", b"bc") == [b"a", b"bc"]
    assert isinstance(WholeReads(Http10Reader()).read_eof(), h11.EndOfMessage)
    with pytest.raises(h11.RemoteProtocolError, match="incomplete chunked read"):
        WholeReads(ChunkedReader()).read_eof()


def test_only_chunks_of_the_usual_form_are_taken_quickly() -> None:
    for unusual in (b"1;a=b\r\nx\r\n", b"0x1\r\nx\r\n", b"+1\r\nx\r\n", b"1\nx\n", b"1\r\nxy\r\n"):
        buffer = ReceiveBuffer()
        buffer += chunk(b"a") + unusual
        assert (take_complete_chunks(buffer), bytes(buffer)) == ([b"a"], unusual)


PIECES = st.lists(
    st.one_of(
        st.binary(min_size=1, max_size=30).map(chunk),
        st.sampled_from(
            [END, b"5;x=y\r\nhello\r\n", b"zz\r\n", b"1\r\nab\r\n", b"\r\n", b"0005\r\n"]
        ),
        st.binary(max_size=6),
    ),
    max_size=8,
)


@given(PIECES, st.lists(st.integers(0, 120), max_size=6))
def test_every_body_is_read_as_h11_reads_it(pieces: list[bytes], cuts: list[int]) -> None:
    body = b"".join(pieces)
    at = [0, *sorted(cut for cut in cuts if cut < len(body)), len(body)]
    reads = [body[begin:end] for begin, end in itertools.pairwise(at)]
    ours, theirs = read(WholeReads(ChunkedReader()), *reads), read(ChunkedReader(), *reads)
    end = theirs.index("end") + 1 if "end" in theirs else None
    assert joined(ours[: ours.index("end") + 1 if "end" in ours else None]) == joined(theirs[:end])
