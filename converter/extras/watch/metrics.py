"""`Metrics` counts the replies to chat requests and writes the counts for Prometheus; `serve`
answers `/metrics` with them. `metrics_endpoint.py` calls both.

The number of the labels' values is bounded, because clients and servers choose these texts.

The package `prometheus_client` writes the counts in Prometheus' format, so `metrics_endpoint`
imports this module only if `think_metrics` is set. The package's own counters are not used, because
an environment variable may have them keep their numbers in files.
"""

import bisect
import re
import socket
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPServerRequest
from tornado.web import Application, RequestHandler

from converter.core.wire.bounds import Bound
from converter.core.wire.printable import encodable

MOST_SERIES = Bound(
    200, "series", "groups of model and server in the metrics", "counted as `other`"
)
"""There is a bound, because clients choose the names of models, which are labels."""
MOST_KINDS = Bound(50, "kinds", "kinds of mending in the metrics", "counted as `other`")
"""There is a bound, because a kind is text of a note, and a server may have written parts of it."""


PATH = "/metrics"
"""The path at which the counts are served."""
_PATIENCE = 5.0
"""Seconds after which an idle connection is closed."""
_LONGEST_HEAD = 8192
"""The most bytes of the head of an HTTP request."""
_REPLY_LABELS = ["model", "server"]
"""Names of the labels that every count of replies has."""
BUCKETS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
"""The histograms' bounds in seconds: from the replies of a small local model to minutes of thinking
by a large one.
"""
LONGEST_NAME = 200
"""The most characters of a model's name in a label."""
OTHER = "other"
"""The label that replaces two kinds of labels. If `MOST_SERIES` pairs of model and server are
counted already, it replaces both names of a new pair. If `MOST_KINDS` kinds of mending are counted
for a pair, it replaces a new kind of this pair.
"""
TIMES = {
    "first_byte": "Time to the first byte of a streamed reply",
    "first_thought": "Time to the first thought",
    "first_text": "Time to the first word of the answer",
    "end": "Time to the end of the reply",
}
"""Key of a time in a reply's summary -> the help text of the histogram of these times."""
_COUNTS = {
    "thoughts": "Thoughts that were read",
    "thinking_tokens": "Tokens of thinking: the server's number, else by the share of characters",
    "answer_tokens": "Tokens of answers",
    "prompt_tokens": "Tokens of prompts",
    "broken_prefixes": "Prompts that were not read on where the request before them had ended",
    "restored": "Earlier thoughts that were put back",
    "unknown": "Earlier replies whose thoughts were no longer kept",
}
"""Name of a count -> its help text. The count's labels are model and server."""
_LABELS = {
    "requests": ("outcome", "Requests by how they ended"),
    "mended": ("what", "What was mended in requests and replies"),
    "ended": ("reason", "Thoughts that were ended: by a budget, in a loop, unanswered"),
}
"""Name of a count -> its third label (the others are model and server), and its help text."""
_NUMBER = re.compile(r"\d+")
"""Finds the numbers in a note. `kind_of_note` replaces each by `#`, so that notes that differ only
in them are of one kind.
"""
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`")
"""Finds the quoted names in a note. `kind_of_note` replaces each by `…`, so that notes that differ
only in them are of one kind.
"""


@dataclass(slots=True)
class Histogram:
    """Counts durations by the bounds of `BUCKETS`: how many lie between two neighbouring bounds. It
    also has the sum of all durations.
    """

    buckets: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    """For each bound, the number of durations above the bound before it and up to this bound; at
    the end, the number of durations above all bounds.
    """
    sum: float = 0.0
    """The sum of all durations, in seconds."""

    def add(self, seconds: float) -> None:
        """Count a duration, in seconds."""
        self.buckets[bisect.bisect_left(BUCKETS, seconds)] += 1
        self.sum += seconds

    @property
    def totals(self) -> list[tuple[str, float]]:
        """Each bound as text, with the number of durations up to the bound; at the end `+Inf`, with
        the number of all durations.
        """
        bounds = [*(f"{bound:g}" for bound in BUCKETS), "+Inf"]
        return [*zip(bounds, map(float, accumulate(self.buckets)), strict=True)]


class Metrics(Collector):
    """Counts replies by model and server. `spans`: how many spans the extra `traces` has sent and
    dropped, `{"sent": 3, "dropped": 0}`; empty if it is off.
    """

    def __init__(self, spans: Counter[str] | None = None) -> None:
        self._counts = {name: Counter[tuple[str, ...]]() for name in (*_LABELS, *_COUNTS)}
        self._times: dict[tuple[str, str], dict[str, Histogram]] = {}
        self.spans = Counter[str]() if spans is None else spans

    def add_reply(
        self, summary: Mapping[str, object], server: str, outcome: str, notes: Iterable[str]
    ) -> None:
        """Count a reply, from its summary and the addon's notes about the reply. `server`: the
        server's address. `outcome`: how the reply ended (`outcome_of`), such as `ok`. Of a reply
        that came in one piece only the time of its end is counted.
        """
        key = (encodable(summary.get("model") or "-")[:LONGEST_NAME], encodable(server or "-"))
        if key not in self._times and len(self._times) >= MOST_SERIES:
            key = (OTHER, OTHER)
        histograms = self._times.setdefault(key, {name: Histogram() for name in TIMES})
        self._counts["requests"][*key, outcome] += 1
        mended, ended = self._counts["mended"], summary.get("thoughts_ended")
        for kind in map(kind_of_note, notes):
            is_new = (*key, kind) not in mended
            many = is_new and sum((*pair,) == key for *pair, _ in mended) >= MOST_KINDS
            mended[*key, OTHER if many else kind] += 1
        for reason, count in ended.items() if isinstance(ended, dict) else ():
            self._counts["ended"][*key, reason] += count
        for name, count in _counts_of_reply(summary).items():
            self._counts[name][key] += count
        whole = summary.get("first_byte") == summary.get("end")
        for name, histogram in histograms.items():
            at = summary.get(name)
            if isinstance(at, (int, float)) and (name == "end" or not whole):
                histogram.add(float(at))

    def text(self) -> bytes:
        """Return the counts in Prometheus' text format."""
        return generate_latest(self)

    def collect(self) -> Iterator[Metric]:
        """Yield all counts as metrics of `prometheus_client`, which calls this method when it
        writes them.
        """
        for name, (label, meaning) in _LABELS.items():
            yield _counter_family(name, meaning, [*_REPLY_LABELS, label], self._counts[name])
        for name, meaning in _COUNTS.items():
            yield _counter_family(name, meaning, _REPLY_LABELS, self._counts[name])
        for name, meaning in TIMES.items():
            times = HistogramMetricFamily(
                f"think_{name}_seconds", f"{meaning}.", labels=_REPLY_LABELS
            )
            for pair, histograms in sorted(self._times.items()):
                times.add_metric(pair, histograms[name].totals, histograms[name].sum)
            yield times
        if self.spans:
            meaning = "Spans for a collector by what became of them"
            outcomes = Counter[tuple[str, ...]](
                {(outcome,): count for outcome, count in self.spans.items()}
            )
            yield _counter_family("spans", meaning, ["outcome"], outcomes)


def _counter_family(
    name: str, meaning: str, labels: list[str], counts: Mapping[tuple[str, ...], int]
) -> CounterMetricFamily:
    """Return one counter for Prometheus, `think_NAME`. `labels`: the names of its labels. `counts`:
    the values of the labels -> the count.
    """
    family = CounterMetricFamily(f"think_{name}", f"{meaning}.", None, labels)
    for values, count in sorted(counts.items()):
        family.add_metric(values, count)
    return family


def kind_of_note(note: str) -> str:
    """Return the kind of a note; notes of one kind are counted together. The kind is the note
    without the parts that differ from reply to reply (numbers, quoted names, the reason):
    `"3 calls of 'run' closed: why"` -> `"# calls of … closed"`.
    """
    return _NUMBER.sub("#", _QUOTED.sub("…", encodable(note.partition(": ")[0]))).strip()


def _counts_of_reply(summary: Mapping[str, object]) -> dict[str, int]:
    """Return the number that a reply adds to each count of `_COUNTS`, such as
    `{"thoughts": 2, "thinking_tokens": 90 ...}`, from the reply's summary.
    """
    output, thinking, text = (
        _positive_number(summary, name) for name in ("output_tokens", "thinking", "text")
    )
    counted = _positive_number(summary, "thinking_tokens")
    estimate = round(output * thinking / (thinking + text)) if thinking + text else 0
    thought = min(output, counted or estimate)
    return {
        "thoughts": _positive_number(summary, "thoughts"),
        "thinking_tokens": thought,
        "answer_tokens": output - thought,
        "prompt_tokens": _positive_number(summary, "input_tokens"),
        "broken_prefixes": _positive_number(summary, "prefix_broken"),
        "restored": _positive_number(summary, "thoughts_put_back"),
        "unknown": _positive_number(summary, "thoughts_unknown"),
    }


def _positive_number(summary: Mapping[str, object], name: str) -> int:
    """Return the number in the entry `name` of a reply's summary, 0 if there is no positive one."""
    value = summary.get(name)
    return value if isinstance(value, int) and value > 0 else 0


type Allows = Callable[[HTTPServerRequest], bool]
"""A function that returns True if a request may read the metrics."""


class _MetricsPage(RequestHandler):
    """The handler of requests for `/metrics`. It refuses a request for which `allows` returns
    False.
    """

    def initialize(self, metrics: Metrics, allows: Allows) -> None:
        """Take the arguments that `serve` has passed to Tornado for this handler."""
        self.metrics, self.allows = metrics, allows

    def prepare(self) -> None:
        """Answer 403 if `allows` refuses the request. Tornado calls this before `get`."""
        if not self.allows(self.request):
            self.set_status(403)
            self.finish("think_hosts allows a web page's name\n")

    def get(self) -> None:
        """Answer with the counts."""
        self.set_header("Content-Type", CONTENT_TYPE_LATEST)
        self.finish(self.metrics.text())

    head = get
    """Answers HEAD as `get` does; Tornado leaves the body out."""


def serve(metrics: Metrics, listening: socket.socket, allows: Allows) -> HTTPServer:
    """Start an HTTP server at a listening socket, and return it. It answers `/metrics` with the
    counts. `allows`: a function that returns True for a permitted request.
    """
    pages = [(PATH, _MetricsPage, {"metrics": metrics, "allows": allows})]
    server = HTTPServer(
        Application(pages, log_function=lambda _: None),
        idle_connection_timeout=_PATIENCE,
        max_header_size=_LONGEST_HEAD,
    )
    listening.setblocking(False)
    server.add_socket(listening)
    return server
