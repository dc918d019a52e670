"""JSON that says again what was said before: values whose bytes are kept are not read again.

A request of an agent repeats the one before it and adds to the end. Each member of its object, and
each message in a list, is known by its bytes: where the same bytes stand again, the value of before
stands for them, the same object. Comparing bytes takes a hundredth of the time that reading them
takes. Nobody may change a value that was read here, because later requests share it.
"""

import codecs
import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import is_, itemgetter
from typing import NamedTuple

from converter.core.wire import json_text
from converter.core.wire.long_json import LONG, LongText, check

_BEGIN = re.compile(rb"[ \t\n\r]*+(\{)")
_NAME = re.compile(rb'[ \t\n\r]*+"([^"\\\x00-\x1f\x80-\xff]*+)"[ \t\n\r]*+:[ \t\n\r]*+')
"""A member's name, if it is written without an escape."""
_NEXT_MEMBER = re.compile(rb"[ \t\n\r]*+([,}])")
_LIST = re.compile(rb"(\[)[ \t\n\r]*+")
_NEXT = re.compile(rb"[ \t\n\r]*+([,\]])[ \t\n\r]*+")
_NEXT_IN_TEXT = re.compile(r"[ \t\n\r]*+([,\]])[ \t\n\r]*+")
_END = re.compile(rb"[ \t\n\r]*+")
_BEHIND = frozenset(b",]} \t\n\r")
"""Bytes that may follow a value; other ones would make another number of a number."""
_STEP, _LONGEST_STEP = 1 << 10, 1 << 16
"""Bytes that are compared at once: few at first, because most kept lists begin otherwise."""
_MOST_MEMBERS, _MOST_ELEMENTS = 1 << 8, 1 << 13
"""Members and elements that are read one by one: some milliseconds on mitmproxy's loop. C reads
more of them at once.
"""
_PART = 16
"""Part of a kept list that must be repeated, because the spans in it are yet to be counted."""
_MOVES = 2
"""Messages of a request that lose a mark in the next one: Claude Code marks two."""


class KeptValue(NamedTuple):
    """A value, and the span of its bytes."""

    begin: int
    end: int
    value: object


Spans = list[tuple[int, int]]
"""Where elements begin and end, counted from where the first one begins."""


class KeptList:
    """The elements of a list whose first one begins at the byte `begin` of `data`.

    The spans of a list that is all new are those in its text, and in its bytes when they are asked
    for, because many lists are never repeated, and counting takes half as long as reading.
    """

    def __init__(self, data: bytes, begin: int) -> None:
        self.begin = self.end = begin
        self.values: list[object] = []
        self.data = data
        self._spans: Spans = []
        self._in_text: Spans | None = None

    def begin_with(self, other: "KeptList", count: int) -> None:
        """Take over so many elements of a list that begins with the same bytes."""
        self.values, self._spans = other.values[:count], other.spans[:count]

    def add(self, value: object, begin: int, end: int) -> None:
        """Add an element, by the spans of its bytes."""
        self.values.append(value)
        self._spans.append((begin - self.begin, end - self.begin))

    def fill(self, values: list[object], in_text: Spans) -> None:
        """Add all elements, by their spans in the text."""
        self.values, self._in_text = values, in_text

    @property
    def spans(self) -> Spans:
        """The spans of the elements' bytes."""
        in_text = self._in_text
        if in_text is not None:  # several threads may do this, with one result
            text = str(memoryview(self.data)[self.begin : self.end], "utf-8")
            self._spans = _in_bytes(text, in_text)
            self._in_text = None
        return self._spans


@dataclass(frozen=True, slots=True)
class KeptObject:
    """The bytes of an object as they arrived, its members, and its lists of messages."""

    data: bytes
    members: Mapping[str, KeptValue]
    lists: Mapping[str, KeptList]


class ReadObject(NamedTuple):
    """An object that was read.

    Attributes:
        value: The object.
        kept: Its bytes and spans, for the reading of the next one.
        before: The index of the kept object whose messages it repeats; `None`: it repeats none.
    """

    value: dict[str, object]
    kept: KeptObject
    before: int | None


def read(data: bytes, kept: Sequence[KeptObject], lists: Collection[str]) -> ReadObject | None:
    """Return the object that `json_text.read` returns; `None` for bytes of an unusual form, and for
    what is no JSON. `kept`: objects that were read before. `lists`: the names of members whose
    elements are kept one by one. JSON that is nested ten thousand levels deep may have one or two
    levels more here, because each value is read by itself.
    """
    try:
        return _Reading(data, kept).object(lists)
    except (ValueError, RecursionError, StopIteration):  # the last one is raised by `json`
        return None


def goes_on(before: KeptObject, now: KeptObject) -> bool:
    """Return True if an object repeats the messages of another one, all but `_MOVES` of them at
    most, whose marks have moved on. It must repeat more of them than it lacks.
    """
    for name, one in before.lists.items():
        shared = _shared(one, now.lists[name]) if name in now.lists else 0
        if len(one.values) - shared > min(_MOVES, shared - 1):
            return False
    return True


def _shared(one: KeptList, other: KeptList) -> int:
    return sum(map(is_, one.values, other.values))


class _Reading:
    """One reading. `_at`: its place in the bytes. The bytes from the first new value on are text as
    well, and `_index` is the same place in that.
    """

    def __init__(self, data: bytes, kept: Sequence[KeptObject]) -> None:
        self._data = data
        self._kept = kept
        self._at = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0
        self._index = 0
        self._text: str | None = None
        self._scan: Callable[[int], tuple[object, int]]
        self._before: int | None = None

    def object(self, lists: Collection[str]) -> ReadObject:
        """Return the object. Raises ValueError, RecursionError or StopIteration."""
        members, lists_read = dict[str, KeptValue](), dict[str, KeptList]()
        value = dict[str, object]()
        mark = self._take(_BEGIN)
        while mark != b"}":
            name = self._take(_NAME).decode()
            if name in value or len(value) == _MOST_MEMBERS:
                raise ValueError(f"expected few members, once each, got {name!r}")
            if name in lists and self._data.startswith(b"[", self._at):
                lists_read[name] = self._list(name)
                value[name] = [*lists_read[name].values]  # a list of its own for each request
            else:
                members[name] = self._member(name)
                value[name] = members[name].value
            mark = self._take(_NEXT_MEMBER)
        if not _END.fullmatch(self._data, self._at):
            raise ValueError("more follows")
        return ReadObject(value, KeptObject(self._data, members, lists_read), self._before)

    def _member(self, name: str) -> KeptValue:
        for before in self._kept:
            one = before.members.get(name)
            if one and self._stands(before.data, one.begin, one.end):
                begin = self._at
                self._move(begin + one.end - one.begin)
                return KeptValue(begin, self._at, one.value)
        return self._new()

    def _list(self, name: str) -> KeptList:
        """Return the elements: those of the kept list that is repeated furthest (the newest of
        several), and behind these each that stands at its old index again, or is new. After some
        others in a row all are new.
        """
        self._take(_LIST)
        elements, (old, same) = KeptList(self._data, self._at), self._furthest(name)
        # as far as the byte behind an element, which ends a number
        count = bisect_left(old.spans, same, key=itemgetter(1))
        mark, others = b",", 0
        if count:
            elements.begin_with(old, count)
            self._move(self._at + old.spans[count - 1][1])
            mark = self._take(_NEXT)
        for (begin, end), value in zip(old.spans[count:], old.values[count:], strict=True):
            if mark != b"," or others > _MOVES:
                break
            at = self._at
            stands = self._stands(old.data, old.begin + begin, old.begin + end)
            others = 0 if stands else others + 1
            if stands:
                self._move(at + end - begin)
            elements.add(value if stands else self._new().value, at, self._at)
            mark = self._take(_NEXT)
        if mark == b",":
            self._read_on(elements)
        elements.end = self._at
        if not _shared(old, elements):
            self._before = None
        return elements

    def _furthest(self, name: str) -> tuple[KeptList, int]:
        """Return a kept list, and how many bytes are the same from there on."""
        furthest, longest = KeptList(b"", 0), 0
        for number, each in enumerate(self._kept):
            if one := each.lists.get(name):
                same = _same(self._data, self._at, each.data, one.begin)
                if same > longest and _PART * same >= one.end - one.begin:
                    furthest, longest, self._before = one, same, number
        return furthest, longest

    def _stands(self, before: bytes, begin: int, end: int) -> bool:
        """Return True if the data goes on with `before[begin:end]`, a kept value, and a byte behind
        that ends a value.
        """
        data, behind = self._data, self._at + end - begin
        if data[self._at : behind] != before[begin:end]:
            return False
        return behind < len(data) and data[behind] in _BEHIND

    def _read_on(self, elements: KeptList) -> None:
        """Read the new elements up to the end of the list."""
        text = self._rest()
        first = index = self._index
        values, spans, mark = list[object](), Spans(), ","
        while mark == ",":
            value, end = self._scan(index)
            behind = _NEXT_IN_TEXT.match(text, end)
            if behind is None or len(values) == _MOST_ELEMENTS:
                raise ValueError(f"expected few elements, and an end behind {len(values)}")
            values.append(value)
            spans.append((index - first, end - first))
            index, mark = behind.end(), behind[1]
        if elements.values:
            for value, (begin, end) in zip(values, _in_bytes(text[first:], spans), strict=True):
                elements.add(value, self._at + begin, self._at + end)
        else:
            elements.fill(values, spans)
        self._at, self._index = len(self._data) - len(text[index:].encode()), index

    def _new(self) -> KeptValue:
        """Read a value that no kept object has."""
        text = self._rest()
        value, end = self._scan(self._index)
        begin, size = self._at, len(text[self._index : end].encode())
        self._at, self._index = begin + size, end
        return KeptValue(begin, begin + size, value)

    def _rest(self) -> str:
        """Return the text from the first new value on."""
        if self._text is None:
            self._text = str(memoryview(self._data)[self._at :], "utf-8")
            self._scan = partial(json_text.scan, self._text)
            if len(self._text) > LONG:
                check(self._text)
                self._scan = LongText(self._text, json_text.scan).value
        return self._text

    def _take(self, pattern: re.Pattern[bytes]) -> bytes:
        """Go behind a match, and return the mark or the name in it. Raises ValueError."""
        match = pattern.match(self._data, self._at)
        if match is None:
            raise ValueError(f"expected {pattern.pattern!r} at byte {self._at}")
        self._move(match.end())
        return match[1]

    def _move(self, to: int) -> None:
        if self._text is not None:
            self._index += len(self._data[self._at : to].decode())
        self._at = to


def _same(data: bytes, at: int, other: bytes, begin: int) -> int:
    """Return how many bytes are the same from these spans on."""
    same, step, grows = 0, _STEP, True
    while step:
        piece = data[at + same : at + same + step]
        if piece and piece == other[begin + same : begin + same + step]:
            same += len(piece)
            step = min(2 * step, _LONGEST_STEP) if grows else step
        else:
            step, grows = step // 2, False
    return same


def _in_bytes(text: str, spans: Spans) -> Spans:
    """Return the spans in the bytes of a text whose characters between the spans are ASCII."""
    spans_in_bytes, at, index = Spans(), 0, 0
    for begin, end in spans:
        at += begin - index
        spans_in_bytes.append((at, at := at + len(text[begin:end].encode())))
        index = end
    return spans_in_bytes
