"""The tab *Context*: what fills the prompt of a request, as its server counts it. The server is
asked when somebody opens the tab, and not before.
"""

from collections.abc import Callable, Collection, Mapping
from functools import partial

from mitmproxy.http import HTTPFlow

from converter.dialects.table import COMMON
from converter.exchange import read_request
from converter.exchange.exchange import Exchange, begin
from converter.model.conversation import RequestError
from converter.servers.profiles import Server
from converter.shell.aside import SHOWING, aside
from converter.shell.messages import content_of, model_of, upstream
from converter.shell.probes.upstream_client import UpstreamClient, credentials
from converter.shell.watch.views import facts_of, reading_of, sent_of
from converter.transcript import context_parts
from converter.wire import json_text
from converter.wire.bounds import LONGEST_PROMPT

type Body = Mapping[str, object]


async def read(
    flow: HTTPFlow, client: UpstreamClient, called: Callable[[], Collection[str]]
) -> dict[str, object]:
    """Return the parts of what the server got, by size, and its words on the model. `called`: finds
    the tools that were called in the session.
    """
    sent = sent_of(flow) or flow.request  # of a flow that was let go
    chosen = reading_of(flow, of_server=True)[0]
    body, counted = content_of(sent), facts_of(flow).get("input_tokens")
    exchange = begin(sent.method, sent.path, {}, chosen, flow.id, reverse=True)
    pieces, about = None, ""
    if exchange and len(body) <= LONGEST_PROMPT:
        written = partial(_completion, exchange, body)
        place, headers = upstream(flow, exchange), credentials(sent.headers)
        about = (await client.facts(place, headers, chosen.server, model_of(body))).words
        pieces = await client.pieces(place, headers, chosen.server, written)
    tokens = counted if isinstance(counted, int) else None

    def parts() -> dict[str, object]:
        return {"about": about, **context_parts.read(body, chosen, tokens, pieces, called())}

    return await aside(len(body), parts, SHOWING)


def _completion(exchange: Exchange, body: bytes, server: Server) -> Body | None:
    """Return a request as the chat completion that a server's tokenizer takes."""
    try:
        if exchange.client is not COMMON:
            return read_request.read(exchange, body).written(server, parses=False).body
        fields = json_text.read(body)
    except (RequestError, json_text.UnreadableError):
        return None
    return fields if isinstance(fields, dict) and "messages" in fields else None
