"""Calls as Gemma writes them: `call:NAME{city:<|"|>Oslo<|"|>,days:3,tags:[<|"|>a<|"|>]}`, and its
small models: `call:NAME(city="Oslo")`. Strings may stand in ordinary quotes.

A string ends at the quote behind which the form goes on. A bare value ends at a comma only where a
parameter follows: a word before a colon that is no parameter of the tool is part of the value. A
value that nothing but such a rule ends holds no mark of a call.
"""

import re
from typing import NoReturn

from converter.core.calls.arguments import meaning_of
from converter.core.calls.schema_values import (
    NULLS,
    Schema,
    literal,
    part,
    properties_of,
    type_names,
    typed,
)
from converter.core.reading.tool_calls.gemma_body import Gemma
from converter.core.reading.tool_calls.json_object import json_object
from converter.core.reading.tool_calls.python_judge import python_arguments
from converter.core.reading.tool_calls.span import Broken, NoCall, Span, Unclosed
from converter.core.reading.tool_calls.verdict import End, JudgedCall

_LIMIT = 64
"""Values within values; models write three or four."""
_BARE_LIMIT = 4096
"""Characters of a value without quotes and brackets."""
_NAME = re.compile(r"([^{(\n]{0,256}+)([{(])")
_TYPES = frozenset({"null", "boolean", "number"})
_KEY = re.compile(r"""["']?([^"':,{}\[\]<\n]{1,256}+)["']?\s*+:""")
_KEY_BEGUN = re.compile(r"""["']?[^"':,{}\[\]<]{0,256}+["']?\s*\Z""")
_WORD = re.compile(r"[^\W\d][\w.-]*+\s*\Z")
_UNOPENED = re.compile(r"""[^:{}\[\]"'<]{1,4096}+""")
_BARE_STOP = re.compile(r"[,}\]{\[]")
_UNESCAPED = re.compile(r'\\.|"', re.DOTALL)
_QUOTE = {quote: re.compile(rf"\\.|{quote}", re.DOTALL) for quote in "\"'"}
_MARK = re.compile(
    r"<\|?/?\|?(?:tool_call|function|invoke|start_function|end_function)|\[TOOL_CALLS\]"
    r"|\bcall:[\w.-]+\s*[{(]"
)


class GemmaCalls:
    """The calls of a span."""

    has_brackets = True

    def __init__(self, span: Span) -> None:
        self._span = span
        assert isinstance(span.row.body, Gemma)
        self._body = span.row.body

    def find(self, at: int) -> int:
        """Return where the next call begins; -1 where none comes."""
        text, gap = self._span.text, self._span.gap
        begin = gap(at)
        while at and text[begin : begin + 1] == ",":
            begin = gap(begin + 1)
        heads = [head for head in self._body.heads if not at or head[0] != ":"]
        return begin if text.startswith(tuple(heads), begin) else -1

    def read(self, at: int) -> JudgedCall:
        """Read the call that begins at an offset."""
        span, text = self._span, self._span.text
        at += len(next(head for head in self._body.heads if text.startswith(head, at)))
        head = _NAME.match(text, at)
        name = span.named(head[1]) if head else ""
        if not head or not name:
            raise NoCall
        if head[2] == "(":
            arguments, end = python_arguments(span, name, head.end(), self._body.quote)
            told = False
        else:
            values = _Values(span, name, self._body.quote)
            end = values.read(head.end())
            arguments, told = "".join(values.out), len(values.out) > len("{}")
        behind = span.gap(end)
        comma = text[behind : behind + 1] == ","
        behind = span.gap(behind + 1) if comma else behind
        ends = behind >= len(text) or text[behind] == "<" or text.startswith("call", behind)
        if text[behind : behind + 1] == "{" or (comma and not ends):
            raise Broken(name) if told else NoCall  # the bracket may have stood too early
        return JudgedCall(name, arguments, end=end)


class _Values:
    """The values of one call, written to `out` as JSON."""

    def __init__(self, span: Span, name: str, quote: str) -> None:
        self._span, self._text, self._name = span, span.text, name
        self._quote = quote
        self._root = span.schema(name)
        self.out: list[str] = ["{"]

    def read(self, at: int) -> int:
        """Read the arguments behind their brace; return the offset behind them."""
        return self._object(at, self._root, 0)

    def _fail(self) -> NoReturn:
        raise Broken(self._name) if len(self.out) > 1 else NoCall

    def _is_over(self, at: int) -> bool:
        """Tell whether the text ends here, or a mark closes the call. Raises Unclosed for a reply
        that was cut.
        """
        if self._span.closes(at):
            return True
        if at < len(self._text):
            return False
        if self._span.end is End.CUT:
            raise Unclosed(self._name, "".join(self.out))
        return True

    def _object(self, at: int, schema: Schema, depth: int) -> int:
        """Read members up to the brace; write them and the brace."""
        given: dict[str, str] = {}
        gap, first = self._span.gap, True
        while self._text[(at := gap(at)) : at + 1] != "}":
            if not first and self._is_over(at):
                break
            if not first and self._text[at] != ",":
                self._fail()
            at = at if first else gap(at + 1)
            if self._text[at : at + 1] == "}":  # a comma too many
                break
            name, at = self._key(at)
            begin = len(self.out)
            self.out.append(f"{'' if first else ', '}{literal(name)}: ")
            at, first = self._value(at, part(schema, name, self._root), schema, depth), False
            written = "".join(self.out[begin + 1 :])
            before = given.setdefault(name, written)
            if before is not written:
                if meaning_of(before) != meaning_of(written):
                    raise Broken(self._name)
                del self.out[begin:]
        self.out.append("}")
        return min(at + 1, len(self._text)) if self._text[at : at + 1] == "}" else at

    def _key(self, at: int) -> tuple[str, int]:
        """Return the key at an offset, and the offset behind its colon."""
        if self._text.startswith(self._quote, at):
            begin = at + len(self._quote)
            end = self._text.find(self._quote, begin, begin + 512)
            colon = self._span.gap(end + len(self._quote))
            if end >= 0 and self._text[colon : colon + 1] == ":":
                return self._text[begin:end], self._span.gap(colon + 1)
            self._fail()
        found = _KEY.match(self._text, at)
        if not found:
            if _KEY_BEGUN.match(self._text, at):
                raise Unclosed(self._name, "".join(self.out))
            self._fail()
        return found[1].strip(), self._span.gap(found.end())

    def _list(self, at: int, schema: Schema, depth: int) -> int:
        gap, first = self._span.gap, True
        while self._text[(at := gap(at)) : at + 1] != "]":
            if not first and self._is_over(at):
                break
            if not first and self._text[at] != ",":
                self._fail()
            at = at if first else gap(at + 1)
            self.out.append("" if first else ", ")
            at, first = self._value(at, part(schema, "", self._root), None, depth), False
        self.out.append("]")
        return at + 1 if self._text[at : at + 1] == "]" else at

    def _value(self, at: int, schema: Schema, around: Schema | None, depth: int) -> int:
        """Read a value; return the offset behind it. `around`: the schema of its object, None
        within a list.
        """
        mark = self._text[at : at + 1]
        if depth > _LIMIT:
            self._fail()
        if mark in ("{", "["):
            self.out.append(mark)
            read = self._object if mark == "{" else self._list
            return read(at + 1, schema, depth + 1)
        if self._text.startswith(self._quote, at):
            return self._string(at + len(self._quote), around)
        if mark in _QUOTE:
            return self._quoted(at + 1, mark, around)
        unopened = _UNOPENED.match(self._text, at)
        if unopened and self._text.startswith(self._quote, unopened.end()):
            words = unopened[0]
            if not words.rstrip().endswith(","):  # Gemma 4 leaves a string's first mark out
                self.out.append(literal(words))
                return unopened.end() + len(self._quote)
        return self._bare(at, schema, around)

    def _goes_on(self, at: int, around: Schema | None) -> bool:
        """Tell whether the form goes on behind a value."""
        at = self._span.gap(at)
        mark, behind = self._text[at : at + 1], self._span.gap(at + 1)
        if mark == "," and around is not None and self._text[behind : behind + 1] != "}":
            return self._is_key(behind, around)
        return mark in ("", ",", "}", "]") or self._span.closes(at)

    def _is_key(self, at: int, around: Schema) -> bool:
        """Tell whether a key comes next: one of the object's properties where these are known."""
        if self._text.startswith(self._quote, at):
            return True
        found, known = _KEY.match(self._text, at), properties_of(around)
        if not found:
            return False
        name = found[1].strip()
        return name in known if known else bool(_WORD.match(name))

    def _string(self, at: int, around: Schema | None) -> int:
        """Read a string up to its mark. The token stands for quotation marks within it as well."""
        end = self._text.find(self._quote, at)
        while end >= 0 and not self._goes_on(end + len(self._quote), around):
            end = self._text.find(self._quote, end + 1)
        within = '"' if '"' in self._quote else self._quote
        words = self._text[at : end if end >= 0 else self._span.length]
        written = literal(words.replace(self._quote, within))
        if end < 0:
            raise Unclosed(self._name, "".join([*self.out, written[:-1]]))
        self.out.append(written)
        return end + len(self._quote)

    def _quoted(self, at: int, quote: str, around: Schema | None) -> int:
        """Read a string in ordinary quotes, up to the one behind which the form goes on."""
        uncertain = False
        for found in _QUOTE[quote].finditer(self._text, at):
            if found[0] != quote:
                continue
            if self._goes_on(found.end(), around):
                words = self._text[at : found.start()]
                if uncertain and _MARK.search(words):
                    self._fail()
                self.out.append(_escaped(words))
                return found.end()
            uncertain = True
        words = _escaped(self._text[at : self._span.length])
        raise Unclosed(self._name, "".join([*self.out, words[:-1]]))

    def _bare(self, at: int, schema: Schema, around: Schema | None) -> int:
        """Read a value without quotes and brackets."""
        several, types = False, type_names(schema, self._root)
        for found in _BARE_STOP.finditer(self._text, at, at + _BARE_LIMIT):
            if found[0] != "," or around is None or self._goes_on(found.start(), around):
                break
            several = True
        else:
            if len(self._text) - at < _BARE_LIMIT:
                raise Unclosed(self._name, "".join(self.out))
            self._fail()
        words = self._text[at : found.start()].strip()
        is_marked = _MARK.search(words) or self._quote in words or found[0] in "{["
        if not words or is_marked or (several and types and "string" not in types):
            self._fail()
        if "string" in types and not ("null" in types and words in NULLS):
            self.out.append(literal(words))
        else:
            self.out.append(typed(words, types or _TYPES))
        return found.start()


def _escaped(words: str) -> str:
    """Return the words of a string in ordinary quotes as JSON."""
    inner = _UNESCAPED.sub(lambda found: found[0] if len(found[0]) > 1 else '\\"', words)
    return json_object(f'{{"a": "{inner}"}}', 0).members[0][1]
