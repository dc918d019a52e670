"""Compressed bodies, read up to a limit: 400 kB of gzip may hold 400 MB, and brotli far more.

mitmproxy uncompresses all there is, and asks Python's codecs for names that it does not know.
"""

import zlib
from collections.abc import Callable, Mapping

import brotli  # type: ignore[import-untyped]
import zstandard

type _Read = Callable[[bytes], bytes]
_PIECE = 64
"""Bytes that are uncompressed at once: of brotli they make 100 MB at most, of all others 2."""
_NO_BODY = (ValueError, zlib.error, brotli.error, zstandard.ZstdError)


def uncompressed(body: bytes, encoding: str, limit: int) -> bytes:
    """Return the body; of one that is longer than `limit` so many bytes, and one more. Raises
    ValueError for a body that is no such encoding.
    """
    if encoding not in _READERS:
        raise ValueError(f"expected one of {', '.join(_READERS)}, got {encoding}")
    made = bytearray()
    try:
        read = _READERS[encoding](body)
        for at in range(0, len(body), _PIECE):
            made += read(body[at : at + _PIECE])
            if len(made) > limit:
                break
    except _NO_BODY as error:
        raise ValueError(str(error)) from None
    return bytes(made[: limit + 1])


def _zstd(_: bytes) -> _Read:
    return zstandard.ZstdDecompressor().decompressobj(read_across_frames=True).decompress


def _inflate(body: bytes) -> _Read:
    # Some servers leave out the head of zlib's format, which is a multiple of 31 (RFC 1950).
    headed = body[:1] and body[0] & 15 == zlib.DEFLATED and int.from_bytes(body[:2]) % 31 == 0
    return zlib.decompressobj(zlib.MAX_WBITS if headed else -zlib.MAX_WBITS).decompress


_READERS: Mapping[str, Callable[[bytes], _Read]] = {
    "gzip": lambda _: zlib.decompressobj(32 + zlib.MAX_WBITS).decompress,  # or zlib's, by its head
    "deflate": _inflate,
    "br": lambda _: brotli.Decompressor().process,
    "zstd": _zstd,
}
