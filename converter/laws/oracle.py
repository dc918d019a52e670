"""The reading rules once more, as one slow and obvious regular expression over the whole text.

It shares no line with the parser. What the expression finds at a place is a piece of code, a
thought, a mark that is no text, or one character of text; after a mark the rest is read as if it
were a text of its own, which is what "code begins anew" means.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from converter.parsing.families import SUFFIX
from converter.parsing.tag_matcher import ThinkTags


@dataclass(frozen=True)
class Block:
    """One part of a message. The last two are only known of attribute forms."""

    kind: str
    text: str
    thought_type: str | None = None
    confidence: float | None = None


# what may stand before a fence: blanks, and the marks of quotations and lists
_MARGIN = r"[ \t\r>*+\-0-9.)]*+"
_NAME = r"[A-Za-z_][\w.:-]*"
_QUOTED = r"""(?:"[^"]*"|'[^']*')"""
_ATTRIBUTES = rf"(?=\s)(?:\s+{_NAME}\s*=\s*{_QUOTED})*\s*"
_PAIR = re.compile(rf"""\s({_NAME})\s*=\s*(?:"([^"]*)"|'([^']*)')""")


_ANY_SUFFIX = r"[0-9A-Za-z_-]{1,32}"

_TEMPLATE = rf"""
    ^ {_MARGIN} (?P<fence> (?P<mark>[`~]) (?P=mark){{2,}}+ )     # a fence; one of backticks has none behind it in its line,
      (?: (?<=~) | (?![^\n]*`) ) [^\n]*
      (?: \n (?! {_MARGIN} (?P=fence)(?P=mark)*+ [^\S\n]* (?:\n|\Z) ) [^\n]* )*+    # lines that do not close it,
      (?: \n {_MARGIN} (?P=fence)(?P=mark)*+ [^\S\n]* (?=\n|\Z) )?             # and the one that does
  | \\ [\\`]                                                    # an escaped backtick opens nothing
  | (?P<ticks> `++ )                                            # an inline span, which runs ...
      (?: (?! (?P=ticks)(?!`)  |  \n [^\S\n]* \n  |  ^ {_MARGIN} (?:`{{3}}|~{{3}}) ) (?: `++ | . ) )*+
      (?: (?! ^ `{{3}} ) (?P=ticks)(?!`) )?                      # ... to its like, or the paragraph's end, or a fence
  | MARKS
  | .
"""


@dataclass(frozen=True)
class Here:
    """What counts at a place. `head`: only blanks before; `closer`: what ended the thought before
    those; `bare_close_means_thinking`: one may tell.
    """

    head: bool
    closer: str
    lone: bool


@cache
def _pattern(families: tuple[ThinkTags, ...], attributes: bool, here: Here) -> re.Pattern[str]:
    rows = [
        (number, row) for number, row in enumerate(families) if here.head or not row.only_at_start
    ]
    thoughts = [_thought(number, row, attributes and row.attributes) for number, row in rows]
    lone = [
        mark
        for row in families
        if row.bare_close_means_thinking and here.lone
        for mark in row.closers
        if mark not in row.ignored
    ]
    frames = [
        row.answer_tags[0]
        for row in families
        if row.answer_tags and here.head and here.closer in row.closers
    ]
    silent = [mark for row in families for mark in row.ignored]
    groups = {
        "thought": thoughts,
        "lone": _any(lone),
        "frame": _any(frames[-1:]),
        "silent": _any(silent),
    }
    source = "|".join(f"(?P<{name}>{'|'.join(found) or '(?!)'})" for name, found in groups.items())
    return re.compile(_TEMPLATE.replace("MARKS", source), re.VERBOSE | re.DOTALL | re.MULTILINE)


def _any(marks: list[str]) -> list[str]:
    return [_literal(mark, _ANY_SUFFIX) for mark in marks]


def _literal(mark: str, suffix: str) -> str:
    return re.escape(mark).replace(SUFFIX, suffix)


def _thought(number: int, family: ThinkTags, attributes: bool) -> str:
    """An opener, all up to the first of its own closers, and that closer, if there is one."""
    closers = "|".join(_literal(mark, f"(?P=suffix{number})") for mark in family.closers)
    rest = rf"(?P<said{number}>.*?)(?:(?P<closer{number}>{closers})|\Z)"
    openers = "|".join(
        _literal(mark, f"(?P<suffix{number}>{_ANY_SUFFIX})") for mark in family.openers
    )
    plain = rf"(?:{openers}){rest}"
    if not attributes:
        return plain
    name = re.escape(family.open[:-1])
    return rf"{name}(?P<whole>{_ATTRIBUTES})/>|{name}(?P<attributes>{_ATTRIBUTES}|)>{rest}"


def read(
    text: str, families: Sequence[ThinkTags], start: str = "text", attributes: bool = True
) -> list[Block]:
    """The message that `text` is. `start`: "text", "thinking" or "undecided", as a whole reply is."""
    blocks: list[Block] = []
    for block in _raw_blocks(text, tuple(families), start, attributes):
        if block.kind == "text" and blocks and blocks[-1].kind == "text":
            blocks[-1] = Block("text", blocks[-1].text + block.text)
        elif block.text.strip() or (block.kind == "text" and block.text):
            blocks.append(block)
    return blocks


def _raw_blocks(
    text: str, families: tuple[ThinkTags, ...], start: str, attributes: bool
) -> Iterator[Block]:
    closer = before = frame_end = ""  # `before`: what marks that are no text stand between
    lone = start == "undecided"
    if start == "thinking":
        first, text, closer = _beginning(text, families, attributes)
        yield first
    place = 0
    while found := _pattern(
        families, attributes, Here(not text[:place].strip(), closer, lone)
    ).match(text, place):
        place, parts = found.end(), found.groupdict()
        kind = next((name for name in ("thought", "lone", "frame", "silent") if parts[name]), "")
        if not kind:
            continue
        before += text[: found.start()]
        if kind in ("thought", "lone"):
            yield from (
                [Block("text", before), _thought_block(parts)]
                if kind == "thought"
                else [_block(before, None)]
            )
            before, lone = "", False
        if kind == "frame":
            frame_end = _frame_end(families, closer)
        closer = _closer(parts)
        text, place = text[found.end() :], 0
    blanks = text[len(text.rstrip()) :]
    yield Block(
        "text", before + (text.rstrip().removesuffix(frame_end) + blanks if frame_end else text)
    )


def _frame_end(families: tuple[ThinkTags, ...], closer: str) -> str:
    return [row.answer_tags[1] for row in families if row.answer_tags and closer in row.closers][-1]


def _closer(parts: dict[str, str | None]) -> str:
    return next(
        (
            value
            for name, value in parts.items()
            if value and (name == "lone" or name.startswith("closer"))
        ),
        "",
    )


def _beginning(
    text: str, families: tuple[ThinkTags, ...], attributes: bool
) -> tuple[Block, str, str]:
    """A reply that starts inside a thought: an opener at its very start is only said again. Also
    what follows, and the closer.
    """
    closers = [mark for row in families for mark in row.closers]
    silent = (
        "|".join(_any([mark for row in families for mark in row.ignored if mark not in closers]))
        or "(?!)"
    )
    while found := re.match(rf"(\s*?)(?:{silent})", text):
        text = found[1] + text[found.end() :]
    pattern = _pattern(families, attributes, Here(True, "", False))
    for place in range(len(text) - len(text.lstrip()) + 1):
        found = pattern.match(text[place:])
        parts = found.groupdict() if found else {}
        if parts.get("thought") and not parts.get("whole"):
            return (
                _thought_block(parts, text[:place]),
                text[place + len(parts["thought"] or "") :],
                _closer(parts),
            )
    ended = re.search("|".join(_any(closers)) or "(?!)", text)
    if not ended:
        return _block(text, None), "", ""
    return _block(text[: ended.start()], None), text[ended.end() :], ended[0]


def _thought_block(parts: dict[str, str | None], before: str = "") -> Block:
    said = next(
        (value for name, value in parts.items() if name.startswith("said") and value is not None),
        "",
    )
    written = parts.get("whole") or parts.get("attributes")
    if not written:
        return _block(before + said, None)
    values = {name: double or single for name, double, single in _PAIR.findall(written)}
    return _block(before + values.get("thought", "") + "\n\n" + said, values)


def _block(thought: str, values: dict[str, str] | None) -> Block:
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
