"""Many replies at a glance: how many, how much of them was thinking, and how long things took."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

type Told = Mapping[str, object]

TIMES = ("first_byte", "first_thought", "first_text")
"""The times of a streamed reply, by a summary's names."""


@dataclass(frozen=True, slots=True)
class CountedReply:
    """A reply's counts, from its summary. `address`: its server's; `server`: the kind of that,
    `generic` or empty if nobody knows.
    """

    told: Told
    address: str = ""
    server: str = ""


@dataclass(slots=True)
class Group:
    """Counts over some replies."""

    replies: int = 0
    failed: int = 0
    thinking: int = 0
    text: int = 0
    times: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in TIMES})

    def add(self, summary: Told) -> None:
        """Count a reply, from its summary."""
        self.replies += 1
        self.failed += bool(summary.get("failure")) or "finish" not in summary
        self.thinking += _number(summary, "thinking")
        self.text += _number(summary, "text")
        whole = summary.get("first_byte") == summary.get("end")
        for name, values in self.times.items():
            at = summary.get(name)
            if isinstance(at, (int, float)) and not whole:
                values.append(float(at))


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that is not below `share` of them (nearest rank). There must be
    one.
    """
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def _number(summary: Told, name: str) -> int:
    value = summary.get(name)
    return value if isinstance(value, int) else 0
