"""The oracle of tool calls in text: `calls` finds each `Call`, `is_same_call` compares one with a
client's. It is slow and obvious, and shares no code with the addon's parser, only tables.
`call_oracle_forms` has the patterns of a call's beginning, `call_oracle_readers` reads the rest.
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
from laws.call_oracle_readers import NO_ARGUMENTS, Members, NamedArguments

_CODE = re.compile(r"(?ms)^[ \t>]*(?P<fence>`{3,}|~{3,}).*?(?:^[ \t>]*(?P=fence)|\Z)|`[^`\n]+`")
"""The pattern of Markdown code, a fenced block or a span in a line: `` `a` ``, but not `` `a ``."""
_DROPPED_BEHIND = re.compile(rf"(?:\s*(?:{'|'.join(map(re.escape, (*CLOSERS, *THOUGHTS)))}))*\s*")
"""The pattern of what is dropped behind a call, if it is there: closers of calls and thoughts, and
blanks. It fits `</tool_call> </think> `, but not `<think>`.
"""
SPECIAL = frozenset(form.name for form in FORMS if form.counts is Counts.EVERYWHERE)
"""The names of the forms (syntaxes of calls) whose marks are special tokens of the model."""


@dataclass(frozen=True)
class Call:
    """A call that the oracle read in a text, and the span of the call in the text. If several calls
    stand between one pair of marks, as in a list, the first has the span of all of them. Each other
    one has an empty span at the end of the first one's span.
    """

    begin: int
    """The offset of the first line end in the blanks before the call; if they have none, the offset
    of the call. It is never before the end of the previous call's span.
    """
    end: int  # the offset behind the call, and behind closers (also of thoughts) and blanks there
    name: str  # the name of the tool that is called
    arguments: Mapping[str, object]
    """Name -> value: "3" for `<parameter=days>3</parameter>`, 3 for `{"days": 3}`."""


def calls(text: str, tools: Mapping[str, Schema], whole: bool = False) -> list[Call]:
    """Return the calls of `tools` (name -> schema of its arguments) in the text. In Markdown code,
    calls count only if their marks are special tokens. `whole`: True if a text that is nothing but
    calls may have forms that count only there, such as a JSON object without marks.
    """
    alone = _whole_calls(text, tools) if whole else []
    if alone and all(call.name in tools for call in alone):
        return alone
    accepted: list[Call] = []
    for begin, end, named in _spans_of_calls(text):
        blanks = re.search(r"[\r\n][ \t\r\n]*\Z", text[:begin])
        begun = max(blanks.start() if blanks else begin, accepted[-1].end if accepted else 0)
        behind = _DROPPED_BEHIND.match(text, end)
        ended = behind.end() if behind else end
        for name, arguments in named:
            meant = _accepted(arguments, tools.get(name, {}))
            if name in tools and meant is not None:
                accepted.append(Call(begun, ended, name, meant))
                begun = ended
    return accepted


def _accepted(arguments: Mapping[str, object], schema: Schema) -> Mapping[str, object] | None:
    """Return a call's arguments; None if the tool's schema refuses them. Of `Members` (all that a
    call's object has) only the arguments are returned. `NO_ARGUMENTS` (a call of only a name) is
    refused if the schema requires an argument. Other arguments are returned as they are.
    """
    if isinstance(arguments, Members):
        properties = schema.get("properties")
        return arguments.arguments(list(properties) if isinstance(properties, Mapping) else [])
    return None if arguments is NO_ARGUMENTS and schema.get("required") else arguments


def _whole_calls(text: str, tools: Mapping[str, Schema]) -> list[Call]:
    """Return the calls of a text that is nothing but calls of one row in `WHOLE`; else none."""
    for row in WHOLE:
        if (match := row.find(text, 0)) and (read := row.calls(text, match)):
            end, named = read
            if not text[end:].strip():
                meant = [
                    _accepted(arguments, tools.get(name, {})) or {} for name, arguments in named
                ]
                return [
                    Call(0 if at == 0 else len(text), len(text), each[0], arguments)
                    for at, (each, arguments) in enumerate(zip(named, meant, strict=True))
                ]
    return []


def _spans_of_calls(text: str) -> Iterator[tuple[int, int, list[NamedArguments]]]:
    """Yield each span of text that a row of `ROWS` can read: begin, end, and name and arguments of
    each call in it. A span has one call or, as in a list of JSON objects, several.
    """
    offset = 0
    while firsts := [(match, row) for row in ROWS if (match := row.find(text, offset))]:
        code = _CODE.search(text, offset)
        if code:  # in code, only the model's special tokens begin a call
            firsts = [it for it in firsts if it[0].start() < code.start() or it[1].form in SPECIAL]
        begin = min((match.start() for match, _ in firsts), default=len(text))
        if code and begin >= code.end():
            offset = code.end()
            continue
        reads = (row.calls(text, match) for match, row in firsts if match.start() == begin)
        if read := next(filter(None, reads), None):
            yield begin, *read
        offset = read[0] if read else begin + 1


def is_same_call(call: Call, name: str, arguments: object) -> bool:
    """Return True if `call` has this name and these arguments. A text "3" in `call` equals a 3."""
    if call.name != name or not isinstance(arguments, Mapping):
        return False
    return _same_value(call.arguments, arguments)


def _same_value(written: object, value: object) -> bool:
    """Return True if two values are equal. A text "3" in `written` also equals a 3 in `value`."""
    if written == value:
        return True
    if isinstance(written, Mapping) and isinstance(value, Mapping):
        return written.keys() == value.keys() and all(
            _same_value(written[key], value[key]) for key in written
        )
    if isinstance(written, list) and isinstance(value, list):
        return len(written) == len(value) and all(map(_same_value, written, value))
    return isinstance(written, str) and written == json.dumps(value, ensure_ascii=False)


def without_calls(text: str, removed: list[Call]) -> str:
    """Return the text without the spans of the calls `removed`, which are in the text's order."""
    offsets = [0, *(offset for call in removed for offset in (call.begin, call.end)), len(text)]
    return "".join(text[begin:end] for begin, end in zip(offsets[::2], offsets[1::2], strict=True))
