"""The judge: it returns the calls in the text of a candidate, or that the text is not a call.

`judge` is a pure function of the row, the text, the reason why the text ended, and the schemas of
the tools. The schemas are used while the text is read: if the text can be read in two ways, the one
whose keys are parameters of the tool counts.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from converter.core.calls.schema_values import Schema
from converter.core.reading.tool_calls.bodies import Gemma, Header, Json, Keyed, Python
from converter.core.reading.tool_calls.call_row import CallRow
from converter.core.reading.tool_calls.gemma_judge import GemmaCalls
from converter.core.reading.tool_calls.json_judge import HeaderCalls, JsonCalls
from converter.core.reading.tool_calls.keyed_judge import KeyedCalls
from converter.core.reading.tool_calls.python_judge import PythonCalls
from converter.core.reading.tool_calls.span import Broken, NoCall, Span, Unclosed
from converter.core.reading.tool_calls.verdict import End, Failed, JudgedCall, Verdict

type _Calls = JsonCalls | HeaderCalls | KeyedCalls | PythonCalls | GemmaCalls
_ENDS = (End.MARK, End.BODY, End.OPENER)
_FIELD = re.compile(r'\{\s*+"')
_LONGEST = 256
"""Characters of the longest half of a closing mark, at least, with the blanks around it."""
_BRACKETS = re.compile(r"(?:\s*+[}\])])++")


def judge(
    row: CallRow, text: str, end: End, tools: Mapping[str, Schema], *, last: bool = False
) -> Verdict:
    """Return the verdict on the text of a call.

    Args:
        row: the form of the call.
        text: the text from the body's beginning to the call's end, without the closer.
        end: the reason why the text ends.
        tools: the schemas of the tools that may be called.
        last: True if no later mark can close a value that is open at the end.
    """
    # The line end stands for the closer. It shows that a number at the end is complete.
    closed = text + "\n" if end in (End.MARK, End.OPENER) else text
    span = Span(row, closed, end, tools, last or end not in _ENDS)
    verdict = _judged(span)
    if verdict.failed is Failed.UNCLOSED:
        return verdict
    is_all = verdict.calls and not verdict.failed and not text[verdict.length :].strip()
    if row.whole and not (is_all and not any(it.lead or it.is_open for it in verdict.calls)):
        return Verdict(failed=Failed.TEXT)
    return verdict


def _judged(span: Span) -> Verdict:
    """Read calls, one behind the other, and return the verdict on the text."""
    body = _BODIES[type(span.row.body)](span)
    calls: list[JudgedCall] = []
    at, lead = 0, -1  # `lead`: the offset of text before a call that is not a call; -1: none
    while (begin := body.find(at)) >= 0:
        try:
            call = body.read(begin)
        except NoCall as none:
            lead, at = begin if lead < 0 else lead, none.end
            if at <= begin:
                break
        except Broken as broken:
            return Verdict(tuple(calls), Failed.BROKEN, broken.name)
        except Unclosed as open_call:
            return _unclosed(span, calls, open_call)
        else:
            before = span.text[lead:begin] if lead >= 0 else ""
            at, lead = _behind(span, call.end), -1
            calls.append(replace(call, end=at, lead=before))
    return Verdict(tuple(calls), Failed.TEXT if lead >= 0 or not calls else None)


def _behind(span: Span, at: int) -> int:
    """Return the offset behind surplus brackets, and behind the beginning of a closer at which the
    reply ended.
    """
    keyed = isinstance(span.row.body, Keyed)
    brackets = None if keyed else _BRACKETS.match(span.text, at)
    at = brackets.end() if brackets else at
    rest = span.text[at:].strip() if span.last and len(span.text) - at < _LONGEST else ""
    if rest and span.begins_closer(rest):
        return len(span.text)
    return min(at, span.length)


def _unclosed(span: Span, calls: Sequence[JudgedCall], error: Unclosed) -> Verdict:
    """Return the verdict on a text whose last call is open at the end."""
    if not span.last:
        return Verdict(failed=Failed.UNCLOSED)
    if span.end in _ENDS and _FIELD.match(error.arguments):
        return Verdict(tuple(calls), Failed.BROKEN, error.name)
    if span.end in _ENDS or not error.name:
        return Verdict(tuple(calls), Failed.TEXT)
    call = JudgedCall(error.name, error.arguments, is_open=True, end=span.length)
    return Verdict((*calls, call))


_BODIES: Mapping[type, Callable[[Span], _Calls]] = {
    Json: JsonCalls,
    Header: HeaderCalls,
    Keyed: KeyedCalls,
    Python: PythonCalls,
    Gemma: GemmaCalls,
}
