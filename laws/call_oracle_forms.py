"""Make `ROWS` and `WHOLE`, the rows by which `call_oracle` finds tool calls in text. A row has the
pattern of a call's beginning and a function of `call_oracle_readers` that reads the rest. The marks
are those of the addon's table of forms (syntaxes of calls). The patterns of headers (a tool's name
before JSON) are not: the pattern here fits a name among any tokens.
"""

import re
from collections.abc import Iterator, Sequence
from functools import singledispatch

from converter.core.reading.tool_calls.bodies import Gemma, Header, Json, Keyed, Python
from converter.core.reading.tool_calls.call_row import CallRow
from converter.core.reading.tool_calls.forms import FORMS
from laws.call_oracle_readers import (
    JSON_NEXT,
    Row,
    Syntax,
    gemma_calls_reader,
    gemma_reader,
    headers_reader,
    objects_reader,
    python_reader,
    read_elements,
    read_header,
    tags_reader,
)

_NAME = r"(?P<name>[\w.-]+)"  # the pattern of a tool's name, which fits `a.b-1`, but not `a b`
_ATTRIBUTE = r"(?:(?:name|key|tool)=)?[\"']?(?P<{}>[^\"'>\s<]+)[\"']?[^<>]*?"
"""The pattern of the name of a tool or key in a tag, and of attributes behind it. It fits `f` and
`name="f" id="1"`, but not `<f`. `{}` stands for the name of the group that gets `f`.
"""
_TOKEN = r"(?:<[^<>]+>|\[[A-Z_]+\]|```)"  # a token or a fence: `<|call|>`, `[ARGS]`; not `[args]`
_BETWEEN = rf"(?:\s|{_TOKEN}\w*|json|code)"
"""The pattern of a piece between a tool's name and its JSON: `<|channel|>a`, `json`; not `yaml`."""


@singledispatch
def _syntaxes(body: object, form: CallRow) -> Iterator[Syntax]:
    """Yield each syntax of a body (the text between the marks of a call of `form`): the pattern of
    the body's beginning, and the function that reads the rest.
    """
    raise NotImplementedError(body, form)


@_syntaxes.register
def _json_syntaxes(body: Json, form: CallRow) -> Iterator[Syntax]:
    yield JSON_NEXT, objects_reader(_closer(form), body.name_is_key)


@_syntaxes.register
def _header_syntaxes(body: Header, form: CallRow) -> Iterator[Syntax]:
    within = rf"(?!{_alternation(form.ends)})" if form.ends else ""
    name = r"(?:functions\.)?(?P<name>[\w.:-]++)"
    heads = _alternation(body.starts)
    pattern = rf"{heads}(?:{within}(?:\s|{_TOKEN}))*+{name}(?:{within}{_BETWEEN})*+"
    if form.whole:
        yield f"(?={pattern})", headers_reader(rf"\s*{pattern}(?=\{{)")
        return
    yield rf"{pattern}(?={_alternation(('{', *form.ends))})", read_header


@_syntaxes.register
def _keyed_syntaxes(body: Keyed, form: CallRow) -> Iterator[Syntax]:
    if body.nested_values:
        yield rf"{_alternation(body.starts)}{_ATTRIBUTE.format('name')}>", read_elements
    else:
        yield _bare_call(body, form) if body.bare else _tagged_call(body)


def _tagged_call(body: Keyed) -> Syntax:
    """Return the syntax of calls with names in tags: `<function=f><parameter=city>Oslo`."""
    tag_end, close = re.escape(body.key_closer), _alternation(body.value_closers)
    value = r"(?:<!\[CDATA\[)?(?P<value>.*?)(?:\]\]>)?" if body.may_have_cdata else "(?P<value>.*?)"
    keys, closer = _alternation(body.key_openers), _alternation(body.body_closers)
    parameter = f"{keys}{_ATTRIBUTE.format('key')}{tag_end}{value}{close}"
    ended = f"(?:{closer})?" if body.may_lack_closer else closer
    behind = rf"(?=\s*(?:{keys}|{closer}|\{{|\Z))" if body.may_lack_closer else ""
    begin = f"{_alternation(body.starts)}{_ATTRIBUTE.format('name')}{tag_end}{behind}"
    return begin, tags_reader(parameter, ended, body.has_line_ends)


def _bare_call(body: Keyed, form: CallRow) -> Syntax:
    """Return the syntax of calls that begin with the bare name: `f<arg_key>city</arg_key>`."""
    marks = (body.key_openers[0], body.key_closer, body.value_opener, body.value_closers[0])
    key, key_end, value, value_end = map(re.escape, marks)
    opener, closer = map(re.escape, body.type_marks)
    kind = rf"(?:\s*{opener}.*?{closer})?" if opener else ""
    opened, close = _alternation(form.opens), _alternation(form.closes)
    # A value that lacks its closing mark ends before the call's closer. This is a closer behind
    # which no key or closing mark of a value follows, except those of another call
    last = rf"(?:(?!{key}|{value_end}).)*\Z"
    another = rf"\s*{opened}(?:(?!{value_end}).)*?{key}"
    ended = rf"(?:{value_end}|(?=\n?{close}(?:{last}|{another})))"
    parameter = rf"{key}(?P<key>.*?){key_end}{kind}\s*{value}(?P<value>.*?){ended}"
    between = rf"(?:{re.escape(body.name_separator)}\s*)?" if body.name_separator else ""
    begin = rf"\s*{_NAME}\s*{between}(?={key}|{close}|\{{)"
    return begin, tags_reader(parameter, close, padded=False)


@_syntaxes.register
def _python_syntaxes(body: Python, form: CallRow) -> Iterator[Syntax]:
    if "" not in body.starts and form.whole:
        yield r"\s*(?=\[\s*[A-Za-z_])", python_reader("")
    else:
        yield r"\s*(?=[\w\[{])", python_reader(_closer(form))


@_syntaxes.register
def _gemma_syntaxes(body: Gemma, form: CallRow) -> Iterator[Syntax]:
    heads = _alternation(body.starts)
    if form.whole:
        yield rf"(?=\s*{heads})", gemma_calls_reader(body.quote)
        return
    yield rf"\s*{heads}{_NAME}(?=\{{)", gemma_reader(body.quote, form.close)
    yield rf"\s*{heads}(?=[\w.-]+\()", python_reader(form.close)


def _alternation(marks: Sequence[str]) -> str:
    """Return a pattern that matches any of these marks: a group that tries longer marks first."""
    return f"(?:{'|'.join(map(re.escape, sorted(marks, key=len, reverse=True)))})"


def _closer(form: CallRow) -> str:
    """Return the closer of a call, else that of all calls together; empty if there is neither."""
    return form.close or form.section[1]


def _opening_pattern(form: CallRow) -> str:
    """Return the pattern of the marks before a call's body: the opener of a section (the marks
    around all calls of a reply), the opener of a call, or both. Both may be missing before a body
    with a mark of its own (`<function=`) if the form has a section or is `alone`. In a form that
    counts only as a whole reply, the opener stands where the text begins.
    """
    if form.whole:
        return rf"\A\s*{_alternation(form.opens) if form.opens else ''}"
    opened = [rf"{_alternation(form.opens)}\s*"] if form.opens else []
    begun = [head for head in form.body.starts if head.strip("[{")]
    alone = [rf"(?={_alternation(begun)})"] if begun and (form.alone or form.section[0]) else []
    section = re.escape(form.section[0])
    within = [rf"{section}\s*(?:{''.join(opened)})?"] if section else []
    return f"(?:{'|'.join((*within, *opened, *alone))})"


def _rows(form: CallRow) -> Iterator[Row]:
    """Yield a row for each syntax in which the bodies of a form may be written."""
    ends = [re.escape(it) for it in (getattr(form.body, "tail", ""), *form.ends) if it]
    for begin, reader in _syntaxes(form.body, form):
        yield Row(form.name, _opening_pattern(form) + begin, reader, ends)


ROWS = tuple(row for form in FORMS if not form.whole for row in _rows(form))
"""The rows of forms whose calls may stand beside other text."""
WHOLE = tuple(row for form in FORMS if form.whole for row in _rows(form))
"""The rows of forms whose calls count only if the reply has no other text."""
