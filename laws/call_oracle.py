"""Tool calls in text once more, as slow and obvious regular expressions over the whole text.

It shares no line with the parser; the ways of writing are rows in `call_oracle_forms`.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from converter.core.calls.schema_values import Schema
from converter.core.reading.families import CLOSERS as THOUGHTS
from converter.core.reading.rows import Counts
from converter.core.reading.tool_calls.forms import CLOSERS, FORMS
from laws.call_oracle_forms import ROWS, WHOLE
from laws.call_oracle_readers import NOTHING, Members, Row, Said

_CODE = re.compile(r"(?ms)^[ \t>]*(?P<fence>`{3,}|~{3,}).*?(?:^[ \t>]*(?P=fence)|\Z)|`[^`\n]+`")
_BEHIND = re.compile(rf"(?:\s*(?:{'|'.join(map(re.escape, (*CLOSERS, *THOUGHTS)))}))*\s*")
"""Closers that are said twice or alone behind a call, and those of thoughts."""


SPECIAL = frozenset(form.name for form in FORMS if form.counts is Counts.EVERYWHERE)
"""Forms whose marks are special tokens."""


@dataclass(frozen=True)
class Call:
    """One call, its place with the blanks around it. `arguments`: strings, in forms of tags."""

    begin: int
    end: int
    name: str
    arguments: Mapping[str, object]


def calls(text: str, tools: Mapping[str, Schema], whole: bool = False) -> list[Call]:
    """Return the calls of these tools that stand in the text, outside of code. `whole`: it may be
    all of a reply, and is one call then without any mark.
    """
    alone = _alone(text, tools) if whole else []
    if alone and all(call.name in tools for call in alone):
        return alone
    found: list[Call] = []
    for begin, end, said in _places(text):
        blanks = re.search(r"[\r\n][ \t\r\n]*\Z", text[:begin])
        begun = max(blanks.start() if blanks else begin, found[-1].end if found else 0)
        behind = _BEHIND.match(text, end)
        ended = behind.end() if behind else end
        for name, arguments in said:
            meant = _meant(arguments, tools.get(name, {}))
            if name in tools and meant is not None:
                found.append(Call(begun, ended, name, meant))
                begun = ended
    return found


def _meant(said: Mapping[str, object], schema: Schema) -> Mapping[str, object] | None:
    """Return the arguments by the tool's schema; None where they are none."""
    if isinstance(said, Members):
        properties = schema.get("properties")
        return said.arguments(list(properties) if isinstance(properties, Mapping) else [])
    return None if said is NOTHING and schema.get("required") else said


def _alone(text: str, tools: Mapping[str, Schema]) -> list[Call]:
    """Return the calls that are the whole text."""
    for row in WHOLE:
        if (found := row.find(text, 0)) and (read := row.calls(text, found)):
            end, said = read
            if not text[end:].strip():
                meant = [_meant(arguments, tools.get(name, {})) or {} for name, arguments in said]
                return [
                    Call(0 if at == 0 else len(text), len(text), each[0], arguments)
                    for at, (each, arguments) in enumerate(zip(said, meant, strict=True))
                ]
    return []


def _places(text: str) -> Iterator[tuple[int, int, list[Said]]]:
    """Return where calls stand, and what they say."""
    offset = 0
    while firsts := [(*found.span(), row) for row in ROWS if (found := row.find(text, offset))]:
        code = _CODE.search(text, offset)
        if code:  # which hides all but special tokens
            firsts = [each for each in firsts if each[0] < code.start() or each[2].form in SPECIAL]
        begin = min((begun for begun, _, _ in firsts), default=len(text))
        if code and begin >= code.end():
            offset = code.end()
            continue
        read = _first(text, begin, [row for begun, _, row in firsts if begun == begin])
        if read:
            yield begin, *read
        offset = read[0] if read else begin + 1


def _first(text: str, begin: int, rows: list[Row]) -> tuple[int, list[Said]] | None:
    """Return what the first row makes of the call that begins there."""
    for row in rows:
        if (found := row.find(text, begin)) and (read := row.calls(text, found)):
            return read
    return None


def same(call: Call, name: str, arguments: object) -> bool:
    """Tell whether it is the call that a client got; typed values are compared by their words."""
    if call.name != name or not isinstance(arguments, Mapping):
        return False
    return _alike(call.arguments, arguments)


def _alike(said: object, value: object) -> bool:
    """Compare values; what a form of tags says has no type, so that its words are compared."""
    if said == value:
        return True
    if isinstance(said, Mapping) and isinstance(value, Mapping):
        return said.keys() == value.keys() and all(_alike(said[key], value[key]) for key in said)
    if isinstance(said, list) and isinstance(value, list):
        return len(said) == len(value) and all(map(_alike, said, value))
    return isinstance(said, str) and said == json.dumps(value, ensure_ascii=False)


def without(text: str, found: list[Call]) -> str:
    """Return the text without these calls."""
    offsets = [0, *(offset for call in found for offset in (call.begin, call.end)), len(text)]
    return "".join(text[begin:end] for begin, end in zip(offsets[::2], offsets[1::2], strict=True))
