"""The way of spans to an OpenTelemetry collector: a thread of its own sends them in batches, and
drops what the collector does not take. No reply waits for it.
"""

import logging
import os
import threading
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import closing
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import unquote, urlsplit

from mitmproxy import ctx

from converter.addon.exchange.settings import Settings
from converter.addon.keep.flow_record import FlowRecord, outcome_of
from converter.addon.probes.upstream_http import tls_for_host
from converter.addon.watcher import Watcher
from converter.core.model.events import Event
from converter.core.wire import json_text
from converter.core.wire.bounds import Bound
from converter.extras.traces.spans import Fields, TracedWords, attributes_of, span_of

MOST_SPANS = Bound(
    500,
    "spans",
    "spans that wait for a collector",
    "the replies of a minute while it starts anew",
    "dropped, and counted in the metrics",
)

SECONDS_BETWEEN_BATCHES = 1.0
SECONDS_AT_THE_END = 3.0
"""For what has not been sent when mitmproxy ends."""
HEADERS_VARIABLE = "OTEL_EXPORTER_OTLP_HEADERS"
"""In the environment, as for every exporter: a collector's keys, `name=value,name=value`."""
_PATIENCE = 5.0
_log = logging.getLogger(__name__)


class Traces(Watcher):
    """An addon of its own: it sends a span for each reply while the option says where. `chosen`
    gives the settings in force. `counts`: what was sent, and what dropped.
    """

    name = "think-traces"

    def __init__(self, chosen: Callable[[], Settings], counts: Counter[str]) -> None:
        self._chosen, self._counts = chosen, counts
        self._told: dict[str, TracedWords] = {}
        self._sender: Sender | None = None
        self._words = False

    def configure(self, updated: set[str]) -> None:
        """Send where the options say."""
        if updated & {"think_traces", "think_traces_words"}:
            self.open(self._chosen().traces, self._chosen().traces_words)

    def open(self, url: str, words: bool) -> None:
        """Send to another place from the next reply on, or to none. `words`: send them too."""
        self._words = words
        if url != (self._sender.url if self._sender else ""):
            self.done()
            self._sender = Sender(url, self._counts) if url else None

    def heard(self, seen: FlowRecord, events: Sequence[Event]) -> None:
        """Keep the words that the client was told, if they are to be sent."""
        if self._words and self._sender:
            self._told.setdefault(seen.flow.id, TracedWords()).feed(events)

    def ended(self, seen: FlowRecord) -> None:
        """Have the span of a reply sent that is over."""
        words = self._told.pop(seen.flow.id, None)
        if self._sender and seen.exchange.endpoint.is_chat:
            self._sender.give(span_of(seen, outcome_of(seen.flow, seen.told), words))

    def done(self) -> None:
        """Let the last batch go. When mitmproxy ends, wait for it; a script that is loaded anew, or
        another option, has the proxy running on.
        """
        if self._sender:
            self._sender.end(SECONDS_AT_THE_END if ctx.master.should_exit.is_set() else 0)
        self._sender = None


class Sender:
    """A queue and the thread that empties it. `counts`: what was sent, and what dropped."""

    def __init__(self, url: str, counts: Counter[str]) -> None:
        self.url = url
        self._counts, self._counting = counts, threading.Lock()
        counts.update(sent=0, dropped=0)
        self._waiting: deque[Fields] = deque()
        self._ended = threading.Event()
        self._complained = False
        self._thread = threading.Thread(target=self._run, name="think-traces", daemon=True)
        self._thread.start()

    def give(self, span: Fields) -> None:
        """Take a span, unless too many wait."""
        if len(self._waiting) < MOST_SPANS:
            self._waiting.append(span)
        else:
            self._drop(1, "it takes less than comes")

    def end(self, seconds: float) -> None:
        """Send what waits, and take no more. Wait so many seconds for it."""
        self._ended.set()
        if seconds:
            self._thread.join(seconds)
            if self._thread.is_alive():
                self._drop(len(self._waiting), f"it did not take the last in {seconds:g} s")

    def _run(self) -> None:
        while self._waiting or not self._ended.is_set():
            self._ended.wait(SECONDS_BETWEEN_BATCHES)
            if batch := [self._waiting.popleft() for _ in range(len(self._waiting))]:
                self._send(batch)

    def _send(self, batch: list[Fields]) -> None:
        try:
            status = self._post(_body(batch))
            fault = "" if status // 100 == 2 else f"it answers with status {status}"
        except (OSError, HTTPException, ValueError) as error:  # others' words may hold a header
            fault = getattr(error, "strerror", "") or type(error).__name__
        if fault:
            self._drop(len(batch), fault)
            return
        self._complained = False
        with self._counting:
            self._counts["sent"] += len(batch)

    def _post(self, body: bytes) -> int:
        rows = (row.partition("=") for row in os.environ.get(HEADERS_VARIABLE, "").split(","))
        own = {name.strip(): unquote(value.strip()) for name, _, value in rows if value}
        headers = {"content-type": "application/json", **own}
        url = urlsplit(self.url)
        address = url.hostname or "", url.port
        connection = HTTPConnection(*address, timeout=_PATIENCE)
        if url.scheme == "https":
            tls = tls_for_host(address[0])
            connection = HTTPSConnection(*address, timeout=_PATIENCE, context=tls)
        with closing(connection):
            path = self.url.partition(url.netloc)[2]
            connection.request("POST", path, body, headers)
            return connection.getresponse().status

    def _drop(self, spans: int, fault: str) -> None:
        """Say it once, until the collector takes some; without the URL, which may hold a key."""
        with self._counting:
            self._counts["dropped"] += spans
        if not self._complained:
            self._complained = True
            _log.warning("think: think_traces: the collector loses spans: %s (said once)", fault)


def _body(spans: list[Fields]) -> bytes:
    service = attributes_of({"service.name": os.environ.get("OTEL_SERVICE_NAME", "think-addon")})
    scope = {"scope": {"name": "think-addon"}, "spans": spans}
    resource = {"resource": {"attributes": service}, "scopeSpans": [scope]}
    return json_text.write({"resourceSpans": [resource]})
