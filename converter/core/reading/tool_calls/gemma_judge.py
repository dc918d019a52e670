"""`GemmaCalls` reads calls in Gemma's syntax:
`call:NAME{city:<|"|>Oslo<|"|>,days:3,tags:[<|"|>a<|"|>]}`. Small models also write
`call:NAME(city="Oslo")`. Strings may stand in ordinary quotes.

A string ends at the first quote behind which a closing bracket, the call's end, or a comma with the
next key or list item stands. A value without quotes in an object ends at a comma only if a key of
the schema follows (any key, if the schema has none): in `text:see: note, that: is fine` the value
is `see: note, that: is fine`, unless the tool has a parameter `that`.

The end of some values is doubtful: of values without quotes, and of strings in ordinary quotes that
do not end at their first quote. If such a value contains a mark of a call, as `<tool_call` or
`call:f{`, the text has no clear meaning.
"""

import re
from typing import NoReturn

from converter.core.calls.arguments import meaning_of
from converter.core.calls.schema_values import (
    Schema,
    as_json,
    as_type,
    properties_of,
    subschema,
    type_names,
)
from converter.core.reading.tool_calls.bodies import Gemma
from converter.core.reading.tool_calls.json_object import json_object
from converter.core.reading.tool_calls.python_judge import python_arguments
from converter.core.reading.tool_calls.span import Broken, NoCall, Span, Unclosed
from converter.core.reading.tool_calls.verdict import End, JudgedCall

_LIMIT = 64
"""The most levels of objects and lists within each other. Models write three or four. A text with
more levels has no clear meaning.
"""
_BARE_LIMIT = 4096
"""The most characters of a value without quotes and brackets. A text with a longer value has no
clear meaning.
"""
_NAME = re.compile(r"([^{(\n]{0,256}+)([{(])")
"""The pattern of a tool's name and, in its second group, the bracket behind it."""
_TYPES = frozenset({"null", "boolean", "number"})
"""The types of a value without quotes if the schema allows any type. Other text is a string."""
_KEY = re.compile(r"""["']?([^"':,{}\[\]<\n]{1,256}+)["']?\s*+:""")
"""The pattern of a key, with or without ordinary quotes, and its colon. Its group is the key."""
_KEY_BEGUN = re.compile(r"""["']?[^"':,{}\[\]<]{0,256}+["']?\s*\Z""")
"""The pattern of text that ends within a key or before its colon."""
_WORD = re.compile(r"[^\W\d][\w.-]*+\s*\Z")
"""The pattern of a key that counts where the schema does not restrict keys: it begins with a letter
or `_`.
"""
_NUMBERS = re.compile(r"\[(?:\s*+-?(?:0|[1-9]\d*+)(?:\.\d++)?+\s*+(?:,(?!\s*+\])|(?=\])))++\]")
"""The pattern of a list of numbers that is valid JSON. Such a list is copied as a whole."""
_UNOPENED = {it: re.compile(rf"""[^:{{}}\[\]"'<{it}]{{1,4096}}+""") for it in ("", ",")}
"""The patterns of the text of a string whose opening quote the model left out: `city:Oslo<|"|>`. In
a list (key `","`) the text ends at a comma; in an object (key `""`) it may have commas.
"""
_BARE_STOP = re.compile(r"[,}\]{\[\"]")
"""The pattern of a character that matters in a value without quotes. The value may end at a comma
or a closing bracket; at an opening bracket the reading fails. Quotation marks count, because a
comma between two of them does not end a value of an object.
"""
_UNESCAPED = re.compile(r'\\.|"', re.DOTALL)
"""The pattern of a quotation mark that needs a backslash. It also matches a backslash with the
character behind it, so that an escaped quotation mark gets no second backslash.
"""
_BEHIND = r"(?=\s*+(?:[,}\]<\[]|\Z))"
"""The pattern of the text that must stand behind a quote for the quote to close a string."""
_QUOTES = {quote: re.compile(rf"\\.|{quote}{_BEHIND}", re.DOTALL) for quote in "\"'"}
"""Ordinary quote -> the pattern of such a quote that may end a string: a comma, a bracket, `<` or
the text's end stands behind it. The pattern also matches a backslash with the character behind it,
so that an escaped quote does not count.
"""
_MARK = re.compile(
    r"<\|?/?\|?(?:tool_call|function|invoke|start_function|end_function)|\[TOOL_CALLS\]"
    r"|\bcall:[\w.-]+\s*[{(]"
)
"""The pattern of a mark of calls in common forms. In a value whose end is doubtful, such a mark
shows that the value may contain a call.
"""


class GemmaCalls:
    """The reader of calls in Gemma's syntax, for the text of one span."""

    def __init__(self, span: Span) -> None:
        self._span = span
        assert isinstance(span.row.body, Gemma)
        self._body = span.row.body

    def find(self, at: int) -> int:
        """Return the offset of the next call, from the offset `at` on; -1 if anything but blanks,
        commas and closers of thoughts stands before it, or no call follows.
        """
        text, skip_blanks = self._span.text, self._span.skip_blanks
        begin = skip_blanks(at)
        while at and text[begin : begin + 1] == ",":
            begin = skip_blanks(begin + 1)
        heads = [head for head in self._body.starts if not at or head[0] != ":"]
        return begin if text.startswith(tuple(heads), begin) else -1

    def read(self, at: int) -> JudgedCall:
        """Read the call that begins at the offset `at`. Raises NoCall, Broken or Unclosed if no
        whole call with a clear meaning stands there.
        """
        span, text = self._span, self._span.text
        at += len(next(head for head in self._body.starts if text.startswith(head, at)))
        head = _NAME.match(text, at)
        name = span.offered_name(head[1]) if head else ""
        if not head or not name:
            raise NoCall
        if head[2] == "(":
            arguments, end = python_arguments(span, name, head.end(), self._body.quote)
            has_values = False
        else:
            values = _Values(span, name, self._body.quote)
            end = values.read_items(head.end(), span.schema(name), "}")
            arguments, has_values = "".join(values.out), len(values.out) > len("{}")
        behind = span.skip_blanks(end)
        comma = text[behind : behind + 1] == ","
        behind = span.skip_blanks(behind + 1) if comma else behind
        ends = behind >= len(text) or text[behind] == "<" or text.startswith("call", behind)
        if text[behind : behind + 1] == "{" or (comma and not ends):
            # More arguments seem to stand behind the closing bracket: the model may have written
            # the bracket too early, and a call without these arguments must not run.
            raise Broken(name) if has_values else NoCall
        return JudgedCall(name, arguments, end=end)


class _Values:
    """Reads the arguments of one call (`read_items`), and writes them as JSON.

    Attributes:
        out: the JSON of the arguments so far, in pieces.
    """

    def __init__(self, span: Span, name: str, quote: str) -> None:
        self._span, self._text, self._name = span, span.text, name
        self._quote = quote
        self._root = span.schema(name)
        self.out: list[str] = ["{"]

    def _fail(self) -> NoReturn:
        """End the reading of a text without a clear meaning: raise Broken if the key of an argument
        was read, else NoCall.
        """
        raise Broken(self._name) if len(self.out) > 1 else NoCall

    def read_items(self, at: int, schema: Schema, end: str, depth: int = 0) -> int:
        """Read the keys and values of an object, or the items of a list, up to the bracket `end`.
        Append their JSON and the bracket to `out`, and return the offset behind the bracket. At the
        call's end the bracket may be missing, unless the reply was cut off.

        Args:
            at: the offset behind the opening bracket.
            schema: the schema of the object or list.
            end: the closing bracket, `}` or `]`.
            depth: how many objects and lists stand around this one.
        """
        text, skip_blanks, out, is_object = self._text, self._span.skip_blanks, self.out, end == "}"
        members: dict[str, str] = {}
        separator = ""
        while text[(at := skip_blanks(at)) : at + 1] != end:
            if separator and at == len(text) and self._span.end is End.CUT:
                raise Unclosed(self._name, "".join(out))
            if separator and (at == len(text) or self._span.closes(at)):
                break
            if separator and text[at] != ",":
                self._fail()
            at = skip_blanks(at + 1) if separator else at
            if text[at : at + 1] == end:  # `[1, 2,]`: leave out the last comma
                break
            name, at = self._read_key(at) if is_object else ("", at)
            begin = len(out)
            out.append(separator + (f"{as_json(name)}: " if is_object else ""))
            inner = subschema(schema, name, self._root)
            at, separator = self._read_value(at, inner, schema, end, depth), ", "
            written = "".join(out[begin + 1 :])
            if is_object and (before := members.setdefault(name, written)) is not written:
                if meaning_of(before) != meaning_of(written):
                    raise Broken(self._name)
                del out[begin:]
        out.append(end)
        return at + 1 if text[at : at + 1] == end else at

    def _read_key(self, at: int) -> tuple[str, int]:
        """Return the key at the offset `at`, and the offset of its value, behind the colon.

        If the text ends within the key or before the colon, raises Unclosed; but fails by `_fail`
        if the key stands in the form's own quotes (`<|"|>`). Also fails by `_fail` if any other
        text stands there.
        """
        if self._text.startswith(self._quote, at):
            begin = at + len(self._quote)
            end = self._text.find(self._quote, begin, begin + 512)
            colon = self._span.skip_blanks(end + len(self._quote))
            if end >= 0 and self._text[colon : colon + 1] == ":":
                return self._text[begin:end], self._span.skip_blanks(colon + 1)
            self._fail()
        match = _KEY.match(self._text, at)
        if not match:
            if _KEY_BEGUN.match(self._text, at):
                raise Unclosed(self._name, "".join(self.out))
            self._fail()
        return match[1].strip(), self._span.skip_blanks(match.end())

    def _read_value(self, at: int, schema: Schema, within: Schema, end: str, depth: int) -> int:
        """Append the JSON of the value at the offset `at` to `out`. Return the offset behind it.

        Args:
            at: the offset of the value.
            schema: the schema of the value.
            within: the schema of the object or list around the value.
            end: the closing bracket of this object or list.
            depth: how many objects and lists stand around this one.
        """
        mark, around = self._text[at : at + 1], within if end == "}" else None
        if depth > _LIMIT:
            self._fail()
        if mark == "[" and (numbers := _NUMBERS.match(self._text, at)):
            self.out.append(numbers[0])
            return numbers.end()
        if mark in ("{", "["):
            self.out.append(mark)
            return self.read_items(at + 1, schema, "}" if mark == "{" else "]", depth + 1)
        if self._text.startswith(self._quote, at):
            quote = re.compile(re.escape(self._quote) + _BEHIND)
            return self._read_string(at + len(self._quote), quote, around)
        if mark in _QUOTES:
            return self._read_string(at + 1, _QUOTES[mark], around)
        unopened = _UNOPENED["," if around is None else ""].match(self._text, at)
        if unopened and self._text.startswith(self._quote, unopened.end()):
            text = unopened[0]
            # Gemma 4 may leave out the opening quote of a string: `city:Oslo<|"|>`. But in
            # `days:3,<|"|>city<|"|>:` the quote behind the comma opens the next key.
            if not text.rstrip().endswith(","):
                self.out.append(as_json(text))
                return unopened.end() + len(self._quote)
        return self._read_bare_value(at, schema, around)

    def _may_end(self, at: int, around: Schema | None, sure: bool = False) -> bool:
        """Return True if a value may end at the offset `at`: a closing bracket, the call's end, or
        a comma with a key behind it (in a list: any comma) stands there.

        Args:
            at: the offset behind the possible value.
            around: the schema of the object around the value; if it has properties, the key must
                be one of them. `None` in a list, where any item may follow a comma.
            sure: True for a string that would end at the first quote in it, which is nearly always
                right. Then the key may be any word.
        """
        at = self._span.skip_blanks(at)
        mark, behind = self._text[at : at + 1], self._span.skip_blanks(at + 1)
        if mark != "," or around is None or self._text[behind : behind + 1] == "}":
            return mark in ("", ",", "}", "]") or self._span.closes(at)
        if self._text.startswith(self._quote, behind):
            return True  # a key in the form's own quotes may have any name
        key = _KEY.match(self._text, behind)
        name, names = key[1].strip() if key else "", properties_of({} if sure else around)
        return name in names if names else bool(_WORD.match(name))

    def _read_string(self, at: int, quote: re.Pattern[str], around: Schema | None) -> int:
        """Append the JSON of a string to `out`, and return the offset behind its closing quote.

        A quote closes the string if the value may end there (`_may_end`): because a bracket stands
        behind the quote, for example, or a comma and the next key. If it is the first quote in the
        string, this key may be any word. If it is a later quote, the key must be one of the schema,
        if the schema has keys.

        Args:
            at: the offset behind the opening quote.
            quote: the pattern of a quote that may close the string. It may also match a backslash
                with the character behind it, which is skipped.
            around: the schema of the object around the string; `None` in a list.
        """
        for match in quote.finditer(self._text, at):
            sure = match.start() <= self._text.find(match[0], at)
            if match[0][0] != "\\" and self._may_end(match.end(), around, sure):
                text = self._text[at : match.start()]
                if not sure and self._quote not in match[0] and _MARK.search(text):
                    self._fail()
                self.out.append(self._json_of_string(text, match[0]))
                return match.end()
        begun = self._json_of_string(self._text[at : self._span.length], self._text[at - 1])
        raise Unclosed(self._name, "".join([*self.out, begun[:-1]]))

    def _json_of_string(self, text: str, quote: str) -> str:
        """Return the JSON of a string with the content `text`, which stood between two `quote`.

        Between its tokens `<|"|>`, Gemma 4 writes the same token for each quotation mark in the
        content. These tokens become `"`.
        """
        if quote in _QUOTES:
            # The text may have escapes that JSON lacks, such as `\'`: `json_object` mends them.
            inner = _UNESCAPED.sub(lambda match: match[0] if len(match[0]) > 1 else '\\"', text)
            return json_object(f'{{"a": "{inner}"}}', 0).members[0][1]
        return as_json(text.replace(self._quote, '"') if '"' in self._quote else text)

    def _read_bare_value(self, at: int, schema: Schema, around: Schema | None) -> int:
        """Append the JSON of a value without quotes and brackets (`3`, `New York`) to `out`. Return
        the offset behind the value, which ends before a bracket or a comma. In an object, a comma
        ends it only if a key stands behind the comma: one of the schema `around`, if this has keys.
        Raises Unclosed if the text ends before the value does. Fails by `_fail` if the value is
        longer than `_BARE_LIMIT`, or seems to contain a call or further values.

        `schema`: the schema of the value. `around`: the schema of the object around the value;
        `None` in a list.
        """
        quoted, most = False, at + _BARE_LIMIT
        for match in _BARE_STOP.finditer(self._text, at, most):
            mark, end = match[0], match.start()
            if mark == '"':
                # A comma between quotation marks does not end the value of an object: `see "a, b"`.
                quoted = not quoted and self._text.find('"', end + 1, most) >= 0
            elif mark != "," or around is None or (not quoted and self._may_end(end, around)):
                break
        else:
            if len(self._text) >= most:
                self._fail()
            raise Unclosed(self._name, "".join(self.out))
        text, types = self._text[at:end].strip(), type_names(schema, self._root)
        is_marked = _MARK.search(text) or self._quote in text or self._text[end] in "{["
        if is_marked or ("," in text and types and "string" not in types):
            self._fail()
        is_string = "string" in types and text != "null"
        self.out.append(as_json(text) if is_string else as_type(text, (types or _TYPES) | {"null"}))
        return end
