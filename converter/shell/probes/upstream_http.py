"""One HTTP request of the addon's own, and the reply to it. Cancelling it ends it, because no
thread stays behind to wait for a server that hangs.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable, Mapping

import h11

from converter.servers.known_servers import Upstream
from converter.servers.probes import ProbeReply, ProbeRequest
from converter.wire.bounds import ANSWER_LIMIT

_READ_SIZE = 65536
_NUMBERS = socket.NI_NUMERICHOST | socket.NI_NUMERICSERV
_PORTS = {"http": 80, "https": 443}

type Secure = Callable[[str], ssl.SSLContext]
"""How to speak TLS to a host."""
type _Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class NoReplyError(Exception):
    """Somebody listens, and gives no reply that can be read."""


async def fetch(
    upstream: Upstream, probe: ProbeRequest, headers: Mapping[str, str], secure: Secure
) -> ProbeReply:
    """Return the reply, whenever it comes. Raises ConnectionError when nobody listens there, else
    NoReplyError.
    """
    try:
        reader, writer = await _connect(upstream, secure)
    except (ConnectionRefusedError, socket.gaierror) as error:
        refused = isinstance(error, ConnectionRefusedError)
        raise ConnectionError("Connection refused" if refused else error.strerror) from None
    except (OSError, ValueError) as error:
        raise NoReplyError(str(error)) from None
    try:
        wire = h11.Connection(h11.CLIENT)
        writer.write(_written(wire, upstream, probe, headers))
        return await _read(wire, reader)
    except (OSError, ValueError, h11.ProtocolError) as error:
        raise NoReplyError(str(error) or type(error).__name__) from None
    finally:
        writer.transport.abort()


async def _connect(upstream: Upstream, secure: Secure) -> _Streams:
    """Return a connection. A name may have several addresses, so that nobody listens when one
    refuses and none takes it.
    """
    tls = secure(upstream.host) if upstream.scheme == "https" else None
    name = upstream.host if tls else None
    failures = list[OSError]()
    looked_up = asyncio.get_running_loop().getaddrinfo
    for *_, address in await looked_up(upstream.host, upstream.port, type=socket.SOCK_STREAM):
        host, port = socket.getnameinfo(address, _NUMBERS)
        try:  # one by one: uvloop has no `all_errors`
            return await asyncio.open_connection(host, int(port), ssl=tls, server_hostname=name)
        except OSError as error:
            failures.append(error)
    refused = [error for error in failures if isinstance(error, ConnectionRefusedError)]
    raise (refused or failures)[0]


def _written(
    wire: h11.Connection, upstream: Upstream, probe: ProbeRequest, headers: Mapping[str, str]
) -> bytes:
    """Return the request's bytes. Raises LocalProtocolError for what cannot stand in one."""
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
        target=_bytes(upstream.prefix + probe.path),
        headers=[(_bytes(name), _bytes(value)) for name, value in sent.items()],
    )
    parts = [wire.send(event) for event in (request, h11.Data(body), h11.EndOfMessage())]
    return b"".join(part or b"" for part in parts)


def host_header(upstream: Upstream) -> str:
    """Return the `host` of a request: with the port, unless it is the usual one."""
    host = f"[{upstream.host}]" if ":" in upstream.host else upstream.host
    return host if upstream.port == _PORTS[upstream.scheme] else f"{host}:{upstream.port}"


def _bytes(text: str) -> bytes:
    """Return the bytes that mitmproxy read this text from."""
    return text.encode("utf-8", "surrogateescape")


async def _read(wire: h11.Connection, reader: asyncio.StreamReader) -> ProbeReply:
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
