"""Compressed bodies are read as mitmproxy reads them, and no further than a limit."""

import tracemalloc
import zlib

import brotli  # type: ignore[import-untyped]
import pytest
import zstandard
from mitmproxy.net import encoding

from converter.shell.compressed import uncompressed

NAMES = ["gzip", "deflate", "br", "zstd"]
MEGABYTE = 1 << 20


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("body", [b"", b"a", b'{"a": 1}' * 1000, bytes(range(256)) * 999])
def test_a_body_is_read(name: str, body: bytes) -> None:
    packed = encoding.encode(body, name)
    assert isinstance(packed, bytes)
    assert uncompressed(packed, name, len(body)) == body


@pytest.mark.parametrize("name", NAMES)
def test_a_body_that_holds_much_is_not_read_to_its_end(name: str) -> None:
    packed = encoding.encode(bytes(300 * MEGABYTE), name)
    assert isinstance(packed, bytes)
    tracemalloc.start()
    assert uncompressed(packed, name, MEGABYTE) == bytes(MEGABYTE + 1)
    assert tracemalloc.get_traced_memory()[1] < 150 * MEGABYTE
    tracemalloc.stop()


@pytest.mark.parametrize("name", [*NAMES, "bz2", "utf-8", "gzip, br"])
def test_what_is_no_such_encoding_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        uncompressed(b"no such body", name, MEGABYTE)


def test_what_a_server_may_leave_out_or_add_is_read() -> None:
    bare = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    assert uncompressed(bare.compress(b"Hello") + bare.flush(), "deflate", 9) == b"Hello"
    assert uncompressed(zlib.compress(b"Hello"), "gzip", 9) == b"Hello"
    frames = zstandard.compress(b"Hel") + zstandard.compress(b"lo")
    assert uncompressed(frames, "zstd", 9) == b"Hello"


def test_of_a_body_that_is_cut_short_the_beginning_is_read() -> None:
    whole = b"Hello" * 99
    for packed, name in ((zlib.compress(whole), "gzip"), (brotli.compress(whole), "br")):
        assert whole.startswith(uncompressed(packed[:-4], name, 999))
