"""Calls written in tags: a function's tag with a tag for each parameter, or keys and values in
turn.

Values are bare text, typed by the tool's schema. The closing mark of a value counts only where the
form goes on behind it, because a value may be text about these very marks.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

from converter.parsing.mark_search import Mark, MarkSearch
from converter.parsing.tool_calls.call import Call, Calls
from converter.parsing.tool_calls.json_body import NAME_LIMIT, object_of
from converter.parsing.tool_calls.source import BLANKS, Judge, Refused, Says, Source, Step
from converter.parsing.tool_calls.values import NO_STRING, Value, types_of, value

OPEN_LIMIT = 4096
"""Characters behind a call's closing mark in a value, in which the value's own must come for the
call's to be text."""
_HEADER = re.compile(r"""\s*(?:(?:name|key|tool)=)?["']?([^"'\s]+)["']?(.*)""", re.DOTALL)
_IS_STRING = re.compile(r"""\bstring=["']?true|\btype=["']?str""")
_IS_JSON = re.compile(r"""\bstring=["']?false|\btype=["']?(\w+)""")
_WORD = re.compile(r"\s*([\w.:/-]+)(?=[^\w.:/-])")
_NO_WORD = re.compile(r"\s*[^\s\w.:/-]")
_CDATA = "<![CDATA[", "]]>"


@dataclass(frozen=True, slots=True)
class Tags:
    """`heads`: beginnings of a call's tag, up to the name; `end`: the mark that closes the call.

    `parameters` and `ends`: the same for a parameter. `tag_end`: the end of an opening tag.
    `padded`: a value has a line end at both its ends. `open_ended`: nothing closes the call.
    `cdata`: a value may stand in a CDATA section.
    """

    heads: Sequence[str]
    end: Sequence[str]
    parameters: Sequence[str]
    ends: Sequence[str]
    tag_end: str = ">"
    padded: bool = True
    open_ended: bool = False
    cdata: bool = False

    def read(self, source: Source, calls: Calls) -> Step[bool]:
        """Read one call."""
        call = calls.current
        name, _ = _header((yield from source.short(marks_of(self.tag_end), NAME_LIMIT))[0])
        call.named(name)
        first, place = yield from source.ahead((*self.parameters, *self.end, "{"))
        if first == "{":
            source.take(place)
            yield from self._json(source, call)
            return False
        if not first:
            raise Refused
        call.open()
        yield from self._parameters(source, call, calls.close)
        call.complete()
        return False

    def _json(self, source: Source, call: Call) -> Step[None]:
        """Read arguments that are an object, as Llama 3.1 writes them."""
        yield from object_of(source, call)
        if not (yield from source.accept(self.end)):
            raise Refused
        call.complete()

    def _parameters(self, source: Source, call: Call, close: Sequence[str]) -> Step[None]:
        end: str | None = None
        while end not in (*self.end, *close):
            if end not in self.parameters:
                end = yield from source.accept((*self.parameters, *self.end))
            if end in self.parameters:
                end = yield from self._parameter(source, call, close)
            elif not end:
                yield from self._unended(source, close)
                return

    def _unended(self, source: Source, close: Sequence[str]) -> Step[None]:
        """A call whose end is left out is complete if its outer mark follows, or nothing can."""
        followed = close and (yield from source.ahead(close))[0]
        if not followed and not (self.open_ended and not source.cut):
            raise Refused

    def _parameter(self, source: Source, call: Call, close: Sequence[str]) -> Step[str]:
        """Read a parameter; return the mark that ended its value: its own, the call's or one around
        it, or that of another parameter of the tool's, because models leave closing marks out.
        """
        name, types_named = _header(
            (yield from source.short(marks_of(self.tag_end), NAME_LIMIT))[0]
        )
        call.key(name)
        types = _types(types_named) or types_of(call.schema, name)
        written = _padded(value(types, call.say), self.padded)
        if self.cdata and (yield from source.accept(_CDATA[:1])):
            yield from source.until(marks_of(_CDATA[1]), written.feed)
        behind = () if self.open_ended else (*self.parameters, *self.end, *close)
        others: dict[str, Judge] = dict.fromkeys(self.parameters, partial(self._is_next, call))
        ends = (*self.ends, *self.end)
        others |= _enders(close, source, ends, self.parameters)
        marks = marks_of(*ends, *others)
        ended = yield from source.until(marks, written.feed, behind, others)
        if not ended:
            raise Refused
        written.close()
        return ended

    def _is_next(self, call: Call, after: str, last: bool) -> bool | None:
        """Tell whether a tag is that of a parameter that the tool has, and the call has not yet."""
        tag, ended, _ = after.partition(self.tag_end)
        if not ended and not last and len(after) <= NAME_LIMIT + len(self.tag_end):
            return None
        match = _HEADER.fullmatch(tag) if ended and len(tag) <= NAME_LIMIT else None
        return match is not None and call.lacks(match[1])


@dataclass(frozen=True, slots=True)
class Pairs:
    """The bare name, then keys and values in turn; `separator` may follow the name.

    `key`, `value`, `kind`: opening and closing marks; a kind may stand between key and value. A
    value may have no opening mark.
    """

    key: tuple[str, str]
    value: tuple[str, str]
    kind: tuple[str, str] = ("", "")
    separator: str = ""
    heads: Sequence[str] = ("",)

    def read(self, source: Source, calls: Calls) -> Step[bool]:
        """Read one call, and its closing mark."""
        call, nexts = calls.current, (self.key[0], *calls.close)
        written = yield from _word(source)
        if self.separator:
            yield from source.accept((self.separator,))
        if not written or not (yield from source.ahead(nexts))[0]:
            raise Refused
        call.named(written)
        call.open()
        ended = self.key[0]
        while ended == self.key[0]:
            if not (ended := (yield from source.accept(nexts))):
                raise Refused
            if ended == self.key[0] and (yield from self._pair(source, call, calls.close)):
                break
        call.complete()
        return True

    def _pair(self, source: Source, call: Call, close: Sequence[str]) -> Step[bool]:
        """Read a key and its value; tell whether the call's own closing mark ended them."""
        name = (yield from source.short(marks_of(self.key[1]), NAME_LIMIT))[0].strip()
        if self.kind[0] and (yield from source.accept(self.kind[:1])):
            yield from source.short(marks_of(self.kind[1]), NAME_LIMIT)
        if self.value[0] and not (yield from source.accept(self.value[:1])):
            raise Refused
        call.key(name)
        written = value(types_of(call.schema, name), call.say)
        closing = (*close, *(f"\n{mark}" for mark in close))
        others = _enders(closing, source, self.value[1:], self.key[:1])
        marks, nexts = marks_of(self.value[1], *others), (self.key[0], *close)
        if not (ended := (yield from source.until(marks, written.feed, nexts, others))):
            raise Refused
        written.close()
        return ended in others


def _enders(
    close: Sequence[str], source: Source, ends: Sequence[str], begins: Sequence[str]
) -> dict[str, Judge]:
    """Return the marks that close a call, judged in a value: they end it as well where its own mark
    was left out, which shows by the first mark behind them. `ends`: marks that end a value;
    `begins`: those of the next, which counts only in another call directly behind.
    """
    marks = marks_of(*ends, *begins)

    def judge(opener: str, after: str, last: bool) -> bool | None:
        if match := marks.search(after[:OPEN_LIMIT]):
            return match[0] in begins and after.lstrip(BLANKS).startswith(opener)
        if len(after) >= OPEN_LIMIT:
            return False
        return not source.cut if last else None

    return {mark: partial(judge, mark.strip().replace("</", "<")) for mark in close}


def _word(source: Source) -> Step[str]:
    """Return the name that comes next; none if no mark or blank follows it in time."""
    while not (match := _WORD.match(source.rest)):
        if source.last or len(source.rest) > NAME_LIMIT or _NO_WORD.match(source.rest):
            return ""
        yield
    if match.end() > NAME_LIMIT:
        return ""
    source.take(match.end())
    return match[1]


def _header(tag: str) -> tuple[str, str]:
    """Return the name in a tag, and the other text in it."""
    match = _HEADER.fullmatch(tag)
    if not match or "<" in tag or "\n" in tag:
        raise Refused
    return match[1], match[2]


def _types(written: str) -> frozenset[str]:
    """Return the types that a parameter's tag tells by itself."""
    if _IS_STRING.search(written):
        return frozenset({"string"})
    return NO_STRING if _IS_JSON.search(written) else frozenset()


@lru_cache(maxsize=64)
def marks_of(*marks: str) -> MarkSearch:
    """Return the search for these marks, made once."""
    return MarkSearch(dict.fromkeys(marks, Mark.CLOSE))


def _padded(inner: Value, padded: bool) -> Value:
    return _Padded(inner.feed, inner.close) if padded else inner


class _Padded:
    """A value less a line end at either end."""

    def __init__(self, feed: Says, close: Callable[[], None]) -> None:
        self._feed = feed
        self._close = close
        self._begun = False
        self._held = ""

    def feed(self, text: str) -> None:
        """Pass the text, but for a line end that may be the last."""
        text = self._held + text
        self._held = ""
        if not self._begun:
            if text == "\r":
                self._held = text
                return
            self._begun = True
            padding = next((end for end in ("\r\n", "\n") if text.startswith(end)), "")
            text = text.removeprefix(padding)
        self._held = next((end for end in ("\r\n", "\n", "\r") if text.endswith(end)), "")
        text = text.removesuffix(self._held)
        if text:
            self._feed(text)

    def close(self) -> None:
        """End the value; a lone carriage return at its end is text."""
        if self._held == "\r":
            self._feed("\r")
        self._close()
