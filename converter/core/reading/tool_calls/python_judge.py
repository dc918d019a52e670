"""`PythonCalls` reads calls in Python's syntax:
`[get_weather(city="Oslo", days=3), get_time()]`; or without `[` and `]`, usually each call on its
own line.

Arguments are literals, each with its name, or a dictionary of them (`**{"city": "Oslo"}`). Some
deviations from Python's syntax are read too: among others, arguments with the name of a Python
keyword (`from="Oslo"`), numbers with leading zeros (`07`), `true`, and quotes in a string without a
backslash.
"""

import ast
import re
from collections.abc import Iterator, Sequence

from converter.core.calls.schema_values import as_json, parse_expression, types_of
from converter.core.reading.tool_calls.head import CALL
from converter.core.reading.tool_calls.json_judge import JsonCalls
from converter.core.reading.tool_calls.json_object import JsonObject
from converter.core.reading.tool_calls.span import Broken, NoCall, Span, Unclosed, merge_arguments
from converter.core.reading.tool_calls.verdict import End, JudgedCall
from converter.core.wire.bounds import PYTHON_LIMIT

_LONG = r"""(?P<long>"{3}|'{3})(?:\\.|[^\\])*?(?P=long)"""
"""The pattern of a string between three quotes."""
_SHORT = "|".join(
    rf"""{quote}(?:\\.|[^{quote}\\]|{quote}(?!\s*+(?:[,:)\]}}]|\Z)))*+{quote}""" for quote in "\"'"
)
"""The pattern of a string between quotes, `"` or `'`. Models do not escape quotes in a string
(`'it's'`). Therefore a string ends only at a quote behind which a comma, a colon, a closing bracket
or the text's end stands.
"""
_STRING = rf"(?s:{_LONG}|{_SHORT})"
"""The pattern of any string in Python's syntax."""
_TOKEN = re.compile(rf"""(?P<string>{_STRING})|[()\[\]{{}},]|[^"'()\[\]{{}},<]++|<""")
"""The pattern of a token in the arguments of a call: a string, a bracket, a comma or other text."""
_DEEP_TOKEN = re.compile(rf"""(?P<string>{_STRING})|[()\[\]{{}}]|[^"'()\[\]{{}}<]++|<""")
"""The pattern of a token within the brackets of an argument, as in `days=[1, 2]`. A comma does not
separate arguments there, so it belongs to a token with other text. Outside of such brackets
`_TOKEN` is used, in which a comma is a token of its own.
"""
_UNESCAPED = re.compile(r"""\\.|[\r\n"']""", re.DOTALL)
"""The pattern of a character of `_ESCAPES`, which needs a backslash. It also matches a backslash
with the character behind it, so that an escaped character gets no second backslash.
"""
_ESCAPES = {"\r": "\\r", "\n": "\\n", '"': '\\"', "'": "\\'"}
"""Character in a model's string -> its escape in Python."""
_KEYWORD = re.compile(r"\s*+([^\W\d]\w*+)\s*+=(?!=)(.*)", re.DOTALL)
"""The pattern of an argument with its name: the groups are name and value."""
_ARGUMENT = re.compile(r"""["'\d\-(\[{]|\w+\s*+=""")
"""The pattern of the beginning of an argument: of a literal, or of a name with `=`."""
_OBJECT_BEHIND = re.compile(r"\]\s*+,\s*+\{")
"""The pattern of the end of the list of calls with an object behind it: `], {`. The object may hold
further arguments of the last call, if the model ended the list too early.
"""
_LEADING_ZEROS = re.compile(rf"({_STRING})|(?<![\w.])0++(?=\d)")
"""The pattern of the zeros before a number's digits (`007`), which Python refuses. It also matches
a string, in its group, so that the zeros in a string stay.
"""
_DIGITS = re.compile(r"-?0\d+")
"""The pattern of an integer with a leading zero."""
_BRACKETS = {"(": ")", "[": "]", "{": "}"}
"""Opening bracket -> the closing one."""
_ENDS = ("'", '"', ")", "]", "}")
"""An argument that ends with one of these characters is complete. A number might still go on."""
_CONSTANTS = {"true": True, "false": False, "null": None}
"""Constant of JSON that models write into Python -> its value."""
_BETWEEN = frozenset(",;")
"""The characters that may stand between two calls."""


class PythonCalls:
    """The reader of calls in Python's syntax, for the text of one span. If the text is a JSON
    object or a list of objects instead, it is read as calls in JSON.
    """

    def __init__(self, span: Span) -> None:
        self._span = span
        begin = span.skip_blanks(0)
        listed = span.text[begin : begin + 1] == "["
        self._begin = span.skip_blanks(begin + listed)
        self._objects = JsonCalls(span) if span.text.startswith("{", self._begin) else None

    def find(self, at: int) -> int:
        """Return the offset of the next call, from the offset `at` on; -1 if no call follows, or
        anything stands before it but blanks, closers of thoughts, commas and semicolons. Before the
        first call only `[`, blanks and closers of thoughts may stand.
        """
        if self._objects:
            return self._objects.find(at)
        at = self._skip_separators(at) if at else self._begin
        return at if CALL.match(self._span.text, at) else -1

    def read(self, at: int) -> JudgedCall:
        """Read the call that begins at the offset `at`. Raises NoCall, Broken or Unclosed if no
        whole call with a clear meaning stands there.
        """
        if self._objects:
            return self._objects.read(at)
        span, head = self._span, CALL.match(self._span.text, at)
        name = span.offered_name(head[1]) if head else ""
        if not head or not name:
            raise NoCall
        arguments, end = python_arguments(span, name, head.end())
        behind = self._skip_separators(end)
        is_argument = "," in span.text[end:behind] and _ARGUMENT.match(span.text, behind)
        is_object = span.text.startswith("{", behind) or _OBJECT_BEHIND.match(span.text, behind)
        if is_argument or is_object:
            # More arguments seem to stand behind the closing parenthesis: the model may have
            # written it too early, and a call without these arguments must not run.
            raise NoCall
        return JudgedCall(name, arguments, end=end)

    def _skip_separators(self, at: int) -> int:
        """Return the offset behind the blanks, closers of thoughts, commas and semicolons at the
        offset `at`.
        """
        at = self._span.skip_blanks(at)
        while self._span.text[at : at + 1] in _BETWEEN:
            at = self._span.skip_blanks(at + 1)
        return at


def python_arguments(span: Span, name: str, at: int, quote: str = "") -> tuple[str, int]:
    """Return the JSON of the arguments of a call, and the offset behind its closing parenthesis:
    `city="Oslo", days=3)` -> `{"city": "Oslo", "days": 3}`. Missing closing brackets are added if
    the last argument is complete and the reply was not cut off; else raises Unclosed. Raises Broken
    if an argument has two different values, NoCall for text that is no arguments or has more
    characters than `PYTHON_LIMIT`.

    Args:
        span: the text in which the call stands.
        name: the tool's name.
        at: the offset behind the opening parenthesis.
        quote: a further mark around strings, such as `<|"|>`; empty for none.
    """
    written, end, missing = _split_arguments(span.text, at, quote)
    last = written.pop()
    is_closed = span.ends_at_mark or last.rstrip()[-1:] in _ENDS
    if end < 0 and missing and is_closed and span.end is not End.CUT:
        last, end = last + missing, span.length
    pairs = [pair for each in written for pair in _argument_pairs(span, name, each)]
    if end < 0:
        raise Unclosed(name, JsonObject(pairs).text[:-1])
    merged = merge_arguments([*pairs, *(_argument_pairs(span, name, last) if last.strip() else ())])
    if merged is None:
        raise Broken(name)
    return JsonObject([*merged.items()]).text, end


def _split_arguments(text: str, at: int, quote: str) -> tuple[list[str], int, str]:
    """Return three values:

    - the text of each argument: `city="Oslo"` and ` days=3` for `f(city="Oslo", days=3)`;
    - the offset behind the call's closing parenthesis; -1 if the text ends without it;
    - if the text ends without it, the text that completes the last argument: the closing brackets
      that the argument lacks, and a blank. Else, or if the text ends in a string, an empty text.

    Raises NoCall for a wrong closing bracket, and for more characters than `PYTHON_LIMIT`. `at`:
    the offset behind the opening parenthesis. `quote`: a further mark around strings.
    """
    arguments, missing, end = [list[str]()], [")"], at
    for token, is_string, end in _tokens(text, at, quote, missing):
        if end - at > PYTHON_LIMIT:
            raise NoCall
        if not is_string and token in _BRACKETS:
            missing.append(_BRACKETS[token])
        elif not is_string and token in _BRACKETS.values():
            if missing.pop() != token:
                raise NoCall
            if not missing:
                return ["".join(it) for it in arguments], end, ""
        if token == "," and len(missing) == 1 and not is_string:
            arguments.append([])
        else:
            arguments[-1].append(token)
    closing = "".join(missing[:0:-1]) + " " if end == len(text) else ""
    return ["".join(it) for it in arguments], -1, closing


def _tokens(
    text: str, at: int, quote: str, missing: Sequence[str]
) -> Iterator[tuple[str, bool, int]]:
    """Yield each token of the arguments, which begin at the offset `at`: its text, True if it is a
    string, and the offset behind it. A token is a string, a bracket, a comma between arguments, or
    other text. A string without end is not yielded: the text ends before it.

    `quote`: a further mark around strings. `missing`: the closing brackets of all brackets that are
    open; the caller updates this list after each token.
    """
    while at < len(text):
        if quote and text.startswith(quote, at):
            end = text.find(quote, at + len(quote))
            if end < 0:
                return
            quoted, at = text[at + len(quote) : end], end + len(quote)
            yield repr(quoted), True, at
            continue
        match = (_DEEP_TOKEN if len(missing) > 1 else _TOKEN).match(text, at)
        if not match:
            return
        token, at = match[0], match.end()
        # Models forget the backslash before a quote in a string, and write line ends as they are:
        # escape both.
        if match["string"] and not match["long"]:
            inner = _UNESCAPED.sub(lambda it: _ESCAPES.get(it[0], it[0]), token[1:-1])
            token = token[0] + inner + token[0]
        yield token, match["string"] is not None, at


def _argument_pairs(span: Span, name: str, written: str) -> list[tuple[str, str]]:
    """Return the arguments in the text `written` as pairs of a name and the JSON of its value. The
    text is one argument (`city="Oslo"`) or a dictionary (`**{"city": "Oslo"}`). Raises NoCall for
    any other text. `name`: the tool's name.
    """
    try:
        if keyword := _KEYWORD.fullmatch(written):
            types = types_of(span.schema(name), keyword[1])
            return [(keyword[1], as_json(_literal_value(keyword[2].strip(), types)))]
        if written.lstrip().startswith("**"):
            mapping = _literal_value(written.strip().removeprefix("**").strip(), frozenset())
            if isinstance(mapping, dict):
                return [(str(key), as_json(value)) for key, value in mapping.items()]
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        raise NoCall from None
    raise NoCall


def _literal_value(written: str, types: frozenset[str]) -> object:
    """Return the value of the literal `written`: `[1, 2]` -> the list. A number with leading zeros
    (`007`) is a string if `types`, the JSON types of the parameter, allow a string; else a number.
    """
    if _DIGITS.fullmatch(written):
        return written if "string" in types else int(written)
    try:
        return _node_value(parse_expression(f"({written}\n)"))
    except SyntaxError:
        bare = _LEADING_ZEROS.sub(lambda match: match[1] or "", written)
        if bare == written:
            raise
        return _node_value(parse_expression(f"({bare}\n)"))


def _node_value(node: ast.expr) -> object:
    """Return the value of the literal `node`. The words `true`, `false` and `null` of JSON are read
    too; a set and a tuple become lists.
    """
    match node:
        case ast.Name(id=name) if name in _CONSTANTS:
            return _CONSTANTS[name]
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            return [_node_value(item) for item in items]
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            return {str(ast.literal_eval(key or node)): _node_value(value) for key, value in pairs}
        case _:
            read = ast.literal_eval(node)
            as_json(read)
            return read
