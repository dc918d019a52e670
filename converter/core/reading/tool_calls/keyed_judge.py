"""Reading of calls with keys and values between marks (`Keyed`).

A value is bare text: its type is that of the tool's schema. It may be text about these very marks,
such as a file with `<parameter=x>` in it. So a mark that closes a value counts only by this rule:

1. The form goes on behind the mark: with the next parameter, the call's end, or another call.
2. Within the value, as many inner values are closed as were opened.

If a value has no end by this rule, the call is read once more, leniently. Then a value also ends:

- before the mark of another parameter, which the tool has and the call does not have yet;
- at any mark that closes a value, if the form goes on behind it;
- at the end of the call, if no later mark can close the value.

A value with such an end must not hold a mark of a call.
"""

import re
from typing import NoReturn

from converter.core.calls.arguments import meaning_of
from converter.core.calls.schema_values import (
    NO_STRING,
    NULLS,
    Schema,
    literal,
    part,
    properties_of,
    type_names,
    typed,
    types_of,
)
from converter.core.reading.tool_calls.bodies import HEADER, Keyed
from converter.core.reading.tool_calls.json_judge import read_arguments
from converter.core.reading.tool_calls.json_object import JsonObject
from converter.core.reading.tool_calls.keyed_marks import (
    Half,
    Kind,
    Mark,
    Marks,
    name_in,
    unopened_key,
)
from converter.core.reading.tool_calls.span import Broken, NoCall, Span, Unclosed
from converter.core.reading.tool_calls.verdict import End, JudgedCall
from converter.core.wire.bounds import HELD_LIMIT

_IS_STRING = re.compile(r"""\bstring=["']?true|\btype=["']?str""")
_IS_JSON = re.compile(r"""\bstring=["']?false|\btype=["']?(\w+)""")
_ATTRIBUTE = re.compile(r"""([\w.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'/>]+))""")
_OF_THE_CALL = frozenset(("id", "index", "type", "call_id", "tool_call_id", "string"))
"""Attributes of a call's tag that are not arguments."""
_WORD = re.compile(r"\s*+([\w.:/-]++)")
_LINE_END = re.compile(r"\r\n|\n")
_LINE_END_LAST = re.compile(r"(?:\r\n|\n)\Z")
_PARTS = (Kind.KEY, Kind.CLOSE, Kind.END, Kind.OUTER, Kind.BEGUN)
_CDATA = "<![CDATA[", "]]>"
_REPEATS = 8
"""How many further closing marks may stand behind a closing mark. More of them are text."""
_NESTED_LIMIT = 64
"""The most levels of values within values. Models write three or four."""
ITEM = "item"


class KeyedCalls:
    """The reader of calls with keys and values."""

    def __init__(self, span: Span) -> None:
        self._span, body = span, span.row.body
        assert isinstance(body, Keyed)
        self._body, self._bare = body, body.bare
        self._name, self._begin, first = _bare_name(span, body) if self._bare else ("", 0, None)
        self._marks = Marks(span, 0 if first is None else first.end, first)

    def find(self, at: int) -> int:
        """Return the offset of the next call; -1 if there is none."""
        if self._bare:
            return self._begin if self._name and not at else -1
        begin = self._span.gap(at)
        return begin if self._marks.behind(at, self._marks.index(at)) is Kind.HEAD else -1

    def read(self, at: int) -> JudgedCall:
        """Read the call that begins at the offset `at`."""
        span = self._span
        try:
            return _Call(self._marks, self._body, self._name, lenient=False).read(at)
        except Unclosed as is_open:
            try:
                return _Call(self._marks, self._body, self._name, lenient=True).read(at)
            except (NoCall, Broken, Unclosed):
                if not span.last or span.end in (End.STOP, End.CUT):
                    raise is_open from None
                raise


def _bare_name(span: Span, body: Keyed) -> tuple[str, int, Mark | None]:
    """Return the tool's name at the beginning of the text, and the offset behind it.

    GLM-4.7 may leave the opening mark of the first key out: `f city</arg_key>` or
    `fcity</arg_key>`. Then this key is returned too, else `None`.
    """
    text = span.text
    match = _WORD.match(text)
    if not match:
        return "", 0, None
    at = span.gap(match.end())
    if body.separator and text.startswith(body.separator, at):
        at = span.gap(at + len(body.separator))
    if not (key := unopened_key(body).match(text)):
        return span.named(match[1]), at, None
    fitting = [
        (tool, left)
        for tool in span.tools
        if key[1].startswith(tool)
        if (left := key[1][len(tool) :].strip()) in properties_of(span.schema(tool))
    ]
    if len(fitting) != 1:
        return "", 0, None
    mark = Mark(Kind.KEY, key.end(), key.end(), fitting[0][1], key["value_opened"] is not None)
    return fitting[0][0], key.end(), mark


class _Call:
    """The reading of one call. `lenient`: values may also have the other ends (see above)."""

    def __init__(self, marks: Marks, body: Keyed, name: str, *, lenient: bool) -> None:
        self._marks, self._span, self._body, self._lenient = marks, marks.span, body, lenient
        self._text = self._span.text
        self._name = name
        self._schema: Schema = self._span.schema(name)
        self._values: dict[str, str] = {}

    # The call: its marks, one behind the other.

    def read(self, at: int) -> JudgedCall:
        """Read the call that begins at the offset `at`, which is behind the name if it is bare."""
        marks, index = self._marks, self._marks.index(at)
        if not self._name:
            at, index = self._head(marks.all[index]), index + 1
        if self._text.startswith("{", self._span.gap(at)):
            return self._json(self._span.gap(at))
        # `ended`: the offset behind the call's closing mark, or -1. `closed`: a value was closed.
        ended, closed = -1, False
        while (kind := marks.behind(at, index)) in _PARTS:
            is_end = kind in (Kind.END, Kind.OUTER)
            is_half = kind is Kind.BEGUN and marks.half(at, index) is not Half.NONE
            if is_half or (ended >= 0 and not (is_end or kind is Kind.KEY)):
                break
            take = {Kind.KEY: self._value, Kind.BEGUN: self._unopened}.get(kind)
            # A closing mark that is repeated is ignored.
            at, index = take(index) if take else (marks.all[index].end, index + 1)
            ended, closed = at if is_end else -1, closed or kind is Kind.CLOSE
        end = self._end(at, index, ended, bare=not (self._values or closed))
        return JudgedCall(self._name, JsonObject([*self._values.items()]).text, end=end)

    def _end(self, at: int, index: int, ended: int, bare: bool) -> int:
        """Return the offset behind the call. Raises NoCall, Broken or Unclosed.

        Args:
            at: the offset behind the last part of the call.
            index: the index of the next mark.
            ended: the offset behind the call's closing mark; -1 if there was none.
            bare: True if the call is only a name.
        """
        marks, span = self._marks, self._span
        half, kind = marks.half(at, index), marks.behind(at, index)
        is_word = bare and self._body.bare and not span.closed
        if is_word and kind is not Kind.BEGUN:
            raise NoCall
        if half is Half.OPENING or (half is Half.EITHER and ended < 0):
            raise self._unclosed()
        if not self._values and self._text.startswith('{"', span.gap(max(at, ended))):
            raise NoCall  # an object with the arguments stands behind the call
        if half is not Half.NONE:
            return span.length
        if ended >= 0:
            return ended
        if kind is Kind.NONE and span.end is End.CUT:
            raise self._unclosed()
        follows = kind in (Kind.NONE, Kind.HEAD, Kind.OPENER)
        if not (follows or self._body.open_ended):
            self._fail()
        return at

    def _fail(self) -> NoReturn:
        """Raise Broken if the call has an argument, else NoCall."""
        raise Broken(self._name) if self._values else NoCall

    def _unclosed(self, key: str | None = None, begun: str = "") -> Unclosed:
        """Return the error of a call that is open. `key`, `begun`: the open argument, JSON."""
        return Unclosed(
            self._name, JsonObject([*self._values.items()], key=key, begun=begun).so_far
        )

    # The head.

    def _head(self, mark: Mark) -> int:
        """Take the name, and the arguments that are attributes of the call's tag. Return the offset
        behind the tag.
        """
        match = HEADER.fullmatch(mark.tag)
        self._name = self._span.named(match[1]) if match else ""
        self._schema = self._span.schema(self._name)
        if not match or not self._name or _ATTRIBUTE.sub("", match[2]).strip("\"'/ "):
            raise NoCall
        for key, *value in _ATTRIBUTE.findall(match[2]):
            if key not in _OF_THE_CALL:
                if not self._knows(key):
                    raise NoCall
                self._add(key, _typed("".join(value), types_of(self._schema, key)))
        return mark.end

    def _json(self, at: int) -> JudgedCall:
        """Read arguments that are JSON, as Llama 3.1 and Laguna write them behind the name."""
        arguments, at = read_arguments(self._span, self._name, at)
        index = self._marks.index(at)
        is_end = self._marks.behind(at, index) is Kind.END
        return JudgedCall(self._name, arguments, end=self._marks.all[index].end if is_end else at)

    # Values.

    def _value(self, index: int) -> tuple[int, int]:
        """Take the argument whose key is the mark number `index`. Return the offset behind its
        value, and the index of the next mark.
        """
        mark, body = self._marks.all[index], self._body
        if body.nested:
            written, index = self._element(index, part(self._schema, mark.tag), 0)
            self._add(mark.tag, written)
            return self._marks.all[index - 1].end, index
        name, types = mark.tag.strip(), frozenset[str]()
        if not body.bare:
            match = HEADER.fullmatch(mark.tag)
            name, types = (match[1], _types(match[2])) if match else ("", types)
        # A value within the tag, `<parameter=city=Oslo>`: the call has no meaning without it.
        in_tag = "=" in name and not self._knows(name)
        if not name or in_tag or not (mark.opened or self._lacks(name)):
            self._fail()
        types = types or types_of(self._schema, name)
        if body.reads_unknown and not self._knows(name):
            types = NO_STRING
        begin, index, quoted = self._begin(mark.end, index + 1)
        end = self._end_of(begin, index, name, types)
        ended = self._marks.all[end] if end < len(self._marks) else None
        is_own = ended is not None and ended.kind is Kind.CLOSE
        # GLM-4.7 leaves the mark before a value out under load; then the closing mark must be
        # there.
        if not (mark.opened or is_own):
            self._fail()
        text = self._text[begin : ended.begin if ended else self._span.length]
        padded = not is_own or body.padded
        text = quoted if quoted is not None else _LINE_END_LAST.sub("", text) if padded else text
        self._add(name, _typed(text, types))
        if ended is None:
            return self._span.length, end
        return (ended.end, end + 1) if is_own else (ended.begin, end)

    def _begin(self, at: int, index: int) -> tuple[int, int, str | None]:
        """Return the offset at which a value begins, the index of the next mark, and the text of a
        CDATA section, if the value is one.
        """
        body, (begins, ends) = self._body, _CDATA
        if body.cdata and self._text.startswith(begins, at):
            end = self._text.find(ends, at)
            if end >= 0:
                inner, at = self._text[at + len(begins) : end], end + len(ends)
                return at, self._marks.index(at), inner
        padding = _LINE_END.match(self._text, at) if body.padded else None
        return padding.end() if padding else at, index, None

    def _add(self, name: str, written: str) -> None:
        """Add an argument. Raises Broken if the call has it already, with another value."""
        before = self._values.setdefault(name, written)
        if before is not written and meaning_of(before) != meaning_of(written):
            raise Broken(self._name)

    def _knows(self, name: str) -> bool:
        return name in properties_of(self._schema)

    def _lacks(self, name: str) -> bool:
        return self._knows(name) and name not in self._values

    # The end of a value.

    def _end_of(self, begin: int, first: int, name: str, types: frozenset[str]) -> int:
        """Return the index of the mark that ends a value; the number of marks if the end of the
        text ends it. Raises NoCall, Broken or Unclosed.

        Args:
            begin: the offset of the value.
            first: the index of the first mark behind this offset.
            name, types: the parameter, and the types that its value may have.
        """
        marks, depth, uncertain = self._marks, 0, False
        for at in range(first, len(marks)):
            kind, may = marks.all[at].kind, self._may(first, at)
            if kind is Kind.CLOSE:
                if (may or not depth) and self._goes_on(at, name, depth):
                    return at
                uncertain = uncertain or not depth  # a mark that closes the value did not count
                depth = max(0, depth - 1)
            elif may and self._is_end(begin, at, name, uncertain):
                if uncertain:
                    self._fail()
                return at
            depth += kind in (Kind.KEY, Kind.OPENED)
        is_over = self._span.last and self._span.closed and not uncertain
        if is_over and self._may(first, len(marks)):
            return len(marks)
        raise self._unclosed(name, self._begun(begin, types))

    def _is_end(self, begin: int, at: int, of: str, uncertain: bool) -> bool:
        """Return True if a mark that does not close values ends the value."""
        kind = self._marks.all[at].kind
        if kind is Kind.KEY:
            return self._is_next(begin, at, of, uncertain)
        return kind in (Kind.END, Kind.OUTER) and not uncertain and self._is_over(at)

    def _is_over(self, at: int) -> bool:
        """Return True if a mark that closes the call also ends a value, whose closing mark is
        missing. It does if the marks behind it cannot belong to the value.
        """
        marks, span = self._marks, self._span
        if not span.last or span.end is End.CUT:
            return False
        while at < len(marks) and marks.all[at].kind in (Kind.END, Kind.OUTER):
            at += 1
        kind = marks.all[at].kind if at < len(marks) else Kind.NONE
        return kind in (Kind.NONE, Kind.HEAD, Kind.OPENER) and marks.least[at] >= marks.balance[at]

    def _may(self, first: int, at: int) -> bool:
        """Return True if the call is read leniently and no mark of a call stands between the marks
        `first` and `at`.
        """
        return self._lenient and self._marks.of_calls[first] == self._marks.of_calls[at]

    def _goes_on(self, at: int, of: str, depth: int) -> bool:
        """Return True if the form goes on behind the mark `at`, which closes a value of the
        parameter `of`. `depth`: how many inner values are open.
        """
        marks, next_at = self._marks, at + 1
        for _ in range(_REPEATS):
            if depth or marks.following[next_at - 1] is not Kind.CLOSE:
                break
            next_at += 1
        kind = marks.following[next_at - 1]
        if kind is Kind.TEXT and self._body.open_ended:
            mark = marks.all[next_at] if next_at < len(marks) else None
            return mark is None or mark.kind is Kind.HEAD
        if kind is Kind.KEY and depth:
            name = name_in(marks.all[next_at].tag)
            return self._lacks(name) and name != of
        if kind in (Kind.HEAD, Kind.OPENER):
            return marks.least[next_at] >= marks.balance[next_at]
        if kind in (Kind.TEXT, Kind.BEGUN):
            return marks.half(marks.all[next_at - 1].end, next_at) is not Half.NONE
        return kind is not Kind.CLOSE

    def _is_next(self, begin: int, at: int, of: str, uncertain: bool) -> bool:
        """Return True if the key `at` ends a value whose closing mark is missing.

        The key must be a parameter that the call lacks. It counts at the beginning of a line, or if
        no closing mark follows, or if the parameter is required. It does not count if the same
        parameter follows again behind a closing mark, or if more values are closed behind it than
        opened.
        """
        marks, mark = self._marks, self._marks.all[at]
        name, over = name_in(mark.tag), marks.next_end[at]
        if not self._lacks(name) or name == of:
            return False
        closed = marks.closers[over] - marks.closers[at]
        opened = marks.balance[over] - marks.balance[at + 1] + closed
        if closed > 1 + opened or any(at < it < over for it in marks.closed_keys.get(name, ())):
            return False
        at_head = mark.begin == begin or self._text[mark.begin - 1] in "\r\n"
        padded = self._body.padded
        required = self._schema.get("required")
        needs = isinstance(required, list) and name in required
        return at_head or not padded or not closed or uncertain or needs

    def _begun(self, begin: int, types: frozenset[str]) -> str:
        """Return the JSON of a value that is open, without its end. A value that cannot be a string
        has none, because it may change as a whole.
        """
        if types and "string" not in types:
            return ""
        text = self._text[begin : self._span.length]
        last = text.rfind("<")
        if last >= 0 and self._marks.half_closer(text[last:]):
            text = text[:last]
        return literal(text)[:-1]

    # Nested elements.

    def _element(self, index: int, schema: Schema, depth: int) -> tuple[str, int]:
        """Return the JSON of the element whose key is the mark number `index`, and the index of the
        mark behind the element.
        """
        marks, mark = self._marks, self._marks.all[index]
        at, index, name = mark.end, index + 1, mark.tag
        if depth > _NESTED_LIMIT:
            self._fail()
        if marks.behind(at, index) is not Kind.KEY:
            closers = (it for it in range(index, len(marks)) if marks.all[it].kind is Kind.CLOSE)
            end = next((it for it in closers if marks.all[it].tag == name), -1)
            types = type_names(schema, self._schema) or (NO_STRING if depth else frozenset())
            if end < 0:
                raise self._unclosed(*(() if depth else (name, self._begun(at, types))))
            return _typed(self._text[at : marks.all[end].begin], types), end + 1
        items, members = [], {}
        while (kind := marks.behind(at, index)) is Kind.KEY:
            child = marks.all[index].tag
            written, index = self._element(index, part(schema, child, self._schema), depth + 1)
            at = marks.all[index - 1].end
            items.append(written)
            members[child] = written
        if kind is Kind.NONE or marks.half(at, index) is not Half.NONE:
            raise self._unclosed()
        if kind is not Kind.CLOSE or marks.all[index].tag != name:
            self._fail()
        if set(members) == {ITEM}:
            return f"[{', '.join(items)}]", index + 1
        return JsonObject([*members.items()]).text, index + 1

    def _unopened(self, index: int) -> tuple[int, int]:
        """Take an argument whose opening tag is incomplete. Its closing tag has its name."""
        mark = self._marks.all[index]
        closer = self._marks.all[index + 1] if index + 1 < len(self._marks) else None
        named = closer is not None and closer.kind is Kind.CLOSE and self._lacks(closer.tag)
        if closer is None or not named or not self._body.nested:
            self._fail()
        text = self._text[mark.end : closer.begin]
        self._add(closer.tag, _typed(text, types_of(self._schema, closer.tag)))
        return closer.end, index + 2


def _types(written: str) -> frozenset[str]:
    """Return the types that attributes of a parameter's tag name (`string="true"`)."""
    if _IS_STRING.search(written):
        return frozenset({"string"})
    return NO_STRING if _IS_JSON.search(written) else frozenset()


def _typed(text: str, types: frozenset[str]) -> str:
    """Return bare text as the JSON of a value. A value that may be a string is one, even if it
    looks like a number (`007`). A value of unknown type is a string too.
    """
    if not types or "string" in types:
        return "null" if "null" in types and text in NULLS else literal(text)
    return typed(text, types) if len(text) <= HELD_LIMIT else literal(text)
