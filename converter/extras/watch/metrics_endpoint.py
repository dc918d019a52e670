"""The counts of all replies, served at a port of their own or written to a file.

A port of their own and not mitmproxy's. There `/metrics` is the server's (vLLM, SGLang and
llama.cpp have one), several workers share the port, so that each scrape would read another one's
counts, and a forward, transparent or local proxy has no address that can be asked. Who may use a
model, from another machine as well, need not see who else does. mitmdump has no port for pages.
"""

import asyncio
import logging
import re
import socket
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from mitmproxy import exceptions

from converter.addon.exchange.option_readers import MetricsPlace
from converter.addon.exchange.settings import Settings
from converter.addon.files import FileError, write_whole
from converter.addon.hooks.doors import foreign_page, is_loopback
from converter.addon.keep.flow_record import FlowRecord, outcome_of
from converter.addon.watcher import Watcher
from converter.core.wire import json_text
from converter.extras.watch.metrics import CONTENT_TYPE, Metrics

PATHS = ("/metrics", "/metrics.json")
SECONDS_BETWEEN_FILES = 1.0
_PATIENCE = 5.0
_LONGEST_REQUEST = 8192
_HOST = re.compile(rb"\r\nhost:[ \t]*([^\r\n]*)", re.IGNORECASE)
_log = logging.getLogger(__name__)


class MetricsEndpoint(Watcher):
    """An addon of its own: it counts replies, and serves the counts while the option says where.
    `chosen` gives the settings in force. `spans`: those for a collector, by their fate.
    """

    name = "think-metrics"

    def __init__(self, chosen: Callable[[], Settings], spans: Counter[str]) -> None:
        self._chosen = chosen
        self.metrics = Metrics(spans)
        self._target: MetricsPlace | None = None
        self._hosts: tuple[str, ...] = ()
        self._listens = False
        self._server: asyncio.Future[asyncio.Server] | None = None
        self._writing: asyncio.TimerHandle | None = None

    def configure(self, updated: set[str]) -> None:
        """Move where the options say."""
        if updated & {"think_metrics", "think_hosts"}:
            try:
                self.open(self._chosen().metrics, self._chosen().hosts)
            except ValueError as error:
                raise exceptions.OptionsError(str(error)) from None

    def open(self, target: MetricsPlace | None, hosts: tuple[str, ...] = ()) -> None:
        """Move to another port or file, or to none. Raises ValueError when it cannot be had.

        `hosts`: names of web pages that may read the counts, beside local ones.
        """
        self._hosts = hosts
        if target == self._target:
            return
        listening = _listen(target) if self._listens and target and not target.file else None
        self.done()
        self._target = target
        if listening and target:
            _log.info("metrics at http://%s:%s/metrics", target.host, target.port)
            serving = asyncio.start_server(self._answer, sock=listening, limit=_LONGEST_REQUEST)
            self._server = asyncio.ensure_future(serving)

    def running(self) -> None:
        """Serve from now on; a port that is taken stops mitmproxy, with one line."""
        self._listens, target, self._target = True, self._target, None
        try:
            self.open(target, self._hosts)
        except ValueError as error:
            _log.error("think: %s", error)

    def ended(self, seen: FlowRecord) -> None:
        """Count a reply that is over."""
        if self._target is None or not seen.exchange.endpoint.is_chat:
            return
        told, flow = {"model": seen.model} | seen.summary(), seen.flow
        address = f"{flow.request.host}:{flow.request.port}"
        self.metrics.add(told, address, outcome_of(flow, told), seen.notes)
        if self._target.file and not self._writing:
            loop = asyncio.get_running_loop()
            self._writing = loop.call_later(SECONDS_BETWEEN_FILES, self._write)

    def done(self) -> None:
        """Write what is left, and close."""
        if self._writing:
            self._writing.cancel()
            self._write()
        if self._server and self._server.done():
            self._server.result().close()  # now, because a script loaded anew listens at once
        elif self._server:
            self._server.add_done_callback(lambda started: started.result().close())
        self._target = self._server = None

    def _write(self) -> None:
        self._writing = None
        file = Path(self._target.file if self._target else "")
        try:
            write_whole(file, self._body(file.suffix == ".json"))
        except FileError as error:
            _log.error("think: think_metrics: %s", error)

    def _body(self, as_json: bool) -> bytes:
        if as_json:
            return json_text.write(self.metrics.values())
        return self.metrics.text().encode()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _PATIENCE)
            here = writer.get_extra_info("sockname")[0]
            writer.write(self._reply(head, is_loopback(str(here))))
            await asyncio.wait_for(writer.drain(), _PATIENCE)
        except (
            TimeoutError,
            OSError,
            asyncio.IncompleteReadError,
            asyncio.LimitOverrunError,
        ) as error:  # it has asked nothing, or does not wait for the answer
            _log.debug("think: metrics: a client left: %s", type(error).__name__)
        finally:
            writer.close()

    def _reply(self, head: bytes, on_loopback: bool) -> bytes:
        named = _HOST.search(head)
        host = named[1].decode("latin-1") if named else ""
        if on_loopback and foreign_page(host, None, self._hosts):
            return _http("403 Forbidden", "text/plain", b"think_hosts allows a web page's name\n")
        method, _, rest = head.partition(b" ")
        path = rest.partition(b" ")[0].partition(b"?")[0].decode("latin-1")
        if path not in PATHS:
            return _http("404 Not Found", "text/plain", f"try {' or '.join(PATHS)}\n".encode())
        if method not in (b"GET", b"HEAD"):
            return _http("405 Method Not Allowed", "text/plain", b"GET, please\n")
        as_json = path.endswith(".json")
        reply = _http(
            "200 OK", "application/json" if as_json else CONTENT_TYPE, self._body(as_json)
        )
        return reply if method == b"GET" else reply.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"


def _listen(target: MetricsPlace) -> socket.socket:
    family = socket.AF_INET6 if ":" in target.host else socket.AF_INET
    try:
        return socket.create_server((target.host, target.port), family=family)
    except OSError as error:
        reason = str(error.strerror or error).partition(" (")[0]  # Python adds the address
        fault = f"{target.host}:{target.port} cannot be listened at ({reason})"
        raise ValueError(f"think_metrics: {fault}") from None


def _http(status: str, content_type: str, body: bytes) -> bytes:
    head = f"HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\ncontent-length: {len(body)}\r\n"
    return f"{head}connection: close\r\n\r\n".encode() + body
