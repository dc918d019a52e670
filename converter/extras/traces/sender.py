"""`Sender` has spans made (`spans.py`), and sends them to an OpenTelemetry collector. A thread of
the SDK sends them in batches, so no reply waits for the collector.

The SDK's environment variables have no effect, because they may be meant for another program's
spans: the provider, its limits and the exporter get explicit values. Only `HEADERS_VARIABLE` and
`NAME_VARIABLE` are read.
"""

import logging
import os
import threading
from collections import Counter
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

import requests
from mitmproxy import ctx
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_ON

from converter.addon.keep.flow_record import FlowRecord
from converter.addon.probes.upstream_http import client_certificate
from converter.core.wire.bounds import Bound
from converter.extras.traces.spans import TracedText, create_span

MOST_SPANS = Bound(
    500, "spans", "spans that wait for a collector", "dropped, and counted in the metrics"
)
"""Enough for the replies of a minute, in which a collector may restart."""

SECONDS_BETWEEN_BATCHES = 1.0
"""Seconds between two batches of spans."""
HEADERS_VARIABLE = "OTEL_EXPORTER_OTLP_HEADERS"
"""The environment variable with the HTTP headers for a collector, such as its keys:
`name=value,name=value`. Every exporter of OpenTelemetry reads it.
"""
NAME_VARIABLE = "OTEL_SERVICE_NAME"
"""The environment variable with the name of the service in the spans, by default `think-addon`."""
_PATIENCE = 5.0
"""The most seconds that sending a batch of spans may take."""
_NO_LIMITS = SpanLimits(*[SpanLimits.UNSET] * 8)
"""No limits for a span's attributes and events. They are passed explicitly, because the SDK reads a
limit that is not passed from an environment variable.
"""
_log = logging.getLogger(__name__)


class Sender:
    """Sends spans to the collector at `url`, and counts them in `counts` as `sent` or `dropped`."""

    def __init__(self, url: str, counts: Counter[str]) -> None:
        self.url, self.text_type = url, TracedText
        """The collector's URL; the class that collects a reply's content for its span."""
        self._counts, self._counting = counts, threading.Lock()
        counts.update(sent=0, dropped=0)
        self.waiting = 0
        """The number of spans that were created and are neither sent nor dropped."""
        self._complained = False
        service = {"service.name": os.environ.get(NAME_VARIABLE) or "think-addon"}
        self._provider = _Provider(Resource(service))
        batches = BatchSpanProcessor(
            _Exporter(self, url),
            max_queue_size=MOST_SPANS,
            schedule_delay_millis=1000 * SECONDS_BETWEEN_BATCHES,
            max_export_batch_size=MOST_SPANS,
            export_timeout_millis=1000 * _PATIENCE,
        )
        self._provider.add_span_processor(batches)
        self._tracer = self._provider.get_tracer("think-addon")

    def add_span(self, record: FlowRecord, outcome: str, text: TracedText | None) -> None:
        """Create the span of a finished exchange, for the thread to send; drop it if `MOST_SPANS`
        are waiting. `outcome`: how the reply ended (`outcome_of`). `text`: the reply's content;
        None if the span is not to have it.
        """
        with self._counting:
            self.waiting += 1
        if self.waiting > MOST_SPANS:
            self.count_spans(1, "more spans come than it takes")
        else:
            create_span(self._tracer, record, outcome, text)

    def count_spans(self, spans: int, fault: str = "") -> None:
        """Count `spans` waiting spans as sent, or as dropped if `fault` says why they were not
        sent. Log a fault as a warning; log no further fault until the collector accepts spans
        again. The warning is without the URL, which may hold a key.
        """
        with self._counting:
            self._counts["dropped" if fault else "sent"] += spans
            self.waiting -= spans
        if fault and not self._complained:
            _log.warning(
                "think: think_traces: the collector loses spans: %s (reported once)", fault
            )
        self._complained = bool(fault)

    def send_last(self, seconds: float) -> None:
        """Have the thread send the waiting spans and end; wait for it at most `seconds`. Spans that
        are not sent by then count as dropped. If `seconds` is 0, do not wait, and drop none.
        """
        ending = threading.Thread(target=self._provider.shutdown, daemon=True)
        ending.start()
        if seconds:
            ending.join(seconds)
            if ending.is_alive() and self.waiting:
                self.count_spans(
                    self.waiting, f"it did not take the last ones within {seconds:g} s"
                )


class _Provider(TracerProvider):
    """The SDK's source of tracers; it ignores the SDK's environment variables."""

    def __init__(self, resource: Resource) -> None:
        super().__init__(ALWAYS_ON, resource, shutdown_on_exit=False, span_limits=_NO_LIMITS)
        # OTEL_SDK_DISABLED may have set this to True, and the SDK has no parameter for it.
        self._disabled = False


class _Exporter(OTLPSpanExporter):
    """Sends batches of spans, and counts the spans. It turns the SDK's log lines off, because they
    have the URL, which may hold a key.
    """

    def __init__(self, sender: Sender, url: str) -> None:
        self._sender, self._session_of_ours = sender, _Session(urlsplit(url).hostname or "")
        rows = (row.partition("=") for row in os.environ.get(HEADERS_VARIABLE, "").split(","))
        super().__init__(
            url,
            headers={name.strip(): unquote(value.strip()) for name, _, value in rows if value},
            timeout=_PATIENCE,
            compression=Compression.NoCompression,
            session=self._session_of_ours,
        )
        logging.getLogger(OTLPSpanExporter.__module__).disabled = True

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send a batch of spans, and count them as sent or dropped."""
        result = super().export(spans)
        sent = result is SpanExportResult.SUCCESS
        self._sender.count_spans(len(spans), "" if sent else self._session_of_ours.fault)
        return result


class _Session(requests.Session):
    """An HTTP session with mitmproxy's options for TLS."""

    def __init__(self, host: str) -> None:
        super().__init__()
        options = ctx.options
        trusted = options.ssl_verify_upstream_trusted_ca
        trusted = trusted or options.ssl_verify_upstream_trusted_confdir
        self._verify = False if options.ssl_insecure else trusted or True
        self._certificate = client_certificate(options.client_certs, host)
        self.trust_env = False
        self.fault = "an unknown fault"
        """How the last request ended, as a reason for a failure: the name of an exception, or a
        text such as `it answers with status 503`.
        """

    def request(self, *arguments: Any, **chosen: Any) -> requests.Response:
        """Send a request with mitmproxy's TLS options. Set `fault` to how the request ended: the
        name of an exception, or the status of the response.
        """
        chosen |= {"verify": self._verify, "cert": self._certificate}
        try:
            response = super().request(*arguments, **chosen)
        except Exception as error:
            self.fault = type(error).__name__  # The error's message is left out: it has the URL.
            raise
        self.fault = f"it answers with status {response.status_code}"
        return response
