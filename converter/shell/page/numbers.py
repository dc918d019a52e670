"""The numbers at the head of the page: the last hour of traffic, of all models and of each."""

from collections.abc import Iterable, Sequence

from converter.observe.statistics import TIMES, CountedReply, Group, percentile

type Numbers = dict[str, object]

HOUR = 3600.0
BARS = 30
"""Stretches of the hour that a chart shows."""
ALL = ""
"""The name of the group of all models."""


def in_the_last_hour(replies: Iterable[tuple[float, CountedReply]]) -> Numbers:
    """Return the numbers of the hour that ends with the newest exchange, so that an opened file has
    some as well.
    """
    timed = sorted(replies, key=lambda each: each[0])
    if not timed:
        return {"until": 0, "groups": {}}
    until = timed[-1][0]
    recent = [
        (int((at - until + HOUR) * BARS / HOUR), reply) for at, reply in timed if at > until - HOUR
    ]
    models = sorted({_model(reply) for _, reply in recent})
    groups = {ALL: _group(recent)}
    groups |= {
        model: _group([each for each in recent if _model(each[1]) == model]) for model in models
    }
    return {"until": until, "groups": groups}


def _model(reply: CountedReply) -> str:
    return str(reply.told.get("model") or "-")


def _group(replies: Sequence[tuple[int, CountedReply]]) -> dict[str, object]:
    bars: list[Group | None] = [None] * BARS
    whole = Group()
    for bar, reply in replies:
        at = min(bar, BARS - 1)
        group = bars[at] = bars[at] or Group()
        for each in (whole, group):
            each.add(reply.told)
    return _values(whole) | {"bars": [group and _values(group) for group in bars]}


def _values(group: Group) -> dict[str, object]:
    characters = group.thinking + group.text
    spreads = {name: _spread(group.times[name]) for name in TIMES}
    share = group.thinking / characters if characters else None
    return {"requests": group.replies, "failed": group.failed, "share": share, **spreads}


def _spread(values: Sequence[float]) -> list[float] | None:
    return [percentile(values, 0.5), percentile(values, 0.95)] if values else None
