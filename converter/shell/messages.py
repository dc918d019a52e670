"""Changes to mitmproxy's requests and responses, each in one place."""

from collections.abc import Mapping

from mitmproxy.http import Headers, HTTPFlow, Request, Response
from mitmproxy.net.http.status_codes import RESPONSES

from converter.dialects.table import by_name
from converter.exchange.exchange import Answer, Exchange
from converter.servers.known_servers import Upstream
from converter.shell.compressed import uncompressed
from converter.shell.head_fields import change
from converter.wire import json_text
from converter.wire.bounds import BODY_LIMIT

NO_FIELDS: Mapping[bytes, bytes | None] = {}


def upstream(flow: HTTPFlow, exchange: Exchange) -> Upstream:
    """Return the server that an exchange goes to, for questions of our own."""
    request = flow.request
    direct = not flow.server_conn.via
    return Upstream(request.scheme, request.host, request.port, exchange.prefix, direct)


def name_request(flow: HTTPFlow, exchange: Exchange) -> None:
    """Give a reply the header by which its dialect names a request, if any; SDKs show it."""
    header = by_name(exchange.endpoint.dialect).label.request_id
    if flow.response and header:
        flow.response.headers.setdefault(header, f"req_{flow.id.replace('-', '')}")


def is_compressed(message: Request | Response) -> bool:
    """Tell whether a body must be whole before it can be read."""
    return _encoding(message) not in ("", "identity", "none")


def _encoding(message: Request | Response) -> str:
    return str(message.headers.get("content-encoding", "")).strip().lower()


def copied[Kind: (Request, Response)](message: Kind) -> Kind:
    """Return a copy that is not streamed. mitmproxy's own takes four times as long, because it
    checks the types of all values anew.
    """
    made = _shallow(message)
    made.data = _shallow(message.data)
    made.headers = copied_fields(message.headers)
    made.trailers = message.trailers and copied_fields(message.trailers)
    made.stream = False
    return made


def copied_fields(headers: Headers) -> Headers:
    """Return a copy of a head's fields."""
    made = Headers()
    made.fields = headers.fields
    return made


def _shallow[Kind](value: Kind) -> Kind:
    """Return a copy that shares what it holds: `copy.copy` without the questions how to copy it."""
    made = object.__new__(type(value))
    made.__dict__.update(value.__dict__)
    return made


def use_connection_once(flow: HTTPFlow) -> None:
    """Have the server's connection closed after this reply, unseen by the client.

    llama.cpp closes its connection after every streamed reply and announces the opposite; a next
    request that is quicker than mitmproxy's notice of it would be lost (seen on llama.cpp 11549:
    every second one). The layer that reads from the server keeps the response it made; the client's
    gets a copy.
    """
    assert flow.response
    from_server = flow.response
    flow.response = copied(from_server)
    from_server.headers["connection"] = "close"


def open_for_streaming(request: Request, response: Response) -> None:
    """Make the head of a response that of a body whose length nobody knows yet."""
    chunked = request.is_http11
    if chunked:
        response.http_version = "HTTP/1.1"
    framing = {b"content-length": None, b"transfer-encoding": b"chunked" if chunked else None}
    change(response.headers, framing)


def body(message: Request | Response, notes: list[str], limit: int = BODY_LIMIT) -> bytes:
    """Return the body, uncompressed; of one that is longer than `limit` then the beginning, and one
    that is not what its encoding says as it came, both with a note.
    """
    came = message.raw_content or b""
    if not is_compressed(message):
        return came
    try:
        made = uncompressed(came, _encoding(message), limit)
    except ValueError:
        notes.append(f"the body is no {_encoding(message)}, though its content-encoding says so")
        return came
    if len(made) > limit:
        notes.append(f"the body has more than {limit >> 20} megabytes uncompressed, not read on")
    return made


def content_of(message: Request | Response | None) -> bytes:
    """Return a body for people to look at: uncompressed as far as the limit goes."""
    return body(message, []) if message else b""


def replace(response: Response, answer: Answer) -> None:
    """Give the client another reply than the server's."""
    response.status_code, response.reason = answer.status, RESPONSES.get(answer.status, "")
    fill(response, answer.body, {b"content-type": answer.content_type.encode()})


def fill(
    message: Request | Response, body: bytes, fields: Mapping[bytes, bytes | None] = NO_FIELDS
) -> None:
    """Give a message another body than it came with, and fields that go with it."""
    length = b"%d" % len(body)
    plain = {b"content-encoding": None, b"transfer-encoding": None, b"content-length": length}
    change(message.headers, {**plain, **fields})
    message.raw_content = body


def model_of(request: bytes) -> str:
    """Return the model that a request's body names, nothing for a body that is no JSON object."""
    fields = json_text.read_or_none(request)
    return str(fields.get("model") or "") if isinstance(fields, dict) else ""


def made(answer: Answer) -> Response:
    """Return a response of the addon's own."""
    fields = {"content-type": answer.content_type}
    if answer.retry_after:
        fields["retry-after"] = str(answer.retry_after)
    return Response.make(answer.status, answer.body, fields)
