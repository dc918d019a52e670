"""An HTTP client on asyncio for probes (`fetch`), TLS contexts by mitmproxy's options
(`tls_context`), and texts for people that say why a connection failed (`reason_of`).

The client uses no thread, so that a request to a server that hangs ends when its task is cancelled.

TLS follows mitmproxy's options for connections to servers. mitmproxy 12.2 configures pyOpenSSL by
the same options, in `addons/tlsconfig.py` (tls_start_server) and `net/tls.py`
(create_proxy_server_context).
"""

import asyncio
import socket
import ssl
import warnings
from collections.abc import Mapping
from functools import lru_cache
from http.client import HTTPException
from pathlib import Path

import certifi
import h11
from mitmproxy import ctx

from converter.addon.bounds import ANSWER_LIMIT
from converter.addon.servers.known_servers import Upstream
from converter.addon.servers.probes import ProbeReply, ProbeRequest

SPEAKS_TLS = "the server speaks TLS"
"""The reason of the error for an `http://` address at which a TLS server answers."""
HANDSHAKE = 1.0
"""The most seconds for a TLS handshake. It is tried if a server sends no reply, to see whether it
wants TLS. A server without TLS may wait for more bytes for ever, and asyncio's limit is a minute.
"""
_READ_SIZE = 65536
"""The most bytes that are read from a connection at once."""
_AS_NUMBERS = socket.NI_NUMERICHOST | socket.NI_NUMERICSERV
"""Flags with which `socket.getnameinfo` returns an address and its port as numbers."""
_PORTS = {"http": 80, "https": 443}
"""Scheme -> its usual port."""

type _Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
"""The two directions of a connection to a server."""


class NoReplyError(Exception):
    """The error for a probe without a usable reply: the server sends nothing, no HTTP, or too many
    bytes; or the connection fails. For a refused connection, an unknown host, and a server that
    wants TLS, `fetch` raises ConnectionError instead.
    """


def reason_of(error: Exception) -> str:
    """Return the reason of a connection's error as a text for people: `no answer in time`. Such a
    text replaces those of libraries that mean nothing to a user (`[SSL] ... (_ssl.c:1010)`).
    """
    match error:
        case ssl.SSLCertVerificationError():
            return f"its certificate is not trusted: {error.verify_message}"
        case ssl.SSLError(reason=str(reason)):
            return f"the TLS handshake failed: {reason.lower().replace('_', ' ')}"
        case TimeoutError():
            return "no answer in time"
        case HTTPException() | ConnectionError() | asyncio.IncompleteReadError():
            return "the connection was closed before the reply was whole"
        case OSError(strerror=str(words)):
            return words
    return str(error) or type(error).__name__


async def fetch(upstream: Upstream, headers: Mapping[str, str], probe: ProbeRequest) -> ProbeReply:
    """Send a probe's request, and return the reply, however long it takes. Raises ConnectionError
    if the connection is refused, if the host is unknown, or if an `http` server wants TLS;
    NoReplyError for other faults.
    """
    try:
        reader, writer = await _connect(upstream)
    except (ConnectionRefusedError, socket.gaierror) as error:
        refused = isinstance(error, ConnectionRefusedError)
        raise ConnectionError("Connection refused" if refused else error.strerror) from None
    except (OSError, ValueError) as error:
        raise NoReplyError(reason_of(error)) from None
    try:
        wire = h11.Connection(h11.CLIENT)
        writer.write(_request_bytes(wire, upstream, headers, probe))
        return await _read_reply(wire, reader)
    except (OSError, ValueError, h11.ProtocolError) as error:
        if upstream.scheme == "http" and await _speaks_tls(upstream):
            raise ConnectionError(SPEAKS_TLS) from None
        raise NoReplyError(reason_of(error)) from None
    finally:
        writer.transport.abort()


async def _speaks_tls(upstream: Upstream) -> bool:
    """Return True if a TLS handshake with the server succeeds, whatever its certificate."""
    try:
        address = upstream.host, upstream.port
        _, writer = await asyncio.open_connection(
            *address, ssl=tls_context(insecure=True), ssl_handshake_timeout=HANDSHAKE
        )
    except (OSError, ValueError):
        return False
    writer.transport.abort()
    return True


async def _connect(upstream: Upstream) -> _Streams:
    """Return a connection to the server, at the first address of its name that accepts one. If no
    address does, raise ConnectionRefusedError if an address has refused, else the first error.
    """
    tls = tls_for_host(upstream.host) if upstream.scheme == "https" else None
    name = upstream.host if tls else None
    failures = list[OSError]()
    looked_up = asyncio.get_running_loop().getaddrinfo
    for *_, address in await looked_up(upstream.host, upstream.port, type=socket.SOCK_STREAM):
        host, port = socket.getnameinfo(address, _AS_NUMBERS)
        # Each address is tried on its own, so that its error is known. With asyncio's `all_errors`
        # one call would raise the errors of all addresses, but uvloop lacks this argument.
        try:
            return await asyncio.open_connection(host, int(port), ssl=tls, server_hostname=name)
        except OSError as error:
            failures.append(error)
    refused = [error for error in failures if isinstance(error, ConnectionRefusedError)]
    raise (refused or failures)[0]


def _request_bytes(
    wire: h11.Connection, upstream: Upstream, headers: Mapping[str, str], probe: ProbeRequest
) -> bytes:
    """Return the bytes of a probe's request, with `headers` beside its own headers, of which they
    replace those of the same name. Raises LocalProtocolError for a header that HTTP does not allow.
    """
    body = probe.body or b""
    sent = {
        "host": host_header(upstream),
        "content-type": "application/json",
        "accept": "application/json",
        "accept-encoding": "identity",
        "connection": "close",
        **({} if probe.body is None else {"content-length": str(len(body))}),
        **headers,
    }
    request = h11.Request(
        method="GET" if probe.body is None else "POST",
        target=_encode(upstream.prefix + probe.path),
        headers=[(_encode(name), _encode(value)) for name, value in sent.items()],
    )
    parts = [wire.send(event) for event in (request, h11.Data(body), h11.EndOfMessage())]
    return b"".join(part or b"" for part in parts)


def host_header(upstream: Upstream) -> str:
    """Return the value of the header `host`: `name:8000`, or `name` if the port is the usual port
    of the scheme.
    """
    host = f"[{upstream.host}]" if ":" in upstream.host else upstream.host
    return host if upstream.port == _PORTS[upstream.scheme] else f"{host}:{upstream.port}"


def _encode(text: str) -> bytes:
    """Return a path or a header as the bytes from which mitmproxy has decoded it."""
    return text.encode("utf-8", "surrogateescape")


async def _read_reply(wire: h11.Connection, reader: asyncio.StreamReader) -> ProbeReply:
    """Read a reply to its end, and return it. Raises ValueError for a body of more than
    `ANSWER_LIMIT` bytes, h11.ProtocolError for bytes that are not HTTP, and OSError.
    """
    head, body = h11.Response(status_code=200, headers=[]), bytearray()
    while True:
        match wire.next_event():
            case h11.NEED_DATA:
                wire.receive_data(await reader.read(_READ_SIZE))
            case h11.Response() as head:
                pass
            case h11.Data(data=data):
                body += data
                if len(body) > ANSWER_LIMIT:
                    raise ValueError(f"expected at most {ANSWER_LIMIT} bytes, got more")
            case h11.EndOfMessage():
                names = {name.decode(): value.decode("latin-1") for name, value in head.headers}
                return ProbeReply(head.status_code, names, bytes(body))


def tls_for_host(host: str) -> ssl.SSLContext:
    """Return the TLS context for a connection to `host`, by the values that mitmproxy's options
    have now.
    """
    options = ctx.options
    return tls_context(
        insecure=bool(options.ssl_insecure),
        trusted_ca=options.ssl_verify_upstream_trusted_ca,
        trusted_folder=options.ssl_verify_upstream_trusted_confdir,
        certificate=client_certificate(options.client_certs, host),
        least=options.tls_version_server_min,
        most=options.tls_version_server_max,
        ciphers=options.ciphers_server,
    )


def client_certificate(option: str | None, host: str) -> str | None:
    """Return the path of the client certificate for `host`; `None` if there is no such file.
    `option`: mitmproxy's option `client_certs`, a file or a folder with files HOST.pem.
    """
    if not option:
        return None
    named = Path(option).expanduser()
    file = named / f"{host}.pem" if named.is_dir() else named
    return str(file) if file.is_file() else None


@lru_cache(16)
def tls_context(
    *,
    insecure: bool = False,
    trusted_ca: str | None = None,
    trusted_folder: str | None = None,
    certificate: str | None = None,
    least: str = "TLS1_2",
    most: str = "UNBOUNDED",
    ciphers: str | None = None,
) -> ssl.SSLContext:
    """Return the TLS context for connections to servers. Raises OSError or ValueError for a file
    that cannot be read.

    `ssl.create_default_context` is not used, because since Python 3.13 it refuses a certificate
    authority whose certificate names no key usage. mitmproxy accepts it.

    Arguments:
        insecure: True: any certificate is accepted, and a server without secure renegotiation.
        trusted_ca: A file with trusted authorities. Without it and `trusted_folder`, the public
            authorities of `certifi` are trusted, as in mitmproxy.
        trusted_folder: A folder with trusted authorities.
        certificate: A PEM file with the client's certificate and key.
        least: mitmproxy's name of the lowest version of TLS.
        most: mitmproxy's name of the highest version of TLS.
        ciphers: The ciphers as OpenSSL lists them; `None`: those that Python allows by default.
    """
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        # Python warns of old versions of TLS, but the user may choose them.
        tls.minimum_version = _tls_version(least, ssl.TLSVersion.MINIMUM_SUPPORTED)
        tls.maximum_version = _tls_version(most, ssl.TLSVersion.MAXIMUM_SUPPORTED)
    if ciphers:
        tls.set_ciphers(ciphers)
    if insecure:
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
        tls.options |= ssl.OP_LEGACY_SERVER_CONNECT
    authorities = trusted_ca if trusted_ca or trusted_folder else certifi.where()
    tls.load_verify_locations(authorities, trusted_folder)
    if certificate:
        tls.load_cert_chain(certificate)
    return tls


def _tls_version(name: str, unbounded: ssl.TLSVersion) -> ssl.TLSVersion:
    """Return the TLS version that mitmproxy's options call `name`: `TLS1_2` ->
    `TLSVersion.TLSv1_2`, and `UNBOUNDED` -> the argument `unbounded`.
    """
    return unbounded if name == "UNBOUNDED" else ssl.TLSVersion[f"{name[:3]}v{name[3:]}"]
