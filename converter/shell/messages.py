"""Changes to mitmproxy's requests and responses, each in one place."""

import copy

from mitmproxy.http import HTTPFlow, Request, Response
from mitmproxy.net.http.status_codes import RESPONSES

from converter.dialects.table import by_name
from converter.exchange import Answer, Exchange
from converter.servers.known_servers import Upstream
from converter.wire import json_text


def upstream(flow: HTTPFlow, exchange: Exchange) -> Upstream:
    """Return the server that an exchange goes to, for questions of our own."""
    request = flow.request
    direct = not flow.server_conn.via
    return Upstream(request.scheme, request.host, request.port, exchange.prefix, direct)


def name_request(flow: HTTPFlow, exchange: Exchange) -> None:
    """Give a reply the header by which its dialect names a request, if any; SDKs show it."""
    header = by_name(exchange.endpoint.dialect).request_id
    if flow.response and header:
        flow.response.headers.setdefault(header, f"req_{flow.id.replace('-', '')}")


def is_compressed(response: Response) -> bool:
    """Tell whether a body must be whole before it can be read."""
    return response.headers.get("content-encoding", "identity").strip().lower() not in (
        "",
        "identity",
    )


def copied[Kind: (Request, Response)](message: Kind) -> Kind:
    """Return a copy that is not streamed. mitmproxy's own takes four times as long: it checks the
    types of all values anew.
    """
    made = copy.copy(message)
    made.data = copy.copy(message.data)
    made.headers = message.headers.copy()
    made.trailers = message.trailers and message.trailers.copy()
    made.stream = False
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
    response.headers.pop("content-length", None)
    response.headers.pop("transfer-encoding", None)
    if request.is_http11:
        response.http_version = "HTTP/1.1"
        response.headers["transfer-encoding"] = "chunked"


def body(message: Request | Response, notes: list[str]) -> bytes:
    """Return the body, uncompressed; as it came, with a note, when it is not what its encoding
    says.
    """
    try:
        return message.get_content() or b""
    except Exception:  # mitmproxy gives unknown names to Python's codecs, which raise anything
        encoding = message.headers["content-encoding"]
        notes.append(f"the body is no {encoding}, though its content-encoding says so")
        return message.raw_content or b""


def replace(response: Response, answer: Answer) -> None:
    """Give the client another reply than the server's."""
    response.headers.pop("content-encoding", None)
    response.headers.pop("transfer-encoding", None)
    response.headers["content-type"] = answer.content_type
    response.status_code, response.reason = answer.status, RESPONSES.get(answer.status, "")
    response.content = answer.body


def model_of(request: bytes) -> str:
    """Return the model that a request's body names, nothing for a body that is no JSON object."""
    asked = json_text.read_or_none(request)
    return str(asked.get("model") or "") if isinstance(asked, dict) else ""


def made(answer: Answer) -> Response:
    """Return a response of the addon's own."""
    return Response.make(answer.status, answer.body, {"content-type": answer.content_type})
