"""The reading rules once more, as one slow and obvious regular expression over the whole text.

It shares no line with the parser. What the expression finds at a place is a piece of code, a thought, or one character of text;
after a thought the rest is read as if it were a text of its own, which is what "code begins anew after each thought" means.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from converter.tags import ThinkTags


@dataclass(frozen=True)
class Block:
    """One part of a message. The last two are only known of attribute forms."""

    kind: str
    text: str
    thought_type: str | None = None
    confidence: float | None = None


_MARGIN = r"[ \t\r>*+\-0-9.)]*+"  # what may stand before a fence: blanks, and the marks of quotations and lists
_NAME = r"[A-Za-z_][\w.:-]*"
_QUOTED = r"""(?:"[^"]*"|'[^']*')"""
_ATTRIBUTES = rf"(?=\s)(?:\s+{_NAME}\s*=\s*{_QUOTED})*\s*"
_PAIR = re.compile(rf"""\s({_NAME})\s*=\s*(?:"([^"]*)"|'([^']*)')""")

_TEMPLATE = rf"""
    ^ {_MARGIN} (?P<fence> (?P<mark>[`~]) (?P=mark){{2,}}+ )     # a fence; one of backticks has none behind it in its line,
      (?: (?<=~) | (?![^\n]*`) ) [^\n]*
      (?: \n (?! {_MARGIN} (?P=fence)(?P=mark)*+ [^\S\n]* (?:\n|\Z) ) [^\n]* )*+    # lines that do not close it,
      (?: \n {_MARGIN} (?P=fence)(?P=mark)*+ [^\S\n]* (?=\n|\Z) )?             # and the one that does
  | \\ [\\`]                                                    # an escaped backtick opens nothing
  | (?P<ticks> `++ )                                            # an inline span, which runs ...
      (?: (?! (?P=ticks)(?!`)  |  \n [^\S\n]* \n  |  ^ {_MARGIN} (?:`{{3}}|~{{3}}) ) (?: `++ | . ) )*+
      (?: (?! ^ `{{3}} ) (?P=ticks)(?!`) )?                      # ... to its like, or the paragraph's end, or a fence
  | THOUGHT
  | .
"""


@cache
def _pattern(families: tuple[ThinkTags, ...], attributes: bool, closers: bool) -> re.Pattern[str]:
    """`closers`: a closer without an opener ends the text as well, and the text was a thought."""
    thoughts = [_thought(number, family, attributes and family.attributes) for number, family in enumerate(families)]
    if closers:
        thoughts.append(f"(?P<lone>{'|'.join(re.escape(family.close) for family in families)})")
    source = _TEMPLATE.replace("THOUGHT", f"(?P<thought>{'|'.join(thoughts) or '(?!)'})")
    return re.compile(source, re.VERBOSE | re.DOTALL | re.MULTILINE)


def _thought(number: int, family: ThinkTags, attributes: bool) -> str:
    """An opener, all up to the first of its own closers, and that closer, if there is one."""
    rest = rf"(?P<said{number}>.*?)(?:{re.escape(family.close)}|\Z)"
    plain = rf"{re.escape(family.open)}{rest}"
    if not attributes:
        return plain
    name = re.escape(family.open[:-1])
    return rf"{name}(?P<whole>{_ATTRIBUTES})/>|{name}(?P<attributes>{_ATTRIBUTES}|)>{rest}"


def read(text: str, families: Sequence[ThinkTags], start: str = "text", attributes: bool = True) -> list[Block]:
    """The message that `text` is. `start`: "text", "thinking" or "undecided", as a whole reply is."""
    blocks: list[Block] = []
    for block in _raw_blocks(text, tuple(families), start, attributes):
        if block.kind == "text" and blocks and blocks[-1].kind == "text":
            blocks[-1] = Block("text", blocks[-1].text + block.text)
        elif block.text.strip() or (block.kind == "text" and block.text):
            blocks.append(block)
    return blocks


def _raw_blocks(text: str, families: tuple[ThinkTags, ...], start: str, attributes: bool) -> Iterator[Block]:
    if start == "thinking":
        first, text = _beginning(text, families, attributes)
        yield first
    pattern = _pattern(families, attributes, closers=start == "undecided")
    place = 0
    while found := pattern.match(text, place):
        place = found.end()
        if not found["thought"]:
            continue
        before, parts = text[: found.start()], found.groupdict()
        yield from [_block(before, None)] if parts.get("lone") else [Block("text", before), _thought_block(parts)]
        text, place = text[found.end() :], 0
        pattern = _pattern(families, attributes, closers=False)
    yield Block("text", text)


def _beginning(text: str, families: tuple[ThinkTags, ...], attributes: bool) -> tuple[Block, str]:
    """A reply that starts inside a thought: an opener at its very start is only said again."""
    blanks = text[: len(text) - len(text.lstrip())]
    repeated = _pattern(families, attributes, closers=False).match(text[len(blanks) :])
    if repeated and repeated["thought"] and not repeated.groupdict().get("whole"):
        return _thought_block(repeated.groupdict(), blanks), text[len(blanks) + repeated.end() :]
    thought, closer, rest = _cut_at_first(text, [family.close for family in families])
    return _block(thought, None), rest if closer else ""


def _cut_at_first(text: str, marks: list[str]) -> tuple[str, str, str]:
    places = [(text.index(mark), mark) for mark in marks if mark in text]
    place, mark = min(places, default=(len(text), ""))
    return text[:place], mark, text[place + len(mark) :]


def _thought_block(parts: dict[str, str | None], before: str = "") -> Block:
    said = next((value for name, value in parts.items() if name.startswith("said") and value is not None), "")
    written = parts.get("whole") or parts.get("attributes")
    if not written:
        return _block(before + said, None)
    values = {name: double or single for name, double, single in _PAIR.findall(written)}
    return _block(before + values.get("thought", "") + "\n\n" + said, values)


def _block(thought: str, values: dict[str, str] | None) -> Block:
    text = thought.strip("\r\n")
    if values is None:
        return Block("thinking", text)
    return Block("thinking", text, values.get("thought_type"), _confidence(values.get("confidence", "")))


def _confidence(written: str) -> float:
    try:
        return float(written) if math.isfinite(float(written)) else 0.5
    except ValueError:
        return 0.5
