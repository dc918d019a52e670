"""`Block` is a thought or a piece of the answer that the oracle of thinking reads in a reply;
`with_attributes` and `thought_block` make the block of a thought.
"""

import math
import re
from dataclasses import dataclass

from laws.oracle_marks import ATTRIBUTE_NAME


@dataclass(frozen=True)
class Block:
    """A thought, or a piece of the answer."""

    kind: str  # `text` or `thinking`
    text: str  # the block's text, without the marks around it
    thought_type: str | None = None  # the opener's attribute of this name; None for none
    confidence: float | None = None
    """The number in the opener's attribute of this name; 0.5 if an opener with attributes has none
    there; None for an opener without attributes, and for answers.
    """


_PAIR = re.compile(rf"""\s({ATTRIBUTE_NAME})\s*=\s*(?:"([^"]*)"|'([^']*)')""")
"""The pattern of ` a="1"` or ` a='1'`, not ` a=1`. Groups: name, value in `"`, value in `'`."""


def with_attributes(before: str, text: str, written: str) -> Block:
    """Return the block of a thought whose opener has attributes. `before`: blanks before the
    opener; `text`: the text between opener and closer; `written`: the text of the attributes. The
    block's text is `before`, the attribute `thought`, a blank line and `text`, so `a`, a blank line
    and `b` for `<thinking thought="a">b</thinking>`. Line ends at its two ends are removed.
    """
    values = {name: double or single for name, double, single in _PAIR.findall(written)}
    return thought_block(before + values.get("thought", "") + "\n\n" + text, values)


def thought_block(thought: str, values: dict[str, str] | None) -> Block:
    """Return the block of a thought, without line ends at the two ends of its text. `values`: name
    -> value of the opener's attributes; None for an opener without attributes.
    """
    text = thought.strip("\r\n")
    if values is None:
        return Block("thinking", text)
    return Block(
        "thinking", text, values.get("thought_type"), _confidence(values.get("confidence", ""))
    )


def _confidence(written: str) -> float:
    """Return the number in an attribute's text; 0.5 if there is none, or if it is not finite."""
    try:
        return float(written) if math.isfinite(float(written)) else 0.5
    except ValueError:
        return 0.5
