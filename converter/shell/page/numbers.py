"""The numbers at the head of the page: the last hour of traffic, of all models and of each."""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from converter.shell.page.row import number

type Numbers = dict[str, object]
type Told = Mapping[str, object]

HOUR = 3600.0
BARS = 30
"""Stretches of the hour that a chart shows."""
ALL = ""
"""The name of the group of all models."""
TIMES = ("first_byte", "first_thought", "first_text")
"""The times of a streamed reply, by a summary's names."""


def in_the_last_hour(replies: Sequence[tuple[float, Told]]) -> Numbers:
    """Return the numbers of the hour that ends with the newest exchange, so that an opened file has
    some as well.
    """
    begin = max((at for at, _ in replies), default=0.0) - HOUR
    groups = dict[str, list[list[Told]]]()
    for at, reply in replies:
        if at > begin:
            bar = min(int((at - begin) * BARS / HOUR), BARS - 1)
            for name in (ALL, str(reply.get("model") or "-")):
                groups.setdefault(name, [[] for _ in range(BARS)])[bar].append(reply)
    return {"groups": {name: _group(groups[name]) for name in sorted(groups)}}


def _group(bars: Iterable[Sequence[Told]]) -> Numbers:
    return counted([*chain(*bars)]) | {"bars": [counted(each) if each else None for each in bars]}


def counted(replies: Sequence[Told]) -> Numbers:
    """Return the counts over some replies, by their summaries."""
    failed = sum(bool(each.get("failure")) or "finish" not in each for each in replies)
    thinking, text = (sum(number(each, name) for each in replies) for name in ("thinking", "text"))
    share = thinking / (thinking + text) if thinking + text else None
    streamed = [each for each in replies if each.get("first_byte") != each.get("end")]
    spreads = {name: _spread([each.get(name) for each in streamed]) for name in TIMES}
    return {"requests": len(replies), "failed": failed, "share": share, **spreads}


def _spread(told: Iterable[object]) -> list[float] | None:
    values = [float(value) for value in told if isinstance(value, int | float)]
    return [percentile(values, 0.5), percentile(values, 0.95)] if values else None


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that is not below `share` of them (nearest rank). There must be
    one.
    """
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]
