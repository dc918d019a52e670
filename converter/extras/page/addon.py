"""The page that stands in mitmweb: it opens and closes with the pages that look, and does what
their buttons ask.
"""

import asyncio
from collections.abc import Mapping
from concurrent.futures import Future
from functools import partial

from mitmproxy import ctx
from mitmproxy.http import HTTPFlow

from converter.addon.aside import SHOWING, aside
from converter.addon.bounds import LONGEST_PROMPT
from converter.addon.exchange import read_request
from converter.addon.exchange.exchange import Exchange, begin
from converter.addon.http_messages import content_of, model_of, upstream
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
from converter.extras.page.listed import Listed
from converter.extras.page.session import SessionExchange, ToolCost
from converter.extras.page.watcher import NO_RECORDER, Watcher

PATH = "/think"
_RUNS = "this exchange is still running"
_KEPT = ("name", "thinking", "text", "why")


class Page:
    """The page of one mitmweb. `exchanges`: those that mitmweb lists."""

    def __init__(self, client: UpstreamClient, exchanges: Listed) -> None:
        self.client, self.exchanges = client, exchanges
        self._watchers: list[Watcher] = []
        self.search = Search()

    def opened(self) -> Watcher:
        """Return the watcher for a page that opens; the first begins to follow mitmweb's list."""
        if not self._watchers:
            self.exchanges.open()
        watcher = Watcher(self.exchanges)
        self._watchers.append(watcher)
        return watcher

    def closed(self, watcher: Watcher) -> None:
        """Forget the watcher of a page that closes; behind the last follow the list no more."""
        if watcher in self._watchers:
            self._watchers.remove(watcher)
            if not self._watchers:
                self.exchanges.close()
                self.search = Search()

    async def session(self, flow: HTTPFlow) -> list[SessionExchange]:
        """Take the exchanges that belong together with one."""
        watcher = self.opened()  # nobody may look any more
        try:
            await self.exchanges.refresh()
            return self.exchanges.session(flow.id)
        finally:
            self.closed(watcher)

    async def context(self, flow: HTTPFlow, counts: bool = True) -> dict[str, object]:
        """Return the parts of the prompt that the server got, by size, and the server's facts of
        the model. `counts`: the server's tokenizer is asked, and the session's other exchanges are
        read, which is only done for the tab *Context*.
        """
        whole = await self.session(flow) if counts else []
        sent = sent_of(flow) or flow.request  # of a flow that was let go
        chosen = reading_of(flow, of_server=True)[0]
        body, counted = content_of(sent), facts_of(flow).get("input_tokens")
        exchange = begin(sent.method, sent.path, {}, chosen, flow.id, reverse=True)
        pieces, facts = None, ModelFacts()
        if exchange and len(body) <= LONGEST_PROMPT:
            written = partial(_completion, exchange, body)
            server, headers = upstream(flow, exchange), credentials(sent.headers)
            facts = await self.client.facts(server, headers, chosen.server, model_of(body))
            if counts:
                pieces = await self.client.pieces(server, headers, chosen.server, written)
        tokens = counted if isinstance(counted, int) else None

        def parts() -> dict[str, object]:
            called = session.called(whole)
            read = context_parts.read(body, chosen, tokens, pieces, called)
            return {"about": facts.line, "window": facts.window, "counted": tokens, **read}

        return await aside(len(body), parts, SHOWING)

    async def tools(self, flow: HTTPFlow) -> list[ToolCost]:
        """Return what each tool has cost over the session."""
        whole = await self.session(flow)
        size = sum(len(each.body) for each in whole)
        return await aside(size, lambda: session.tools(whole), SHOWING)

    async def forget(self, flow: HTTPFlow) -> str:
        """Take an exchange out of mitmweb's list, and so out of the file of `think_page`. Raises
        ValueError.
        """
        if flow.live:
            raise ValueError(_RUNS)
        ctx.master.view.remove([flow])  # type: ignore[attr-defined]
        return "deleted"

    async def keep(self, flow: HTTPFlow, message: object) -> str:
        """Keep an exchange as a recording under the name, and with the expectation, that the page's
        message holds; return the recording's path once it is written. Raises ValueError.
        """
        fields = message if isinstance(message, dict) else {}
        name, thinking, text, why = values = [fields.get(each) for each in _KEPT]
        if name is None or not all(isinstance(value, str | None) for value in values):
            raise ValueError(f"expected strings: {', '.join(_KEPT)}")
        if flow.live:
            raise ValueError(_RUNS)
        recorder = ctx.master.addons.get("think-recorder")
        if recorder is None:
            raise ValueError(NO_RECORDER)
        kept: Future[str] = recorder.keep(flow, name, thinking, text, why or "")
        return await asyncio.wrap_future(kept)

    async def apply(self, flow: HTTPFlow) -> str:
        """Have replies read from now on as a misread one should have been; return what was set.
        Raises ValueError.
        """
        return remedy.apply(flow)

    async def again(self, flow: HTTPFlow) -> str:
        """Ask the same again; return the id of the new exchange, which stands in mitmweb's list as
        any other. Raises ValueError.
        """
        copied = flow.copy()
        refused = _RUNS if flow.live else ctx.master.addons.get("clientplayback").check(copied)
        if refused:
            raise ValueError(refused)
        copied.comment = copied.marked = ""
        ctx.master.view.add([copied])  # type: ignore[attr-defined]
        ctx.master.commands.call("replay.client", [copied])
        return str(copied.id)


def address(web_url: str) -> str:
    """Return the page's address, given mitmweb's, with the token that opens it."""
    base, question, query = web_url.partition("?")
    return f"{base.rstrip('/')}{PATH}{question}{query}"


def _completion(exchange: Exchange, body: bytes, server: Server) -> Mapping[str, object] | None:
    """Return a request as the chat completion that a server's tokenizer takes."""
    try:
        if exchange.client is not COMMON:
            return read_request.read(exchange, body).written(server, parses=False).body
        fields = json_text.read(body)
    except (RequestError, json_text.UnreadableError):
        return None
    return fields if isinstance(fields, dict) and "messages" in fields else None
