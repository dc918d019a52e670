"""`judge` reads the calls in the text of a candidate, and returns the `Verdict`. The kind of the
form's body decides which module reads them: `json_judge`, `keyed_judge`, `python_judge` or
`gemma_judge`.

The verdict depends only on the arguments of `judge`. Where a text can be read in two ways, the
modules decide by the tool's schema: a key that is a parameter of the tool makes an argument.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from converter.core.calls.schema_values import Schemas
from converter.core.reading.tool_calls.bodies import Gemma, Header, Json, Keyed, Python
from converter.core.reading.tool_calls.call_row import CallRow
from converter.core.reading.tool_calls.gemma_judge import GemmaCalls
from converter.core.reading.tool_calls.json_judge import ANY_MEMBER, HeaderCalls, JsonCalls
from converter.core.reading.tool_calls.keyed_judge import KeyedCalls
from converter.core.reading.tool_calls.python_judge import PythonCalls
from converter.core.reading.tool_calls.span import Broken, NoCall, Span, Unclosed
from converter.core.reading.tool_calls.verdict import End, Failed, JudgedCall, Verdict

type _Calls = JsonCalls | HeaderCalls | KeyedCalls | PythonCalls | GemmaCalls
_ENDS = (End.CLOSER, End.BODY, End.OPENER)
"""The reasons (`End`) by which a text ends, but the reply goes on behind it."""
_LONGEST = 256
"""The most characters at the end of a reply that are compared with the beginnings of closing marks.
All closing marks, with blanks around them, are shorter.
"""
_BRACKETS = re.compile(r"(?:\s*+[}\])])++")
"""The pattern of closing brackets, with blanks before them."""


def judge(row: CallRow, text: str, end: End, tools: Schemas, *, last: bool = False) -> Verdict:
    """Return the verdict on a text: the calls in it, and the reason (or `None`) why the text behind
    them, or all of it, is no call. If calls of the form must be the whole reply (`CallRow.whole`),
    a text is TEXT unless it consists of whole calls alone, or is UNCLOSED.

    Args:
        row: the form of the call.
        text: the text from the body's beginning to a point at which the call may end, without the
            closer.
        end: the reason why the text ends.
        tools: the schemas of the offered tools, by name.
        last: True if no later mark can close a value that is open at the end. The verdict is then
            never UNCLOSED; nor is it if `end` is STOP or CUT.
    """
    # A line end takes the place of the mark that ended the text. Without it, a number at the end
    # of the text would count as incomplete.
    closed = text + "\n" if end in (End.CLOSER, End.OPENER) else text
    span = Span(row, closed, end, tools, last or end not in _ENDS)
    verdict = _read_calls(span)
    has_more = text[verdict.length :].strip() or any(it.text_before for it in verdict.calls)
    is_all = verdict.failed is None and not has_more and not verdict.calls[-1].is_cut
    if row.whole and not (is_all or verdict.failed is Failed.UNCLOSED):
        return Verdict(failed=Failed.TEXT)
    return verdict


def _read_calls(span: Span) -> Verdict:
    """Read the calls of a text, one behind the other, and return the verdict."""
    body = _BODIES[type(span.row.body)](span)
    is_keyed = isinstance(span.row.body, Keyed)
    calls: list[JudgedCall] = []
    # `lead`: the offset at which text that is no call begins, behind the last call; -1 if there is
    # no such text. If another call follows, the text up to it becomes its `JudgedCall.text_before`.
    at, lead = 0, -1
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
            return _unclosed_verdict(span, calls, open_call)
        else:
            before = span.text[lead:begin] if lead >= 0 else ""
            at, lead = call.end, -1
            # Text is dropped behind the call: closing brackets that close nothing, and the
            # incomplete closer with which the reply ends.
            if not is_keyed and (brackets := _BRACKETS.match(span.text, at)):
                at = brackets.end()
            rest = span.text[at:].strip() if span.is_last and len(span.text) - at < _LONGEST else ""
            at = len(span.text) if rest and span.begins_closer(rest) else min(at, span.length)
            calls.append(replace(call, end=at, text_before=before))
    return Verdict(tuple(calls), Failed.TEXT if lead >= 0 or not calls else None)


def _unclosed_verdict(span: Span, calls: Sequence[JudgedCall], error: Unclosed) -> Verdict:
    """Return the verdict on a text that ends within a call:

    - UNCLOSED, without calls, if a later mark may close the call;
    - the calls, with the incomplete one as the last, if `Span.end` is STOP or CUT and the tool's
      name was read;
    - BROKEN, if the reply goes on behind the text and the key of an argument was read;
    - else TEXT.

    `calls`: the calls before the incomplete one. `error`: name and arguments of the incomplete
    call, as far as they were read.
    """
    if not span.is_last:
        return Verdict(failed=Failed.UNCLOSED)
    if span.end in _ENDS and ANY_MEMBER.match(error.arguments):
        return Verdict(tuple(calls), Failed.BROKEN, error.name)
    if span.end in _ENDS or not error.name:
        return Verdict(tuple(calls), Failed.TEXT)
    call = JudgedCall(error.name, error.arguments, is_cut=True, end=span.length)
    return Verdict((*calls, call))


_BODIES: Mapping[type, Callable[[Span], _Calls]] = {
    Json: JsonCalls,
    Header: HeaderCalls,
    Keyed: KeyedCalls,
    Python: PythonCalls,
    Gemma: GemmaCalls,
}
"""Class of a body -> the reader of calls with such a body."""
