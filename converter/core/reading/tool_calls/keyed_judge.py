"""`KeyedCalls` reads calls with keys and values between marks, which `keyed_marks` finds:
`<parameter=days>3</parameter>`. A value is bare text. Its type stands in the tag before it
(`type="int"`) or in the tool's schema.

The text may be a file that contains `<parameter=x>1</parameter>` itself: `1` is an inner value. A
mark that closes a value therefore counts only under two conditions:

1. Behind the mark stands the next parameter, the call's end, another call, or the text's end.
2. No inner value is open at the mark: each was closed before.

If no mark fulfils both conditions for a value, the call is read once more, leniently. Then a value
also ends:

- before the mark of another parameter, which the tool has and the call does not have yet;
- at a mark that fulfils only the first condition; or, if there is none, at the call's end.

A value with one of these ends must not hold a mark that begins or closes a call.
"""

import re
from typing import NoReturn

from converter.core.calls.arguments import meaning_of
from converter.core.calls.schema_values import (
    NO_STRING,
    NULLS,
    Schema,
    as_json,
    as_type,
    properties_of,
    subschema,
    type_names,
    types_of,
)
from converter.core.reading.tool_calls.bodies import HEADER, Keyed
from converter.core.reading.tool_calls.json_judge import read_arguments
from converter.core.reading.tool_calls.json_object import JsonObject
from converter.core.reading.tool_calls.keyed_marks import (
    CALL_ENDS,
    Half,
    Kind,
    Mark,
    Marks,
    name_in,
    unopened_key_pattern,
)
from converter.core.reading.tool_calls.span import Broken, NoCall, Span, Unclosed
from converter.core.reading.tool_calls.verdict import End, JudgedCall
from converter.core.wire.bounds import HELD_LIMIT

_IS_STRING = re.compile(r"""\bstring=["']?true|\btype=["']?str""")
"""The pattern of an attribute in a key's tag by which the value is a string: `string="true"`."""
_IS_NO_STRING = re.compile(r"""\bstring=["']?false|\btype=["']?(\w+)""")
"""The pattern of an attribute by which the value is no string, if `_IS_STRING` does not match."""
_ATTRIBUTE = re.compile(r"""([\w.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'/>]+))""")
"""The pattern of a tag's attribute. Its groups: the name; three, one of which has the value."""
_OF_THE_CALL = frozenset(("id", "index", "type", "call_id", "tool_call_id", "string"))
"""Attributes of a call's tag that are not arguments: `id` in `<invoke name="f" id="1">`."""
_WORD = re.compile(r"\s*+([\w.:/-]++)")
"""The pattern of the first word of a text, which may be the bare name of a tool."""
_LINE_END = re.compile(r"\r\n|\n")
"""The pattern of one line end."""
_LINE_END_LAST = re.compile(r"(?:\r\n|\n)\Z")
"""The pattern of the line end with which a text ends."""
_PARTS = (Kind.KEY, Kind.VALUE_END, Kind.BODY_END, Kind.CALL_END, Kind.KEY_BEGUN)
"""The kinds of marks that may stand in a call behind its name."""
_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
"""The pattern of a CDATA section. Its group is the text in it."""
_REPEATS = 8
"""How often a value's closing mark may be repeated. Of more, the first ones are text of the value.
"""
_NESTED_LIMIT = 64
"""The most levels of nested elements; models write four. Text with more has no clear meaning."""
ITEM = "item"
"""The name of the elements that are the items of a list: `<item>1</item><item>2</item>`."""


class KeyedCalls:
    """The reader of calls with keys and values, for the text of one span."""

    def __init__(self, span: Span) -> None:
        self._span, body = span, span.row.body
        assert isinstance(body, Keyed)
        self._body = body
        self._name, self._begin, first = _bare_name(span, body) if body.bare else ("", 0, None)
        self._marks = Marks(span, 0 if first is None else first.end, first)

    def find(self, at: int) -> int:
        """Return the offset of the next call, from the offset `at` on; -1 if anything but blanks
        and closers of thoughts stands before it, or no call follows. In a form with a bare name,
        return the offset behind this name; no call follows the first one.
        """
        if self._body.bare:
            return self._begin if self._name and not at else -1
        begin = self._span.skip_blanks(at)
        return begin if self._marks.kind_behind(at, self._marks.index(at)) is Kind.HEAD else -1

    def read(self, at: int) -> JudgedCall:
        """Read the call that begins at the offset `at`. If that raises Unclosed, read the call once
        more, leniently (see the module's docstring). If that fails too, raises Unclosed if a later
        mark may close the call or the reply ends; else the error of the lenient reading.
        """
        span = self._span
        try:
            return _Call(self._marks, self._body, self._name, lenient=False).read(at)
        except Unclosed as is_open:
            try:
                return _Call(self._marks, self._body, self._name, lenient=True).read(at)
            except (NoCall, Broken, Unclosed):
                if not span.is_last or span.end in (End.STOP, End.CUT):
                    raise is_open from None
                raise


def _bare_name(span: Span, body: Keyed) -> tuple[str, int, Mark | None]:
    """Return the tool's name at the beginning of the text, the offset behind it (and behind
    `Keyed.name_separator`), and `None`. The name is empty if no offered tool's name stands there.

    GLM-4.7 may leave out the mark before the first key: `f city</arg_key>` or `fcity</arg_key>`.
    If just one offered tool with this parameter fits, return its name, the offset behind the key,
    and the key as a `Mark`; else an empty name.
    """
    text = span.text
    match = _WORD.match(text)
    if not match:
        return "", 0, None
    at = span.skip_blanks(match.end())
    if body.name_separator and text.startswith(body.name_separator, at):
        at = span.skip_blanks(at + len(body.name_separator))
    if not (key := unopened_key_pattern(body).match(text)):
        return span.offered_name(match[1]), at, None
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
    """Reads one call with keys and values (`read`).

    `name`: the tool's name if it stands bare; empty if it stands in a tag. `lenient`: True if
    values may also end in the three further ways that the module's docstring lists.
    """

    def __init__(self, marks: Marks, body: Keyed, name: str, *, lenient: bool) -> None:
        self._marks, self._span, self._body, self._lenient = marks, marks.span, body, lenient
        self._text = self._span.text
        self._name = name
        self._schema: Schema = self._span.schema(name)
        self._values: dict[str, str] = {}

    def read(self, at: int) -> JudgedCall:
        """Read the call that begins at the offset `at`. If the tool's name stands bare, `at` is the
        offset behind the name.
        """
        marks, index = self._marks, self._marks.index(at)
        if not self._name:
            at, index = self._take_head(marks.all[index]), index + 1
        begin = self._span.skip_blanks(at)
        if self._text.startswith("{", begin):
            # Llama 3.1 and Laguna write `<function=f>{"city": "Oslo"}</function>`.
            arguments, end = read_arguments(self._span, self._name, begin)
            index = marks.index(end)
            is_end = marks.kind_behind(end, index) is Kind.BODY_END
            return JudgedCall(self._name, arguments, end=marks.all[index].end if is_end else end)
        # `ended`: the offset behind the last mark, if it closes the call; else -1.
        # `value_closed`: True if a mark that closes a value stood where none was open.
        ended, value_closed = -1, False
        while (kind := marks.kind_behind(at, index)) in _PARTS:
            is_end = kind in CALL_ENDS
            is_half = kind is Kind.KEY_BEGUN and marks.half_mark(at, index) is not Half.NONE
            if is_half or (ended >= 0 and not (is_end or kind is Kind.KEY)):
                break
            take = {Kind.KEY: self._take_argument, Kind.KEY_BEGUN: self._take_unopened}.get(kind)
            # A mark that closes a value or the call has no value behind it: go on behind the mark.
            # Therefore a closing mark that the model writes twice does no harm.
            at, index = take(index) if take else (marks.all[index].end, index + 1)
            ended, value_closed = at if is_end else -1, value_closed or kind is Kind.VALUE_END
        end = self._call_end(at, index, ended, bare=not (self._values or value_closed))
        return JudgedCall(self._name, JsonObject([*self._values.items()]).text, end=end)

    def _call_end(self, at: int, index: int, ended: int, bare: bool) -> int:
        """Return the offset behind a call of which all arguments were read.

        - Raises Unclosed if the reply ends in the beginning of a further opening mark, or was cut
          off before the call's closing mark began.
        - Raises NoCall if the call is a bare name that no mark ends, because this name may be a
          word of a sentence; or if the call has no argument, and an object stands behind it.
        - Fails by `_fail` if the call has no closing mark, something other than another call stands
          behind it, and the form does not allow this (`Keyed.may_lack_closer`).

        Args:
            at: the offset behind the last mark or value of the call.
            index: the index of the next mark.
            ended: the offset behind the call's closing mark; -1 if the call has none.
            bare: True if the call has no argument and no mark that closes a value.
        """
        marks, span = self._marks, self._span
        half, kind = marks.half_mark(at, index), marks.kind_behind(at, index)
        is_word = bare and self._body.bare and not span.ends_at_mark
        if is_word and kind is not Kind.KEY_BEGUN:
            raise NoCall
        if half is Half.OPENING or (half is Half.EITHER and ended < 0):
            raise self._unclosed()
        # `</tool_call>{"city": "Oslo"}`: the arguments stand behind the closer, in an object that
        # is not read. Without arguments the call must not run.
        if not self._values and self._text.startswith('{"', span.skip_blanks(max(at, ended))):
            raise NoCall
        if half is not Half.NONE:
            return span.length
        if ended >= 0:
            return ended
        if kind is Kind.END and span.end is End.CUT:
            raise self._unclosed()
        follows = kind in (Kind.END, Kind.HEAD, Kind.OPENER)
        if not (follows or self._body.may_lack_closer):
            self._fail()
        return at

    def _fail(self) -> NoReturn:
        """End the reading of a text without a clear meaning: raise Broken if an argument was read,
        else NoCall.
        """
        raise Broken(self._name) if self._values else NoCall

    def _unclosed(self, key: str | None = None, begun: str = "") -> Unclosed:
        """Return the error for an incomplete call, with the arguments so far. `key`: the name of an
        argument whose value is incomplete; `None` if there is none. `begun`: the JSON of this value
        so far.
        """
        so_far = JsonObject([*self._values.items()], open_key=key, open_value=begun).so_far
        return Unclosed(self._name, so_far)

    def _take_head(self, mark: Mark) -> int:
        """Set the tool's name from the tag `mark`, and add the arguments that are attributes of the
        tag (`<invoke name="f" city="Oslo">`). Return the offset behind the tag. Raises NoCall if
        the tag names no offered tool, or has text, or attributes that the tool does not take.
        """
        match = HEADER.fullmatch(mark.tag)
        self._name = self._span.offered_name(match[1]) if match else ""
        self._schema = self._span.schema(self._name)
        if not match or not self._name or _ATTRIBUTE.sub("", match[2]).strip("\"'/ "):
            raise NoCall
        for key, *value in _ATTRIBUTE.findall(match[2]):
            if key not in _OF_THE_CALL:
                if not self._has_parameter(key):
                    raise NoCall
                self._add_argument(key, _json_of_text("".join(value), types_of(self._schema, key)))
        return mark.end

    def _take_argument(self, index: int) -> tuple[int, int]:
        """Add the argument whose key is the mark with the index `index`. Return the offset behind
        its value, or behind the value's own closing mark; and the index of the next mark.
        """
        mark, body = self._marks.all[index], self._body
        if body.nested_values:
            written, index = self._element(index, subschema(self._schema, mark.tag), 0)
            self._add_argument(mark.tag, written)
            return self._marks.all[index - 1].end, index
        name, types = mark.tag.strip(), frozenset[str]()
        if not body.bare:
            match = HEADER.fullmatch(mark.tag)
            name, types = (match[1], _types_in_tag(match[2])) if match else ("", types)
        # `<parameter=city=Oslo>`: the value stands in the tag of its key, and is not read. Without
        # this value the call has no clear meaning.
        in_tag = "=" in name and not self._has_parameter(name)
        if not name or in_tag or not (mark.has_value_mark or self._lacks(name)):
            self._fail()
        types = types or types_of(self._schema, name)
        if body.unknown_keys_are_json and not self._has_parameter(name):
            types = NO_STRING
        begin, index, quoted = mark.end, index + 1, None
        if body.may_have_cdata and (section := _CDATA.match(self._text, begin)):
            begin, quoted = section.end(), section[1]
            index = self._marks.index(begin)
        elif body.has_line_ends and (line_end := _LINE_END.match(self._text, begin)):
            begin = line_end.end()
        end = self._value_end(begin, index, name, types)
        ended = self._marks.all[end] if end < len(self._marks) else None
        is_own = ended is not None and ended.kind is Kind.VALUE_END
        # GLM-4.7 under load leaves out `<arg_value>`, the mark before a value. Such a value counts
        # only if it ends with its own closing mark.
        if not (mark.has_value_mark or is_own):
            self._fail()
        text = self._text[begin : ended.begin if ended else self._span.length]
        padded = not is_own or body.has_line_ends
        text = quoted if quoted is not None else _LINE_END_LAST.sub("", text) if padded else text
        self._add_argument(name, _json_of_text(text, types))
        if ended is None:
            return self._span.length, end
        return (ended.end, end + 1) if is_own else (ended.begin, end)

    def _add_argument(self, name: str, written: str) -> None:
        """Add the argument `name`. `written`: the JSON of its value. Raises Broken if the call has
        an argument of this name with another value.
        """
        before = self._values.setdefault(name, written)
        if before is not written and meaning_of(before) != meaning_of(written):
            raise Broken(self._name)

    def _has_parameter(self, name: str) -> bool:
        """Return True if the tool has a parameter of this name."""
        return name in properties_of(self._schema)

    def _lacks(self, name: str) -> bool:
        """Return True if the tool has a parameter of this name, and the call no argument for it."""
        return self._has_parameter(name) and name not in self._values

    def _value_end(self, begin: int, first: int, name: str, types: frozenset[str]) -> int:
        """Return the index of the mark that ends a value; the number of marks if the value ends
        with the text. Raises Unclosed if the value has no end. Fails by `_fail` if the value ends
        at a key, but may have ended at an earlier mark.

        Args:
            begin: the offset of the value.
            first: the index of the first mark behind this offset.
            name: the name of the parameter to which the value belongs.
            types: the JSON types that the value may have.
        """
        marks, depth, uncertain = self._marks, 0, False
        for at in range(first, len(marks)):
            kind, may = marks.all[at].kind, self._may_end_leniently(first, at)
            if kind is Kind.VALUE_END:
                if (may or not depth) and self._call_goes_on(at, name, depth):
                    return at
                # This mark does not end the value. If no inner value is open, that may be wrong: an
                # end that is found behind the mark is then doubtful.
                uncertain = uncertain or not depth
                depth = max(0, depth - 1)
            elif kind is Kind.KEY and may and self._key_ends_value(begin, at, name, uncertain):
                if uncertain:
                    self._fail()
                return at
            elif kind in CALL_ENDS and may and not uncertain and self._closer_ends_value(at):
                return at
            depth += kind in (Kind.KEY, Kind.INNER_TAG)
        is_over = self._span.is_last and self._span.ends_at_mark and not uncertain
        if is_over and self._may_end_leniently(first, len(marks)):
            return len(marks)
        raise self._unclosed(name, self._value_so_far(begin, types))

    def _closer_ends_value(self, at: int) -> bool:
        """Return True if the mark with the index `at`, which closes the call, also ends a value
        that lacks its own closing mark. Return False while a later mark may close the value, if the
        reply was cut off, or if the mark is text of the value: something other than calls follows.
        """
        marks, span = self._marks, self._span
        if not span.is_last or span.end is End.CUT:
            return False
        while at < len(marks) and marks.all[at].kind in CALL_ENDS:
            at += 1
        kind = marks.all[at].kind if at < len(marks) else Kind.END
        return kind in (Kind.END, Kind.HEAD, Kind.OPENER) and marks.least[at] >= marks.balance[at]

    def _may_end_leniently(self, first: int, at: int) -> bool:
        """Return True if a value may end in a lenient way before the mark with the index `at`: the
        call is read leniently, and no mark in the value begins or closes a call. `first`: the index
        of the first mark in the value.
        """
        return self._lenient and self._marks.of_calls[first] == self._marks.of_calls[at]

    def _call_goes_on(self, at: int, parameter: str, depth: int) -> bool:
        """Return True if a VALUE_END, the mark with the index `at`, may end the value of
        `parameter`, because the next parameter, the call's end, another call or the text's end
        stands behind it; in a form that may lack its closer, also text with no mark or the tag of
        another call behind it. Repetitions of the mark are skipped. `depth`: how many inner values
        are open at the mark; if any is, only another parameter counts, which the call lacks.
        """
        marks, next_at = self._marks, at + 1
        for _ in range(_REPEATS):
            if depth or marks.kinds_behind[next_at - 1] is not Kind.VALUE_END:
                break
            next_at += 1
        kind = marks.kinds_behind[next_at - 1]
        if kind is Kind.TEXT and self._body.may_lack_closer:
            mark = marks.all[next_at] if next_at < len(marks) else None
            return mark is None or mark.kind is Kind.HEAD
        if kind is Kind.KEY and depth:
            name = name_in(marks.all[next_at].tag)
            return self._lacks(name) and name != parameter
        if kind in (Kind.HEAD, Kind.OPENER):
            return marks.least[next_at] >= marks.balance[next_at]
        if kind in (Kind.TEXT, Kind.KEY_BEGUN):
            return marks.half_mark(marks.all[next_at - 1].end, next_at) is not Half.NONE
        return kind is not Kind.VALUE_END

    def _key_ends_value(self, begin: int, at: int, parameter: str, uncertain: bool) -> bool:
        """Return True if the key with the index `at` ends a value of `parameter` that lacks its
        closing mark. Return False if the key is text of this value.

        - The key is text if the tool has no such parameter; if it is `parameter` itself, or the
          call has this argument already; if it stands again later in the call, directly behind a
          closing mark; or if from it to the call's end more values are closed than opened.
        - Any other key ends the value if it stands at the beginning of a line or of the value; if
          models begin no line for a key of this form (`Keyed.has_line_ends` is False); if the tool
          requires the key; or if no value is closed between the key and the call's end.
          It also does so if an earlier mark may have (`uncertain`); then `_value_end` fails.

        `begin`: the offset of the value.
        """
        marks, mark = self._marks, self._marks.all[at]
        name, over = name_in(mark.tag), marks.next_call_end[at]
        if not self._lacks(name) or name == parameter:
            return False
        closed = marks.closers[over] - marks.closers[at]
        opened = marks.balance[over] - marks.balance[at + 1] + closed
        if closed > 1 + opened or any(at < it < over for it in marks.next_keys.get(name, ())):
            return False
        at_head = mark.begin == begin or self._text[mark.begin - 1] in "\r\n"
        padded = self._body.has_line_ends
        required = self._schema.get("required")
        needs = isinstance(required, list) and name in required
        return at_head or not padded or not closed or uncertain or needs

    def _value_so_far(self, begin: int, types: frozenset[str]) -> str:
        """Return the JSON of an incomplete value as far as it has come, a string without its
        closing quote: `"Os`. Return an empty text if `types` allow no string, because a number
        may still change. `begin`: the offset of the value.
        """
        if types and "string" not in types:
            return ""
        text = self._text[begin : self._span.length]
        last = text.rfind("<")
        if last >= 0 and self._marks.is_half_mark(text[last:]):
            text = text[:last]
        return as_json(text)[:-1]

    def _element(self, index: int, schema: Schema, depth: int) -> tuple[str, int]:
        """Return the JSON of the value of a nested element, and the index of the mark behind it:
        `<at><city>Oslo</city></at>` -> `{"city": "Oslo"}`. `index`: the index of the mark `<at>`.
        `schema`: the schema of the value. `depth`: how many elements stand around this one.
        """
        marks, mark = self._marks, self._marks.all[index]
        at, index, name = mark.end, index + 1, mark.tag
        if depth > _NESTED_LIMIT:
            self._fail()
        if marks.kind_behind(at, index) is not Kind.KEY:
            rest = range(index, len(marks))
            closers = (it for it in rest if marks.all[it].kind is Kind.VALUE_END)
            end = next((it for it in closers if marks.all[it].tag == name), -1)
            types = type_names(schema, self._schema) or (NO_STRING if depth else frozenset())
            if end < 0:
                raise self._unclosed(*(() if depth else (name, self._value_so_far(at, types))))
            return _json_of_text(self._text[at : marks.all[end].begin], types), end + 1
        items, members = [], {}
        while (kind := marks.kind_behind(at, index)) is Kind.KEY:
            child = marks.all[index].tag
            written, index = self._element(index, subschema(schema, child, self._schema), depth + 1)
            at = marks.all[index - 1].end
            items.append(written)
            members[child] = written
        if kind is Kind.END or marks.half_mark(at, index) is not Half.NONE:
            raise self._unclosed()
        if kind is not Kind.VALUE_END or marks.all[index].tag != name:
            self._fail()
        if set(members) == {ITEM}:
            return f"[{', '.join(items)}]", index + 1
        return JsonObject([*members.items()]).text, index + 1

    def _take_unopened(self, index: int) -> tuple[int, int]:
        """Add an argument whose opening tag, the mark with the index `index`, has lost its name.
        The name is read from the closing tag of the nested element (`</city>`). Return the offset
        behind this tag, and the index of the next mark. Fails by `_fail` in a form without nested
        elements, and if the next mark closes no argument that the call lacks.
        """
        mark = self._marks.all[index]
        closer = self._marks.all[index + 1] if index + 1 < len(self._marks) else None
        named = closer is not None and closer.kind is Kind.VALUE_END and self._lacks(closer.tag)
        if closer is None or not named or not self._body.nested_values:
            self._fail()
        text = self._text[mark.end : closer.begin]
        self._add_argument(closer.tag, _json_of_text(text, types_of(self._schema, closer.tag)))
        return closer.end, index + 2


def _types_in_tag(written: str) -> frozenset[str]:
    """Return the JSON types that the attributes `written` in a key's tag name for its value: string
    for `string="true"` and `type="str"`; all others for `string="false"` and any other type. Return
    an empty set if they name none.
    """
    if _IS_STRING.search(written):
        return frozenset({"string"})
    return NO_STRING if _IS_NO_STRING.search(written) else frozenset()


def _json_of_text(text: str, types: frozenset[str]) -> str:
    """Return the JSON of a value that the model wrote as bare text. If `types` allow a string or
    are empty, it becomes a string, even if it looks like a number (`007`); but `null` is null if
    `types` allow it. Else it becomes a value of one of the types, if it can be read as one and has
    at most `HELD_LIMIT` characters, else a string.
    """
    if not types or "string" in types:
        return "null" if "null" in types and text in NULLS else as_json(text)
    return as_type(text, types) if len(text) <= HELD_LIMIT else as_json(text)
