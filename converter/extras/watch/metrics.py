"""Counts of all replies so far, for Prometheus and as JSON: bounded, whatever clients ask for."""

import bisect
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate

from converter.core.wire.bounds import Bound
from converter.core.wire.printable import encodable

MOST_SERIES = Bound(
    200,
    "series",
    "groups of model and server in the metrics",
    "clients choose the names of models",
    "counted as `other`",
)
MOST_KINDS = Bound(
    50, "kinds", "kinds of mending in the metrics", "servers choose them", "counted as `other`"
)

type Told = Mapping[str, object]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
"""Seconds: from a small model on this machine to a large one that thinks for minutes."""
LONGEST_NAME = 200
"""Characters of a model's name in a label."""
OTHER = "other"
TIMES = {
    "first_byte": "Time to the first byte of a streamed reply",
    "first_thought": "Time to the first thought",
    "first_text": "Time to the first word of the answer",
    "end": "Time to the end of the reply",
}
_COUNTS = {
    "thoughts": "Thoughts that were read",
    "thinking_tokens": "Tokens of thinking: the server's number, else by the share of characters",
    "answer_tokens": "Tokens of answers",
    "prompt_tokens": "Tokens of prompts",
    "broken_prefixes": "Prompts that were not read on where the request before them had ended",
    "restored": "Earlier thoughts that were put back",
    "unknown": "Earlier replies whose thoughts were not known any more",
}
_LABELS = {
    "requests": ("outcome", "Requests by how they ended"),
    "mended": ("what", "What was mended in requests and replies"),
    "ended": ("reason", "Thoughts that were ended: by a budget, in a loop, unanswered"),
}
"""Counts that have a label of their own."""
_NUMBER = re.compile(r"\d+")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`")


@dataclass(slots=True)
class Histogram:
    """A count of the times that fell below each bound."""

    buckets: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    sum: float = 0.0

    def add(self, seconds: float) -> None:
        """Count a time."""
        self.buckets[bisect.bisect_left(BUCKETS, seconds)] += 1
        self.sum += seconds


@dataclass(slots=True)
class Series:
    """The counts of one model on one server."""

    by: dict[str, Counter[str]] = field(
        default_factory=lambda: {name: Counter() for name in _LABELS}
    )
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_COUNTS, 0))
    times: dict[str, Histogram] = field(
        default_factory=lambda: {name: Histogram() for name in TIMES}
    )

    def add(self, summary: Told, outcome: str, mended: Iterable[str]) -> None:
        """Count a reply."""
        self.by["requests"][outcome] += 1
        kinds, ended = self.by["mended"], summary.get("thoughts_ended")
        for what in mended:
            kinds[what if what in kinds or len(kinds) < MOST_KINDS else OTHER] += 1
        self.by["ended"].update(ended if isinstance(ended, dict) else {})
        for name, count in _counted(summary).items():
            self.counts[name] += count
        whole = summary.get("first_byte") == summary.get("end")
        for name, times in self.times.items():
            at = summary.get(name)
            if isinstance(at, (int, float)) and (name == "end" or not whole):
                times.add(float(at))


class Metrics:
    """Counts by model and server. `spans`: those for a collector, by their fate."""

    def __init__(self, spans: Counter[str] | None = None) -> None:
        self._series: dict[tuple[str, str], Series] = {}
        self.spans = Counter[str]() if spans is None else spans

    def add(self, told: Told, server: str, outcome: str, mended: Iterable[str]) -> None:
        """Count a reply, from its summary; `mended`: the addon's notes about it."""
        key = (encodable(told.get("model") or "-")[:LONGEST_NAME], encodable(server or "-"))
        if key not in self._series and len(self._series) >= MOST_SERIES:
            key = (OTHER, OTHER)
        self._series.setdefault(key, Series()).add(told, outcome, map(kind_of, mended))

    def text(self) -> str:
        """Return the counts in Prometheus' text format."""
        return "".join(f"{line}\n" for line in self._lines())

    def values(self) -> list[dict[str, object]]:
        """Return the counts as plain values; of times, how many there were and their sum."""
        return [
            {
                "model": model,
                "server": server,
                **series.by,
                **series.counts,
                **{
                    f"{name}_seconds": {"count": sum(times.buckets), "sum": round(times.sum, 3)}
                    for name, times in series.times.items()
                },
            }
            for (model, server), series in sorted(self._series.items())
        ]

    def _lines(self) -> Iterator[str]:
        for name, (label, meaning) in _LABELS.items():
            yield from _family(name, meaning, "counter")
            for labels, series in self._labelled():
                for value, count in sorted(series.by[name].items()):
                    yield f'think_{name}_total{{{labels},{label}="{_escaped(value)}"}} {count}'
        for name, meaning in _COUNTS.items():
            yield from _family(name, meaning, "counter")
            for labels, series in self._labelled():
                yield f"think_{name}_total{{{labels}}} {series.counts[name]}"
        for name, meaning in TIMES.items():
            yield from _family(f"{name}_seconds", meaning, "histogram")
            for labels, series in self._labelled():
                yield from _histogram(f"think_{name}_seconds", labels, series.times[name])
        yield from self._span_lines()

    def _span_lines(self) -> Iterator[str]:
        if self.spans:
            yield from _family("spans", "Spans for a collector by what became of them", "counter")
        for outcome, count in sorted(self.spans.items()):
            yield f'think_spans_total{{outcome="{outcome}"}} {count}'

    def _labelled(self) -> Iterator[tuple[str, Series]]:
        for (model, server), series in sorted(self._series.items()):
            yield f'model="{_escaped(model)}",server="{_escaped(server)}"', series


def kind_of(note: str) -> str:
    """Return the kind of a note, without the parts that differ from reply to reply."""
    return _NUMBER.sub("#", _QUOTED.sub("…", encodable(note.partition(": ")[0]))).strip()


def _counted(summary: Told) -> dict[str, int]:
    output, thinking, text = (
        _number(summary, name) for name in ("output_tokens", "thinking", "text")
    )
    counted = _number(summary, "thinking_tokens")
    estimate = round(output * thinking / (thinking + text)) if thinking + text else 0
    thought = min(output, counted or estimate)
    return {
        "thoughts": _number(summary, "thoughts"),
        "thinking_tokens": thought,
        "answer_tokens": output - thought,
        "prompt_tokens": _number(summary, "input_tokens"),
        "broken_prefixes": _number(summary, "prefix_broken"),
        "restored": _number(summary, "thoughts_put_back"),
        "unknown": _number(summary, "thoughts_unknown"),
    }


def _number(summary: Told, name: str) -> int:
    value = summary.get(name)
    return value if isinstance(value, int) and value > 0 else 0


def _family(name: str, meaning: str, kind: str) -> list[str]:
    full = f"think_{name}{'_total' if kind == 'counter' else ''}"
    return [f"# HELP {full} {meaning}.", f"# TYPE {full} {kind}"]


def _histogram(name: str, labels: str, times: Histogram) -> Iterator[str]:
    bounds, totals = [*(f"{bound:g}" for bound in BUCKETS), "+Inf"], [*accumulate(times.buckets)]
    for bound, total in zip(bounds, totals, strict=True):
        yield f'{name}_bucket{{{labels},le="{bound}"}} {total}'
    yield f"{name}_sum{{{labels}}} {times.sum:.6g}"
    yield f"{name}_count{{{labels}}} {totals[-1]}"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
