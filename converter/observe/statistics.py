"""Many replies at a glance: how many, how much of them was thinking, and how long things took, per
model and server.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from converter.observe.printable import bounded

type Told = Mapping[str, object]

TIMES = {
    "first byte": "first_byte",
    "first thought": "first_thought",
    "first text": "first_text",
    "thinking": "thinking_time",
    "whole": "end",
}
"""The columns of times, and what a summary calls them."""
_HEAD = ("model", "server", "replies", "failed", "thoughts", "share", *TIMES)
_LEFT = 2
"""Columns of words, which begin at the left; numbers end at the right."""
_WIDEST = 40
"""Characters of a model's or server's name that are shown."""
LEGEND = (
    "share: of the characters, those of thinking; "
    "times in seconds, p50/p95, all but the last of streamed replies"
)


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply, by what its summary told. `address`: its server's; `server`: what that is, `generic`
    or empty if nobody knows.
    """

    told: Told
    address: str = ""
    server: str = ""


@dataclass(slots=True)
class Group:
    """Counts over some replies."""

    replies: int = 0
    failed: int = 0
    thoughts: int = 0
    thinking: int = 0
    text: int = 0
    times: dict[str, list[float]] = field(
        default_factory=lambda: {name: [] for name in TIMES.values()}
    )

    def add(self, told: Told) -> None:
        """Count a reply, by what its summary told."""
        self.replies += 1
        self.failed += bool(told.get("failure")) or "finish" not in told
        self.thoughts += _number(told, "thoughts")
        self.thinking += _number(told, "thinking")
        self.text += _number(told, "text")
        whole = told.get("first_byte") == told.get("end")
        for name, values in self.times.items():
            at = told.get(name)
            if isinstance(at, (int, float)) and (
                name == "end" or not (whole or (name == "thinking_time" and at == 0))
            ):
                values.append(float(at))

    @property
    def share(self) -> str:
        """Return how much of what was said was thinking."""
        said = self.thinking + self.text
        return f"{self.thinking / said:.0%}" if said else "-"

    def values(self) -> dict[str, object]:
        """Return the numbers as plain values; of times the 50th and 95th percentile."""
        counts = ("replies", "failed", "thoughts", "thinking", "text")
        return {
            **{name: getattr(self, name) for name in counts},
            **{
                name: {"p50": percentile(times, 0.5), "p95": percentile(times, 0.95)}
                for name, times in self.times.items()
                if times
            },
        }

    def cells(self) -> list[str]:
        """Return the numbers as a row of the table."""
        counts = [f"{count:,}" for count in (self.replies, self.failed, self.thoughts)]
        return [*counts, self.share, *(_spread(values) for values in self.times.values())]


def values(replies: Iterable[Reply]) -> list[dict[str, object]]:
    """Return the same as plain values: one for each model and server."""
    groups, _ = _grouped(replies)
    return [
        {"model": model, "server": server, **group.values()}
        for (model, server), group in sorted(groups.items())
    ]


def table(replies: Iterable[Reply]) -> list[str]:
    """Return lines to print: a row per model and server, and one for all of several."""
    everything = Group()
    groups, names = _grouped(replies, everything)
    if not groups:
        return ["no replies that the addon has rewritten"]
    rows = [
        [_short(model), _short(names.get(at, at)), *group.cells()]
        for (model, at), group in sorted(groups.items())
    ]
    if len(groups) > 1:
        rows.append(["all", "", *everything.cells()])
    return [*_aligned([list(_HEAD), *rows]), LEGEND]


type _Groups = dict[tuple[str, str], Group]


def _grouped(
    replies: Iterable[Reply], everything: Group | None = None
) -> tuple[_Groups, dict[str, str]]:
    """Return what is counted by model and server, and what servers are called, by address."""
    groups: _Groups = {}
    names: dict[str, str] = {}
    for reply in replies:
        key = (str(reply.told.get("model") or "-"), reply.address)
        groups.setdefault(key, Group()).add(reply.told)
        if everything:
            everything.add(reply.told)
        if reply.server not in ("", "generic"):
            names[reply.address] = f"{reply.server} {reply.address}"
    return groups, names


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that is not below `share` of them (nearest rank). There must be
    one.
    """
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def _spread(values: Sequence[float]) -> str:
    return f"{percentile(values, 0.5):.2f}/{percentile(values, 0.95):.2f}" if values else "-"


def _number(told: Told, name: str) -> int:
    value = told.get(name)
    return value if isinstance(value, int) else 0


def _short(name: str) -> str:
    """Return a name as it may stand on a terminal; servers choose it."""
    return bounded(name, _WIDEST)


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    return [
        "  ".join(
            _cell(text, width, at) for at, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]


def _cell(text: str, width: int, column: int) -> str:
    return text.ljust(width) if column < _LEFT else text.rjust(width)
