"""Make a `Block`, a thought or a piece of the answer, of what the oracle reads in a reply."""

import math
import re
from dataclasses import dataclass

from laws.oracle_marks import NAME


@dataclass(frozen=True)
class Block:
    """A thought, or a piece of the answer."""

    kind: str  # `text` or `thinking`
    text: str  # what the block says, without its marks
    thought_type: str | None = None  # the opener's attribute of this name; None for none
    confidence: float | None = None
    """The opener's attribute of this name, 0.5 if missing or unreadable; None for no attributes."""


_PAIR = re.compile(rf"""\s({NAME})\s*=\s*(?:"([^"]*)"|'([^']*)')""")
"""The pattern of an attribute, such as ` a="1"` or ` a='1'`. The groups are its name, its value in
double quotes, and its value in single quotes.
"""


def with_attributes(before: str, text: str, written: str) -> Block:
    """Return the thinking block of an opener with attributes. The block's text is `before` (blanks
    before the opener), the attribute `thought`, a blank line and `text` (the text between opener
    and closer). `written` is the text of the attributes: `b` with ` thought="a" confidence="0.9"`
    gives `a`, a blank line, `b`, and the confidence 0.9.
    """
    values = {name: double or single for name, double, single in _PAIR.findall(written)}
    return thought_block(before + values.get("thought", "") + "\n\n" + text, values)


def thought_block(thought: str, values: dict[str, str] | None) -> Block:
    """Return the block of a thought. `values`: its opener's attributes; None for a plain opener."""
    text = thought.strip("\r\n")
    if values is None:
        return Block("thinking", text)
    return Block(
        "thinking", text, values.get("thought_type"), _confidence(values.get("confidence", ""))
    )


def _confidence(written: str) -> float:
    """Return the confidence as a number; 0.5 if it is empty, unreadable or not finite."""
    try:
        return float(written) if math.isfinite(float(written)) else 0.5
    except ValueError:
        return 0.5
