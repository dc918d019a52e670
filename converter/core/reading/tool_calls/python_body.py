"""Calls written as Python writes them: `[get_weather(city="Oslo", days=3), get_time()]`."""

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from converter.core.calls.schema_values import literal, parsed
from converter.core.reading.tool_calls.call import Call, Calls
from converter.core.reading.tool_calls.json_body import Json
from converter.core.reading.tool_calls.source import (
    BLANKS,
    NAME_LIMIT,
    BrokenArguments,
    Refused,
    Source,
    Step,
)
from converter.core.wire.bounds import BLANKS_LIMIT, PYTHON_LIMIT

_NAME = re.compile(r"\s*([A-Za-z_][\w.-]*)\s*\(")
_NAME_BEGUN = re.compile(r"\s*(?:[A-Za-z_][\w.-]*\s*)?")
_BETWEEN = BLANKS + ","
_ARGUMENT = re.compile(r"""["'\d\-(\[]|\w+\s*+=""")
_OBJECT_BEHIND = re.compile(r"\]\s*+,\s*+\{")
"""An object behind the list's end, which may have stood too early as well."""
_TOKEN = re.compile(r"""\\.|"{3}|'{3}|.""", re.DOTALL)
_PLAIN = re.compile(r"""[^"'()\\<]+""")
"""Text without a quote, an escape or a bracket, and without `<`, which begins all marks that stand
around strings.
"""
_QUOTES = ("'", '"', "'" * 3, '"' * 3)
_CONSTANTS = {"true": True, "false": False, "null": None}


@dataclass(frozen=True, slots=True)
class Python:
    """A list of calls in brackets; without brackets, one call a line. A list of objects is JSON."""

    heads: Sequence[str] = ("[",)
    objects: Json = field(default_factory=Json)

    def read(self, source: Source, calls: Calls) -> Step[bool]:
        """Read the calls of a list, or of lines."""
        if calls.head == "[" and (yield from source.ahead(("{",)))[0]:
            return (yield from self.objects.read(source, calls))
        name = yield from _name(source, 0)
        if not name:
            raise Refused
        while name:
            source.take(name.end() - name.start())
            calls.current.named(name[1])
            arguments = yield from arguments_of(source)
            name = yield from _next_name(source, calls.close)
            say(calls.current, arguments)
            if name:
                source.take(name.start())
                calls.next()
        if calls.head == "[" and not (yield from source.accept("]")):
            raise Refused
        return False


def _name(source: Source, place: int) -> Step[re.Match[str] | None]:
    """Return the name of a call that stands at `place`; None for other text."""
    while not (match := _NAME.match(source.rest, place)):
        begun = _NAME_BEGUN.fullmatch(source.rest, place)
        if source.last or not begun or len(source.rest) - place > NAME_LIMIT:
            return None
        yield None
    return match if match.end() - place <= NAME_LIMIT else None


def _next_name(source: Source, close: Sequence[str]) -> Step[re.Match[str] | None]:
    """Return the name of another call that comes next. Raises BrokenArguments for an object, or for
    what may be an argument behind a comma: the parenthesis may have stood too early.
    """
    mark, place = yield from source.ahead((*close, "]", "{"), _BETWEEN)
    if not mark and (name := (yield from _name(source, place))):
        return name
    end = place + BLANKS_LIMIT
    while mark == "]" and not (source.last or source.rest[place + 1 : end].strip(_BETWEEN)):
        if len(source.rest) >= end:
            break
        yield None
    late = mark == "]" and _OBJECT_BEHIND.match(source.rest, place, end)
    more = "," in source.rest[:place] and _ARGUMENT.match(source.rest, place)
    if late or mark == "{" or (more and not mark):
        raise BrokenArguments
    return None


def arguments_of(source: Source, quote: str = "") -> Step[list[tuple[str, object]]]:
    """Return the arguments behind a parenthesis, up to the one that closes the call. `quote`: a
    mark that stands around strings as well.
    """
    return _arguments((yield from _in_parentheses(source, quote)))


def say(call: Call, arguments: Iterable[tuple[str, object]]) -> None:
    """Say all arguments of a call, and its end."""
    call.open()
    for name, value in arguments:
        call.key(name)
        call.say(literal(value))
    call.complete()


def _in_parentheses(source: Source, around: str) -> Step[str]:
    """Return the text before the parenthesis that closes the call, and take that as well. What
    stands in the marks `around` becomes a string of Python's.
    """
    pieces: list[str] = []
    depth, quote, length = 1, "", 0
    while depth:
        yield from source.more()
        if around and not quote and (yield from source.accept((around,))):
            words = yield from source.short(around, PYTHON_LIMIT)
            pieces.append(repr(words))
            length += len(words)
            continue
        token = _PLAIN.match(source.rest) or _TOKEN.match(source.rest)
        assert token
        mark = token[0]
        if not source.last and len(source.rest) < 3 and mark[0] in "\"'\\":
            yield None
            continue
        bare = len(quote) == 1 and mark[0] != "\\"  # models leave line ends in strings
        taken = source.take(len(mark))
        pieces.append(taken.replace("\r", "\\r").replace("\n", "\\n") if bare else taken)
        quote, depth = _next(mark, quote, depth)
        length += len(mark)
        if length > PYTHON_LIMIT:
            raise Refused
    return "".join(pieces[:-1])


def _next(mark: str, quote: str, depth: int) -> tuple[str, int]:
    if quote:
        return ("" if mark == quote else quote), depth
    if mark in _QUOTES:
        return mark, depth
    return "", depth + (mark == "(") - (mark == ")")


def _arguments(written: str) -> list[tuple[str, object]]:
    try:
        call = parsed(f"f({written}\n)")
        if not isinstance(call, ast.Call) or call.args:
            raise Refused
        if not all(word.arg for word in call.keywords):
            raise Refused
        return [(str(word.arg), _value(word.value)) for word in call.keywords]
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        raise Refused from None


def _value(node: ast.expr) -> object:
    """Return the value of a literal; JSON's own words are known as well."""
    match node:
        case ast.Name(id=name) if name in _CONSTANTS:
            return _CONSTANTS[name]
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_value(item) for item in items]
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            return {str(ast.literal_eval(key or node)): _value(value) for key, value in pairs}
        case _:
            read = ast.literal_eval(node)
            literal(read)
            return read
