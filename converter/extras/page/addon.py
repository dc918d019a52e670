"""`Page` does what the buttons of the page at /think ask for, and computes the page's data on
prompts, sessions and tools. `page_address` returns the page's URL; `handlers.py` has the paths of
requests.
"""

import asyncio
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial

from mitmproxy import ctx
from mitmproxy.http import HTTPFlow

from converter.addon.aside import SHOWING, run_aside
from converter.addon.bounds import LONGEST_PROMPT
from converter.addon.exchange import read_request
from converter.addon.exchange.exchange import Exchange, begin
from converter.addon.http_messages import content_of, model_of, upstream_of
from converter.addon.keep.shown_flow import facts_of, reading_of, sent_of
from converter.addon.probes.upstream_client import UpstreamClient, credentials
from converter.addon.servers.profiles import Server
from converter.addon.transcript import context_parts
from converter.core.dialects.model_facts import ModelFacts
from converter.core.dialects.table import COMMON
from converter.core.model.conversation import RequestError
from converter.core.wire import json_text
from converter.extras.page import remedy, session
from converter.extras.page.conversation import Search
from converter.extras.page.listed import ListRows
from converter.extras.page.open_page import NO_RECORDER
from converter.extras.page.session import SessionExchange, ToolCost

PATH = "/think"
"""The path of the page in mitmweb's server."""
_RUNNING = "this exchange is still running"
"""The error for an action on an exchange whose reply still comes."""
_RECORDING_FIELDS = ("name", "thinking", "text", "why")
"""Fields of the JSON message that the page's button *Keep as recording* sends."""


class Page:
    """The actions of the page at /think in one mitmweb. `handlers` calls a method for each request
    of a browser.
    """

    def __init__(self, upstream_client: UpstreamClient, exchanges: ListRows) -> None:
        self.upstream_client, self.exchanges = upstream_client, exchanges
        """The sender of requests to model servers; the rows of the exchanges in mitmweb's list."""
        self._pages = 0
        """The number of pages that are open in browsers."""
        self.search = Search()
        """Searches conversations; remembers their texts while a browser has the page open."""

    @contextmanager
    def follow_list(self) -> Iterator[None]:
        """Keep the list's rows (`exchanges`) up to date during the `with` block. Blocks of several
        open pages may overlap: the first block subscribes to mitmweb's list, the end of the last
        unsubscribes.
        """
        if not self._pages:
            self.exchanges.open()
        self._pages += 1
        try:
            yield
        finally:
            self._pages -= 1
            if not self._pages:
                self.exchanges.close()
                self.search = Search()

    async def session_exchanges(self, flow: HTTPFlow) -> list[SessionExchange]:
        """Return the exchanges of the flow's session and of all sessions related to it: its parents
        and all their branches. An exchange without a session is returned alone.
        """
        with self.follow_list():
            await self.exchanges.refresh()
            return self.exchanges.session_exchanges(flow.id)

    async def prompt_parts(self, flow: HTTPFlow, counts_tokens: bool = True) -> dict[str, object]:
        """Return the page's JSON on a prompt: the parts that the server got, with their tokens, and
        the facts of the model that the server reports (for a prompt of more than `LONGEST_PROMPT`
        bytes the server is not asked).

        `counts_tokens`: True for the tab *Context*. The server's tokenizer then counts the tokens
        of each part, if the server offers that, and the whole session is searched for called tools,
        which takes longer. If False, the tokens are estimated, and only this request is searched
        for called tools.
        """
        whole = await self.session_exchanges(flow) if counts_tokens else []
        # `sent_of` returns None if the server got the client's request unchanged.
        sent = sent_of(flow) or flow.request
        chosen = reading_of(flow, of_server=True)[0]
        body, counted = content_of(sent), facts_of(flow).get("input_tokens")
        exchange = begin(sent.method, sent.path, {}, chosen, flow.id, reverse=True)
        pieces, facts = None, ModelFacts()
        if exchange and len(body) <= LONGEST_PROMPT:
            written = partial(_countable_body, exchange, body)
            peer = upstream_of(flow, exchange), credentials(sent.headers), chosen.server
            facts = await self.upstream_client.model_facts(*peer, model_of(body))
            if counts_tokens:
                pieces = await self.upstream_client.prompt_pieces(*peer, written)
        tokens = counted if isinstance(counted, int) else None

        def parts() -> dict[str, object]:
            """Return the page's JSON on the prompt."""
            called = session.called_tools(whole)
            read = context_parts.context_values(body, chosen, tokens, pieces, called)
            return {"about": facts.line, "window": facts.window, "counted": tokens, **read}

        return await run_aside(len(body), parts, SHOWING)

    async def tool_costs(self, flow: HTTPFlow) -> list[ToolCost]:
        """Return about how many tokens each tool has cost in the session of the flow. The tokens
        are estimated from the sizes of texts; the server is not asked.
        """
        whole = await self.session_exchanges(flow)
        size = sum(len(each.request_body) for each in whole)
        return await run_aside(size, lambda: session.tool_costs(whole), SHOWING)

    async def session_json(self, flow: HTTPFlow, before: str, now: str) -> str:
        """Return the flow's session as JSON, with the differences between the requests of two
        exchanges, whose ids are `before` and `now`; without differences if an id is unknown.
        """
        exchanges = await self.session_exchanges(flow)
        size = sum(len(each.request_body) for each in exchanges)
        return await run_aside(size, lambda: session.session_json(exchanges, before, now), SHOWING)

    async def delete_exchange(self, flow: HTTPFlow) -> str:
        """Delete an exchange from mitmweb's list and thereby from the file of `think_page`. Raises
        ValueError while the exchange is running.
        """
        if flow.live:
            raise ValueError(_RUNNING)
        ctx.master.view.remove([flow])  # type: ignore[attr-defined]
        return "deleted"

    async def keep_as_recording(self, flow: HTTPFlow, message: object) -> str:
        """Keep an exchange as a recording. Once it is written, return two lines for the user: the
        recording's path, and a command that checks it.

        `message` is the page's JSON: `name`, and the expected `thinking` and `text` with the reason
        `why`. Raises ValueError if the exchange cannot be kept.
        """
        fields = message if isinstance(message, dict) else {}
        name, thinking, text, why = values = [fields.get(each) for each in _RECORDING_FIELDS]
        if name is None or not all(isinstance(value, str | None) for value in values):
            raise ValueError(f"expected strings: {', '.join(_RECORDING_FIELDS)}")
        if flow.live:
            raise ValueError(_RUNNING)
        recorder = ctx.master.addons.get("think-recorder")
        if recorder is None:
            raise ValueError(NO_RECORDER)
        kept: Future[str] = recorder.keep(flow, name, thinking, text, why or "")
        return await asyncio.wrap_future(kept)

    async def apply_remedy(self, flow: HTTPFlow) -> str:
        """Set the options with which this misread reply would have been read rightly. They apply to
        all later replies. Return a line that names the options. Raises ValueError for a reply that
        was not misread.
        """
        return remedy.apply_remedy(flow)

    async def send_again(self, flow: HTTPFlow) -> str:
        """Send the flow's request again as a new flow in mitmweb's list; return the new flow's id.
        Raises ValueError if mitmproxy cannot send the request again.
        """
        copied = flow.copy()
        refused = _RUNNING if flow.live else ctx.master.addons.get("clientplayback").check(copied)
        if refused:
            raise ValueError(refused)
        copied.comment = copied.marked = ""
        ctx.master.view.add([copied])  # type: ignore[attr-defined]
        ctx.master.commands.call("replay.client", [copied])
        return str(copied.id)


def page_address(web_url: str) -> str:
    """Return the page's address, which follows from mitmweb's address: `http://HOST/?token=T` ->
    `http://HOST/think?token=T`. With the token in the address, mitmweb asks for no password.
    """
    base, question, query = web_url.partition("?")
    return f"{base.rstrip('/')}{PATH}{question}{query}"


def _countable_body(exchange: Exchange, body: bytes, server: Server) -> Mapping[str, object] | None:
    """Return the `body` of a request to the server, of any dialect, as the fields of a chat
    completion: `server` counts the tokens of a prompt in this dialect only.

    Return None if the body cannot be translated; the prompt's tokens are then only estimated.
    """
    try:
        if exchange.client_dialect is not COMMON:
            return read_request.read(exchange, body).translate(server, parses=False).body
        fields = json_text.read(body)
    except (RequestError, json_text.UnreadableError):
        return None
    return fields if isinstance(fields, dict) and "messages" in fields else None
