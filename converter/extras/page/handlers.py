"""Answers the requests of the page at /think: `mount` adds HTTP handlers and a WebSocket to
mitmweb's server. `Page` (`addon.py`) does what a button asks for, `OpenPage` (`open_page.py`)
collects the updates that the WebSocket sends.

Each handler is a subclass of mitmweb's, and so has mitmweb's login, its check of a request's origin
and its XSRF cookie.
"""

import asyncio
import contextlib
import json
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from mitmproxy.http import HTTPFlow, Message

from converter.addon.aside import AT_ONCE, SHOWING, run_aside
from converter.addon.keep.shown_flow import transcript_of
from converter.addon.transcript import terminal
from converter.extras.page import first_lines
from converter.extras.page import mitmweb_internals as mitmweb
from converter.extras.page.addon import PATH, Page
from converter.extras.page.conversation import curl_command
from converter.extras.page.open_page import OpenPage
from converter.extras.page.remedy import reread

FOLDER = Path(__file__).parent
"""The folder of the page's files."""
_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
"""Suffix of a file of the page -> its content type."""
FILES = {file.name: _TYPES[file.suffix] for file in FOLDER.iterdir() if file.suffix in _TYPES}
"""File name of a style sheet or script -> its content type."""
SECURITY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
"""The Content-Security-Policy: nothing is loaded from other sites, and scripts cannot turn text
into markup. mitmweb's own policy allows more.
"""
INTERVAL = 0.25
"""The shortest pause between two updates of a page, in seconds. But a message of the page ends any
pause at once.
"""
SHARE = 4
"""After an update that took T seconds to compute, a page's next update waits `SHARE * T` seconds,
but at least `INTERVAL` and at most `_LONGEST_INTERVAL`. In this time mitmproxy's loop does other
work.
"""
_LONGEST_INTERVAL = 2.0
"""The longest pause between two updates of a page, in seconds."""


def mount(app: Any, page: Page) -> Callable[[], None]:
    """Add the page's handlers to mitmweb's server; return a function that removes them again."""
    arguments = {"page": page}
    exchange = rf"{PATH}/exchanges/(?P<flow_id>[0-9a-f\-]+)"
    handlers = [
        (PATH, PageFile, arguments),
        (rf"{PATH}/(?P<name>{'|'.join(map(re.escape, FILES))})", Asset, arguments),
        (rf"{PATH}/updates", Updates, arguments),
        (rf"{PATH}/search", SearchField, arguments),
        (rf"{PATH}/lines", FirstLines, arguments),
        (rf"{exchange}/(?P<action>keep|again|apply|forget)", Button, arguments),
        (rf"{exchange}/(?P<form>curl|text|context|read|tools|reread|whole)", Views, arguments),
        (rf"{exchange}/session", PageFile, arguments),
        (mitmweb.CONTENT, RenderedContent),
    ]
    return mitmweb.add_handlers(app, handlers)


class _PageHandler(mitmweb.RequestHandler):
    """The base class of the page's handlers: refuses POSTs of other sites, and finds flows."""

    page: Page
    """The actions of the page, and its data."""

    def initialize(self, page: Page) -> None:
        """Set the page. Tornado calls this with the arguments that `mount` passed to it."""
        self.page = page

    def prepare(self) -> None:
        """Refuse a POST from another site's page with 403: mitmweb's own check would answer 500."""
        origin = self.request.headers.get("Sec-Fetch-Site", "none")
        if self.request.method == "POST" and origin not in ("same-origin", "none"):
            raise mitmweb.APIError(403, "only this page may ask for that")
        super().prepare()  # type: ignore[no-untyped-call]

    def flow_of(self, flow_id: str) -> HTTPFlow:
        """Return the flow with this id. Raises APIError 404 if mitmweb no longer lists it."""
        flow = self.page.exchanges.find(flow_id)
        if flow is None:
            raise mitmweb.APIError(404, "this exchange is not there any more")
        return flow

    async def answer(self, result: Awaitable[object]) -> None:
        """Await `result`, and answer with it: a text as it is, any other value as JSON. If it
        raises ValueError or OSError, answer 400 with the error's message.
        """
        try:
            answer = await result
        except (ValueError, OSError) as error:
            self.set_status(400)
            answer = " ".join(str(error).split())
        kind, text = "text/plain", answer
        if not isinstance(text, str):
            kind, text = "application/json", json.dumps(answer)
        self.set_header("Content-Type", f"{kind}; charset=utf-8")
        self.finish(text.encode(errors="backslashreplace"))


class PageFile(_PageHandler):
    """Serves the page, and the page of a whole session. A browser without mitmweb's login gets
    mitmweb's form for the password instead.
    """

    def auth_fail(self, invalid_password: bool) -> None:
        """Show mitmweb's form for the password. `invalid_password`: True if the person has given a
        wrong one.
        """
        self.render("login.html", invalid_password=invalid_password)

    def get(self, flow_id: str = "") -> None:
        """Answer with the page, or with the page of a session if `flow_id` names an exchange of it.
        Set the XSRF cookie that the page's buttons need. The page may load nothing from other
        sites, and browsers do not cache it.
        """
        assert self.xsrf_token  # Reading the property sets the cookie.
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.set_header("Content-Security-Policy", SECURITY)
        # No site learns the page's address, which may hold the token of mitmweb's login.
        self.set_header("Referrer-Policy", "no-referrer")
        self.set_header("Cache-Control", "no-store")
        self.finish((FOLDER / ("whole.html" if flow_id else "think.html")).read_bytes())

    post = get
    """mitmweb's form for the password sends its POST to this address."""


class Asset(_PageHandler):
    """Serves the style sheet and the scripts."""

    def get(self, name: str) -> None:
        """Answer with the file of this name."""
        self.set_header("Content-Type", FILES[name])
        self.set_header("Cache-Control", "no-cache")
        self.finish((FOLDER / name).read_bytes())


class SearchField(_PageHandler):
    """Answers the searches that a person types into the page's search field."""

    async def get(self) -> None:
        """Answer with the ids of the exchanges that contain all words of the query."""
        query = self.get_query_argument("words", "")
        self.write({"found": await self.page.search.find(self.page.exchanges.flows(), query)})


class FirstLines(_PageHandler):
    """Serves the lines to copy that the page shows while its list is empty."""

    async def get(self) -> None:
        """Answer with the proxy's address and the lines to copy."""
        lines = await first_lines.lines_to_copy(self.page.upstream_client)
        self.write({"proxy": first_lines.proxy_address(), "lines": lines})


class Button(_PageHandler):
    """Handles the buttons *Keep as recording*, *Ask again*, *Delete*, *Read it so from now on*."""

    async def post(self, flow_id: str, action: str) -> None:
        """Carry out the button's action on a flow, and answer with its result."""
        flow, page = self.flow_of(flow_id), self.page
        acts: Mapping[str, Callable[[], Awaitable[str]]] = {
            "again": lambda: page.send_again(flow),
            "apply": lambda: page.apply_remedy(flow),
            "forget": lambda: page.delete_exchange(flow),
            "keep": lambda: page.keep_as_recording(flow, self.json),
        }
        await self.answer(acts[action]())


class Views(_PageHandler):
    """Serves values of an exchange that are computed only when a person asks for them, such as a
    curl command or the parts of the prompt.
    """

    async def get(self, flow_id: str, form: str) -> None:
        """Answer with the view `form`, the last part of the path:

        - `curl`: a command to send the request again.
        - `text`: a transcript.
        - `context`: the parts of the prompt, with tokens that the server has counted.
        - `read`: the parts of the prompt, with estimated tokens.
        - `tools`: the tokens that each tool cost in the session.
        - `whole`: the session, and the differences of the requests `from` and `to` of the query.
        - `reread`: a misread reply as it should have been read.
        """
        flow, page = self.flow_of(flow_id), self.page
        before, now = (self.get_query_argument(name, "") for name in ("from", "to"))
        views: Mapping[str, Callable[[], Awaitable[object]]] = {
            "curl": lambda: asyncio.to_thread(curl_command, flow),
            "text": lambda: asyncio.to_thread(lambda: terminal.write(*transcript_of(flow))),
            "context": lambda: page.prompt_parts(flow),
            "read": lambda: page.prompt_parts(flow, counts_tokens=False),
            "tools": lambda: page.tool_costs(flow),
            "whole": lambda: page.session_json(flow, before, now),
            "reread": lambda: asyncio.to_thread(reread, flow),
        }
        await self.answer(views[form]())


class RenderedContent(mitmweb.FlowContentView):
    """mitmweb's own handler for a content view, except that a thread renders long messages."""

    async def get(  # type: ignore[override]
        self, flow_id: str, message: str, content_view: str
    ) -> None:
        """Answer with the rendered message, in the same JSON as mitmweb."""
        flow = self.flow
        shown = getattr(flow, message, None)
        size = len(getattr(shown, "raw_content", None) or b"")
        if size <= AT_ONCE or not isinstance(flow, HTTPFlow) or not isinstance(shown, Message):
            super().get(flow_id, message, content_view)
            return
        lines = int(self.get_query_argument("lines", "0")) or None
        drawn = partial(self.message_to_json, content_view, shown, flow, lines)
        self.write(await run_aside(size, drawn, SHOWING))


class Updates(mitmweb.WebSocketEventBroadcaster):
    """The WebSocket by which an open page gets its updates. mitmweb's own broadcasts do not reach
    it, because the class has its own set of `connections`.
    """

    # A set of its own, because mitmweb sends its broadcasts to all of the base class's set.
    connections: ClassVar[set[mitmweb.WebSocketEventBroadcaster]] = set()

    def initialize(self, page: Page) -> None:
        """Set the attributes. Tornado calls this with the arguments that `mount` passed to it."""
        self._page, self._open_page = page, OpenPage(page.exchanges)
        self._task: asyncio.Task[None] | None = None

    def open(self, *_: str, **__: str) -> None:
        """Begin to send updates to a page that has connected."""
        super().open()  # type: ignore[no-untyped-call]
        self._task = asyncio.create_task(self._send_updates(), name="think page")

    def on_close(self) -> None:
        """Stop the updates of a page that has disconnected."""
        if self._task:
            self._task.cancel()
            super().on_close()  # type: ignore[no-untyped-call]

    def on_message(self, message: str | bytes) -> None:
        """Pass a JSON message of the page to the page's state; ignore a message that is no JSON."""
        with contextlib.suppress(ValueError, RecursionError):
            self._open_page.receive(json.loads(message))

    async def _send_updates(self) -> None:
        """Send the page its changes, again and again, until the task is cancelled."""
        with self._page.follow_list():
            while True:
                begun = time.perf_counter()
                # A slow page gets no update before it has read the last one. The next update then
                # has all changes since the last.
                if mitmweb.has_sent_all(self) and (news := await self._open_page.next_changes()):
                    self.send(json.dumps(news).encode())
                rest = min(max(INTERVAL, SHARE * (time.perf_counter() - begun)), _LONGEST_INTERVAL)
                await self._open_page.wait_for_message(rest)
