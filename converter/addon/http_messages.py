"""Functions that read and change mitmproxy's requests and responses: body (`content_of` returns it
uncompressed), headers, framing, connection. `copy_message` copies one; `upstream_of` returns the
server of a flow.
"""

import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any

import brotli  # type: ignore[import-untyped]
from mitmproxy.http import Headers, HTTPFlow, Request, Response
from mitmproxy.net.http.status_codes import RESPONSES

from converter.addon.exchange.exchange import Answer, Exchange
from converter.addon.servers.known_servers import Upstream
from converter.core.dialects.table import by_name
from converter.core.wire import json_text
from converter.core.wire.bounds import BODY_LIMIT

_KEEP_CONNECTIONS = ("uvicorn", "nginx", "caddy", "envoy")
"""Beginnings of the header `server` of programs that keep a connection open after a stream, or
announce its end. The connection to any other server is used for one stream only
(`use_connection_once`). vLLM, SGLang, TabbyAPI and `transformers serve` run on uvicorn.
"""
_UNCOMPRESSED = ("", "identity", "none")
"""The values of `content-encoding` for a body that is not compressed."""


def set_fields(headers: Headers, values: Mapping[bytes, bytes | None]) -> None:
    """Set header fields. `values`: the new values by names in lower case; None removes the field.

    A field keeps its position; a new field comes last. Of several fields with one name, the first
    gets the value and the others are removed. This takes one pass, while mitmproxy's `Headers`
    search all fields for each name.
    """
    left, fields = dict(values), list[tuple[bytes, bytes]]()
    for name, value in headers.fields:
        if (key := name.lower()) not in values:
            fields.append((name, value))
        elif (new := left.pop(key, None)) is not None:
            fields.append((name, new))
    fields += [(name, value) for name, value in left.items() if value is not None]
    headers.fields = tuple(fields)


def header_values(headers: Headers) -> dict[str, str]:
    """Return the header values by names in lower case. The values of several fields of one name are
    joined by commas. This takes one pass, while mitmproxy's `Headers` search all fields for each
    name.
    """
    values = dict[str, str]()
    for name, value in headers.fields:
        key, text = (each.decode("utf-8", "surrogateescape") for each in (name.lower(), value))
        values[key] = f"{values[key]}, {text}" if key in values else text
    return values


def remove_fields(headers: Headers, is_unwanted: Callable[[bytes], object]) -> None:
    """Remove the header fields whose name is unwanted. `is_unwanted` gets a name in lower case."""
    kept = [field for field in headers.fields if not is_unwanted(field[0].lower())]
    if len(kept) < len(headers.fields):
        headers.fields = tuple(kept)


def upstream_of(flow: HTTPFlow, exchange: Exchange) -> Upstream:
    """Return the server to which an exchange is sent. Facts learned from the server are stored
    under this value.
    """
    sent, direct = flow.request.data, not flow.server_conn.via
    scheme = sent.scheme.decode("utf-8", "surrogateescape")
    return Upstream(scheme, sent.host, sent.port, exchange.base_path, direct)


def set_request_id(flow: HTTPFlow, exchange: Exchange) -> None:
    """Add the dialect's header with an id of the request (`request-id: req_…`), if it has one, to a
    response that lacks it, because SDKs show this id in errors.
    """
    header = by_name(exchange.endpoint.dialect).label.request_id
    if flow.response and header:
        flow.response.headers.setdefault(header, f"req_{flow.id.replace('-', '')}")


def is_compressed(message: Request | Response) -> bool:
    """Return True if a body is compressed, and so can be read only when it is complete."""
    return bool(_encoding_of(message))


def _encoding_of(message: Request | Response) -> str:
    """Return the content encoding of a body, empty if the body is not compressed."""
    encoding = message.headers.get("content-encoding", "").strip().lower()
    return "" if encoding in _UNCOMPRESSED else encoding


def copy_message[Kind: (Request, Response)](message: Kind) -> Kind:
    """Return a copy of a message, and set the copy's `stream` to False. mitmproxy's own copy takes
    0.1 milliseconds, because it checks the types of all values again.
    """
    twin = _shallow_copy(message)
    twin.data = _shallow_copy(message.data)
    twin.headers = message.headers.copy()
    twin.trailers = message.trailers and message.trailers.copy()
    twin.stream = False
    return twin


def _shallow_copy[Value](value: Value) -> Value:
    """Return a shallow copy of an object. `copy.copy` is slower, because it first looks up how to
    copy.
    """
    twin = object.__new__(type(value))
    vars(twin).update(vars(value))
    return twin


def may_close_after_streams(response: Response) -> bool:
    """Return True if the server may close its connection after a stream without announcing it, as
    llama.cpp 11549 does. Return False for the programs in `_KEEP_CONNECTIONS`.
    """
    return not response.headers.get("server", "").lower().startswith(_KEEP_CONNECTIONS)


def use_connection_once(flow: HTTPFlow) -> None:
    """Have mitmproxy close the server's connection after this response. The client's connection
    stays open.

    llama.cpp closes its connection after every streamed reply, though it announces `keep-alive`. If
    the next request came before mitmproxy notices that, it would be lost (llama.cpp 11549: every
    second request). The response that mitmproxy's layer reads gets `connection: close`; the flow,
    and so the client, gets a copy without it.
    """
    assert flow.response
    from_server = flow.response
    flow.response = copy_message(from_server)
    from_server.headers["connection"] = "close"


def open_for_streaming(request: Request, response: Response) -> None:
    """Change the head of a response for a body of unknown length: remove the content length, and
    announce HTTP chunks to a client with HTTP/1.1.
    """
    chunked = request.is_http11
    if chunked:
        response.http_version = "HTTP/1.1"
    framing = {b"content-length": None, b"transfer-encoding": b"chunked" if chunked else None}
    set_fields(response.headers, framing)


def read_body(message: Request | Response, notes: list[str], limit: int = BODY_LIMIT) -> bytes:
    """Return the uncompressed body of a message. A body that came uncompressed is returned whole.

    If a compressed body has more than `limit` bytes when it is uncompressed, append a line about
    this to `notes`, and return only the first `limit` + 1 bytes. If its content encoding is unknown
    or wrong, append a line to `notes`, and return the body as it came.
    """
    came, encoding = message.raw_content or b"", _encoding_of(message)
    if not encoding:
        return came
    try:
        plain = uncompress(came, encoding, limit)
    except ValueError:
        notes.append(f"the body is no {encoding}, though its content-encoding says so")
        return came
    if len(plain) > limit:
        notes.append(f"the body has more than {limit >> 20} megabytes uncompressed, not read on")
    return plain


def content_of(message: Request | Response | None) -> bytes:
    """Return the uncompressed body of a message, as `read_body` does, but without notes. For None,
    which is no message, return an empty body.
    """
    return read_body(message, []) if message else b""


def set_reply(response: Response, answer: Answer) -> None:
    """Replace status, content type and body of a response by those of `answer`."""
    response.status_code, response.reason = answer.status, RESPONSES.get(answer.status, "")
    set_body(response, answer.body, {b"content-type": answer.content_type.encode()})


def set_body(
    message: Request | Response, body: bytes, fields: Mapping[bytes, bytes | None] | None = None
) -> None:
    """Replace the body of a message by one that is not compressed, and set its content length.
    `fields`: other header fields to set; None removes a field.
    """
    length = b"%d" % len(body)
    plain = {b"content-encoding": None, b"transfer-encoding": None, b"content-length": length}
    set_fields(message.headers, plain | dict(fields or {}))
    message.raw_content = body


def model_of(request: bytes) -> str:
    """Return the model that a request's body names; empty if the body names none or is no JSON
    object.
    """
    return str(json_text.object_in(request).get("model") or "")


def response_of(answer: Answer) -> Response:
    """Return an answer of the addon as mitmproxy's response."""
    fields = {"content-type": answer.content_type}
    if answer.retry_after:
        fields["retry-after"] = str(answer.retry_after)
    return Response.make(answer.status, answer.body, fields)


def _import_zstd() -> Any:
    """Import and return a module that reads zstd: Python's own since 3.14, else `backports.zstd`,
    which mitmproxy 12.3 installs, or `zstandard`, which earlier versions install.
    """
    for name in ("compression.zstd", "backports.zstd", "zstandard"):
        with suppress(ImportError):
            return import_module(name)
    raise ImportError("expected a library of zstd beside mitmproxy 12")


type _Read = Callable[[bytes], bytes]
ZSTD = _import_zstd()
"""The module that reads zstd."""
_PIECE_BYTES = 64
"""How many bytes of a body are uncompressed by one call; after each call `uncompress` checks its
limit. The result of one call may have up to 100 MB with brotli, and 2 MB with other encodings.
"""
_DECOMPRESSION_ERRORS = (ValueError, zlib.error, brotli.error, ZSTD.ZstdError)
"""The errors that decompressors raise for a body that is not in their encoding."""


def uncompress(body: bytes, encoding: str, limit: int) -> bytes:
    """Return the uncompressed body, but at most its first `limit` + 1 bytes: 400 kB of gzip may
    hold 400 MB, and brotli far more. Raises ValueError for an unknown encoding, or a body in
    another encoding.

    mitmproxy's own function has no limit, and looks unknown encodings up among Python's codecs.
    """
    if encoding not in _READERS:
        raise ValueError(f"expected one of {', '.join(_READERS)}, got {encoding}")
    plain = bytearray()
    try:
        read = _READERS[encoding](body)
        for at in range(0, len(body), _PIECE_BYTES):
            plain += read(body[at : at + _PIECE_BYTES])
            if len(plain) > limit:
                break
    except _DECOMPRESSION_ERRORS as error:
        raise ValueError(str(error)) from None
    return bytes(plain[: limit + 1])


class _PartsReader:
    """Uncompresses a body of several parts, each compressed by itself: the frames of zstd, or the
    members of gzip. Bytes after a part that do not begin another part are ignored, as HTTP clients
    do.

    `begin` returns a decompressor for one part. `first`: the bytes with which every part begins;
    empty if any bytes may begin a part.
    """

    def __init__(self, begin: Callable[[], Any], first: bytes = b"") -> None:
        self._begin, self._first = begin, first
        self._part, self._is_over = begin(), False

    def __call__(self, data: bytes) -> bytes:
        plain = b""
        while data and not self._is_over:
            if self._part.eof:
                self._part, self._is_over = self._begin(), not data.startswith(self._first)
            else:
                plain += self._part.decompress(data)
                data = self._part.unused_data
        return plain


def _zstd_decompressor() -> Any:
    """Return a decompressor for one frame of zstd."""
    frame = ZSTD.ZstdDecompressor()
    return frame.decompressobj() if hasattr(frame, "decompressobj") else frame


def _deflate_reader(body: bytes) -> _Read:
    """Return a function that uncompresses pieces of a `deflate` body. `body`: the whole body, whose
    first bytes show whether it has zlib's head.
    """
    # Some servers leave out zlib's head of two bytes. If it is there, the number that the two bytes
    # make is a multiple of 31 (RFC 1950).
    headed = body[:1] and body[0] & 15 == zlib.DEFLATED and int.from_bytes(body[:2]) % 31 == 0
    return zlib.decompressobj(zlib.MAX_WBITS if headed else -zlib.MAX_WBITS).decompress


_READERS: Mapping[str, Callable[[bytes], _Read]] = {
    # zlib reads the head of gzip too if 32 is added to the size of its window
    "gzip": lambda _: _PartsReader(lambda: zlib.decompressobj(32 + zlib.MAX_WBITS), b"\x1f"),
    "deflate": _deflate_reader,
    "br": lambda _: brotli.Decompressor().process,
    "zstd": lambda _: _PartsReader(_zstd_decompressor),
}
"""Content encoding -> a function that takes a whole body, and returns the function that
uncompresses its pieces, one after another.
"""
