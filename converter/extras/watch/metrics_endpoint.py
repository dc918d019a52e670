"""`MetricsEndpoint`, the addon of the option `think_metrics`, opens a port of its own or writes a
file, and passes each finished reply to a chat request to the counts in `metrics.py`.

Reasons why the counts are not served at a port of mitmproxy's:

- `/metrics` at the proxy's port is the server's (vLLM, SGLang and llama.cpp have it).
- Several workers share the proxy's port, so each scrape would read another worker's counts.
- A forward, transparent or local proxy has no address of its own for requests.
- A client that may use a model, perhaps from another machine, need not see the use by others.
- The port of mitmweb's page does not exist in mitmdump.
"""

import asyncio
import logging
import socket
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from converter.addon.addresses import is_loopback
from converter.addon.exchange.option_readers import MetricsTarget
from converter.addon.exchange.settings import Settings
from converter.addon.extra_packages import load_optional
from converter.addon.files import FileError, write_whole
from converter.addon.hooks.access_rules import foreign_page_header
from converter.addon.keep.flow_record import FlowRecord, outcome_of
from converter.addon.watcher import OptionWatcher

SECONDS_BETWEEN_FILES = 1.0
"""Seconds from the end of a reply until the file is written. The counts of replies that end within
this time are written with it.
"""
_log = logging.getLogger(__name__)


class MetricsEndpoint(OptionWatcher):
    """An addon that counts replies while `think_metrics` names a port or a file, and serves the
    counts at the port or writes them to the file.

    `chosen`: a function that returns the settings in force. `spans`: how many spans the extra
    `traces` has sent and dropped; they are served with the counts.
    """

    name = "think-metrics"
    followed_options = frozenset(("think_metrics",))

    def __init__(self, chosen: Callable[[], Settings], spans: Counter[str]) -> None:
        self._chosen, self._spans = chosen, spans
        self._metrics: Any = None
        self._target: MetricsTarget | None = None
        self._server: Any = None
        self._writing: asyncio.TimerHandle | None = None

    def follow(self) -> None:
        """Serve the counts at the port, or write them to the file, that `think_metrics` names now.
        Stop if it is empty. Raises ValueError if the port cannot be opened, or the package
        `prometheus_client` is missing.
        """
        target = self._chosen().metrics
        if target == self._target:
            return
        module: Any = target and load_optional("watch", "metrics", "metrics", "think_metrics")
        listening = _listen(target) if target and not target.file else None
        self.done()
        self._target = target
        if module:
            self._metrics = self._metrics or module.Metrics(self._spans)
        if module and listening and target:
            _log.info("metrics at http://%s:%s%s", target.host, target.port, module.PATH)
            self._server = module.serve(self._metrics, listening, self._allows)

    def ended(self, seen: FlowRecord) -> None:
        """Count a finished reply to a chat request. If the counts go to a file, have the file
        written at most `SECONDS_BETWEEN_FILES` later.
        """
        if self._target is None or not seen.exchange.endpoint.is_chat:
            return
        summary, flow = {"model": seen.request.requested_model} | seen.summary(), seen.flow
        address = f"{flow.request.host}:{flow.request.port}"
        self._metrics.add_reply(summary, address, outcome_of(flow, summary), seen.notes)
        if self._target.file and not self._writing:
            loop = asyncio.get_running_loop()
            self._writing = loop.call_later(SECONDS_BETWEEN_FILES, self._write)

    def done(self) -> None:
        """Write the counts that are not in the file yet, and close the port."""
        if self._writing:
            self._writing.cancel()
            self._write()
        if self._server:
            # `stop` closes the port at once, so that a reloaded script can open the port. It does
            # not wait for connections that are still open.
            self._server.stop()
        self._target = self._server = None

    def _write(self) -> None:
        """Write the counts to the file. Log an error if the file cannot be written."""
        self._writing = None
        try:
            write_whole(Path(self._target.file if self._target else ""), self._metrics.text())
        except FileError as error:
            _log.error("think: think_metrics: %s", error)

    def _allows(self, request: Any) -> bool:
        """Return False for a request from this machine that a web page of another site may have
        sent, as its header `Host` shows; else True.
        """
        host = request.headers.get("host", "")
        return not (
            is_loopback(request.remote_ip) and foreign_page_header(host, None, self._chosen().hosts)
        )


def _listen(target: MetricsTarget) -> socket.socket:
    """Return a socket that listens at the address and port of `target`. Raises ValueError if it
    cannot be opened.
    """
    family = socket.AF_INET6 if ":" in target.host else socket.AF_INET
    try:
        return socket.create_server((target.host, target.port), family=family)
    except OSError as error:
        # Python appends ` (while attempting to bind ...)`, which would repeat the address.
        reason = str(error.strerror or error).partition(" (")[0]
        fault = f"{target.host}:{target.port} cannot be listened at ({reason})"
        raise ValueError(f"think_metrics: {fault}") from None
