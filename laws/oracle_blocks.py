"""The oracle's blocks: parts of a message."""

import math
import re
from dataclasses import dataclass

from laws.oracle_marks import NAME


@dataclass(frozen=True)
class Block:
    """One part of a message."""

    kind: str
    text: str
    thought_type: str | None = None  # of attribute forms alone
    confidence: float | None = None  # of attribute forms alone


_PAIR = re.compile(rf"""\s({NAME})\s*=\s*(?:"([^"]*)"|'([^']*)')""")


def with_attributes(before: str, text: str, written: str) -> Block:
    """Return the block of an attribute form: its attribute `thought` between the other text."""
    values = {name: double or single for name, double, single in _PAIR.findall(written)}
    return thought_block(before + values.get("thought", "") + "\n\n" + text, values)


def thought_block(thought: str, values: dict[str, str] | None) -> Block:
    """Return the block of a thought. `values`: its attributes, if the opener has any."""
    text = thought.strip("\r\n")
    if values is None:
        return Block("thinking", text)
    return Block(
        "thinking", text, values.get("thought_type"), _confidence(values.get("confidence", ""))
    )


def _confidence(written: str) -> float:
    try:
        return float(written) if math.isfinite(float(written)) else 0.5
    except ValueError:
        return 0.5
