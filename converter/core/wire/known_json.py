"""A reader of requests' JSON. It does not parse again the values that an earlier request had.

An agent's request repeats the messages of its request before and adds some at the end. The reader
keeps the bytes of each value in a request's object, and of each message in its list of messages. If
the next request has the same bytes, the reader returns the same Python object for them. To compare
bytes takes a hundredth of the time that their reading takes.

Code that gets these values must not change them, because later requests share them.
"""

import codecs
import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import is_, itemgetter
from typing import NamedTuple

from converter.core.wire.long_json import scan_of

_BEGIN = re.compile(rb"[ \t\n\r]*+(\{)")
"""The pattern of the beginning of an object."""
_NAME = re.compile(rb'[ \t\n\r]*+"([^"\\\x00-\x1f\x80-\xff]*+)"[ \t\n\r]*+:[ \t\n\r]*+')
"""The pattern of a key without escapes, and of the colon behind it."""
_NEXT_MEMBER = re.compile(rb"[ \t\n\r]*+([,}])")
"""The pattern of the comma or the closing brace behind a value of an object."""
_LIST = re.compile(rb"(\[)[ \t\n\r]*+")
"""The pattern of the beginning of a list."""
_NEXT = re.compile(rb"[ \t\n\r]*+([,\]])[ \t\n\r]*+")
"""The pattern of the comma or the closing bracket behind an element of a list."""
_NEXT_IN_TEXT = re.compile(r"[ \t\n\r]*+([,\]])[ \t\n\r]*+")
"""The same pattern as `_NEXT`, for text and not for bytes."""
_END = re.compile(rb"[ \t\n\r]*+")
"""The pattern of the blanks that may stand behind the object."""
_BEHIND = frozenset(b",]} \t\n\r")
"""The bytes that may stand directly behind a value. A digit behind the kept bytes `12`, for
example, would make another number of them.
"""
_STEP, _LONGEST_STEP = 1 << 10, 1 << 16
"""How many bytes are compared at once: in the first step, and in the longest. The first steps are
short, because most kept lists differ at their beginning.
"""
_MOST_MEMBERS, _MOST_ELEMENTS = 1 << 8, 1 << 13
"""The most keys of an object and elements of a list that are read one by one, which takes some
milliseconds of mitmproxy's event loop. JSON with more of them is read by `long_json`.
"""
_MOVES = 2
"""How many messages may lose their cache mark (`cache_control`) in the next request. Claude Code
marks two messages.
"""


class KeptValue(NamedTuple):
    """A value, and the offsets at which its bytes begin and end in a request."""

    begin: int
    """The offset at which the bytes of the value begin."""
    end: int
    """The offset behind the bytes of the value."""
    value: object
    """The value as a Python object."""


Spans = list[tuple[int, int]]
"""The offsets at which each element of a list begins and ends, counted from the beginning of the
first element.
"""


@dataclass(slots=True)
class KeptList:
    """The elements of a list in a request, with their bytes."""

    data: bytes
    """The bytes of the request with the list."""
    begin: int
    """The offset of the first element in `data`."""
    values: list[object] = field(default_factory=list)
    """The parsed elements, in their order."""
    spans: Spans = field(default_factory=Spans)
    """For each element the offsets of its beginning and end, counted from `begin`."""

    def add(self, value: object, begin: int, end: int) -> None:
        """Add an element, whose bytes are `data[begin:end]`."""
        self.values.append(value)
        self.spans.append((begin - self.begin, end - self.begin))


@dataclass(frozen=True, slots=True)
class KeptObject:
    """The object of a request, kept for the reading of the next requests."""

    data: bytes
    """The bytes of the request."""
    members: Mapping[str, KeptValue]
    """The values of the object by their keys, without the lists of messages."""
    lists: Mapping[str, KeptList]
    """The lists of messages by their keys."""


class ReadObject(NamedTuple):
    """The result of `read`."""

    value: dict[str, object]
    """The parsed object of the request."""
    kept: KeptObject
    """The same object, to be kept for the reading of the next requests."""
    before: int | None
    """The index of the kept object whose messages this object repeats; `None` if it repeats none.
    """


def read(data: bytes, kept: Sequence[KeptObject], lists: Collection[str]) -> ReadObject | None:
    """Return the object in the bytes of a request, with the values that `json_text.read` returns.

    Return `None` for bytes that are not JSON, and for JSON that this reader does not read: a value
    that is not an object, keys with escapes, a key that stands twice, too many keys or elements.
    JSON may be one or two levels deeper here than in `json_text.read`, because each value is read
    in a call of its own.

    Args:
        data: the bytes.
        kept: the objects that were read before, the newest first.
        lists: the keys with lists of messages. The elements of these lists are kept one by one.
    """
    try:
        return _Reading(data, kept).object(lists)
    except (ValueError, RecursionError, StopIteration):  # StopIteration: no value begins there
        return None


def goes_on(before: KeptObject, now: KeptObject) -> bool:
    """Return True if the request `now` continues the conversation of the request `before`.

    It does if `now` has the messages of `before` at the same indexes. At most `_MOVES` of them may
    differ, because they lost their cache mark; and fewer must differ than are the same.
    """
    for name, one in before.lists.items():
        shared = _count_shared(one, now.lists[name]) if name in now.lists else 0
        if len(one.values) - shared > min(_MOVES, shared - 1):
            return False
    return True


def _count_shared(one: KeptList, other: KeptList) -> int:
    """Return how many elements of both lists are the same object at the same index."""
    return sum(map(is_, one.values, other.values))


class _Reading:
    """The reading of one request's bytes.

    From the first value on that is not kept, the bytes are also decoded to text, because only text
    can be parsed. `_at` is the offset up to which the bytes were read, `_index` the same position
    in the text.
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
        """Return the object in the bytes, as `read` describes it. Raises ValueError, RecursionError
        or StopIteration.
        """
        members, lists_read = dict[str, KeptValue](), dict[str, KeptList]()
        value = dict[str, object]()
        mark = self._take(_BEGIN)
        while mark != b"}":
            name = self._take(_NAME).decode()
            if name in value or len(value) == _MOST_MEMBERS:
                raise ValueError(f"expected few members, once each, got {name!r}")
            if name in lists and self._data.startswith(b"[", self._at):
                lists_read[name] = self._read_list(name)
                value[name] = [*lists_read[name].values]  # a copy: a request may change its list
            else:
                members[name] = self._read_member(name)
                value[name] = members[name].value
            mark = self._take(_NEXT_MEMBER)
        if not _END.fullmatch(self._data, self._at):
            raise ValueError("more follows")
        return ReadObject(value, KeptObject(self._data, members, lists_read), self._before)

    def _read_member(self, name: str) -> KeptValue:
        """Return the value of the key `name`: a kept one if its bytes stand here, or a new one."""
        for before in self._kept:
            one = before.members.get(name)
            if one and self._stands(before.data, one.begin, one.end):
                begin = self._at
                self._move(begin + one.end - one.begin)
                return KeptValue(begin, self._at, one.value)
        return self._read_new()

    def _read_list(self, name: str) -> KeptList:
        """Return the list of messages with the key `name`. Its elements are taken from the kept
        list with which it has the most bytes at the beginning in common.

        The elements up to the first difference are taken unchanged. Behind it, each element is
        compared with the kept element at the same index, and read if it differs. After more than
        `_MOVES` different elements in a row, all further elements are read.
        """
        self._take(_LIST)
        elements, (old, same) = KeptList(self._data, self._at), self._most_equal(name)
        # The byte behind an element must be the same too: else a number at its end might go on.
        count = bisect_left(old.spans, same, key=itemgetter(1))
        mark, others = b",", 0
        if count:
            elements.values, elements.spans = old.values[:count], old.spans[:count]
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
            elements.add(value if stands else self._read_new().value, at, self._at)
            mark = self._take(_NEXT)
        if mark == b",":
            self._read_on(elements)
        if not _count_shared(old, elements):
            self._before = None
        return elements

    def _most_equal(self, name: str) -> tuple[KeptList, int]:
        """Return the kept list with the key `name` that has the most bytes in common with the list
        at `_at`, counted from the first element, and the number of these bytes. Set `_before` to
        the index of the kept object with that list.
        """
        furthest, longest = KeptList(b"", 0), 0
        for number, each in enumerate(self._kept):
            if one := each.lists.get(name):
                same = _count_equal(self._data, self._at, each.data, one.begin)
                if same > longest:
                    furthest, longest, self._before = one, same, number
        return furthest, longest

    def _stands(self, before: bytes, begin: int, end: int) -> bool:
        """Return True if the bytes of a kept value, `before[begin:end]`, stand at `_at`, and the
        byte behind them ends the value.
        """
        data, behind = self._data, self._at + end - begin
        if data[self._at : behind] != before[begin:end]:
            return False
        return behind < len(data) and data[behind] in _BEHIND

    def _read_on(self, elements: KeptList) -> None:
        """Read all further elements of a list, and add them to `elements`."""
        text = self._decoded_rest()
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
        for value, (begin, end) in zip(values, _in_bytes(text[first:], spans), strict=True):
            elements.add(value, self._at + begin, self._at + end)
        self._at, self._index = len(self._data) - len(text[index:].encode()), index

    def _read_new(self) -> KeptValue:
        """Parse the value at `_at`, because it is not kept, and move behind it."""
        text = self._decoded_rest()
        value, end = self._scan(self._index)
        begin, size = self._at, len(text[self._index : end].encode())
        self._at, self._index = begin + size, end
        return KeptValue(begin, begin + size, value)

    def _decoded_rest(self) -> str:
        """Return the text in which `_index` is a position. The first call decodes it from the bytes
        that are not read yet.
        """
        if self._text is None:
            self._text = str(memoryview(self._data)[self._at :], "utf-8")
            self._scan = partial(scan_of(self._text), self._text)
        return self._text

    def _take(self, pattern: re.Pattern[bytes]) -> bytes:
        """Move behind the match of `pattern` at `_at`, and return the match's first group. Raises
        ValueError if the pattern does not match there.
        """
        match = pattern.match(self._data, self._at)
        if match is None:
            raise ValueError(f"expected {pattern.pattern!r} at byte {self._at}")
        self._move(match.end())
        return match[1]

    def _move(self, to: int) -> None:
        """Go on reading at the offset `to`."""
        if self._text is not None:
            self._index += len(self._data[self._at : to].decode())
        self._at = to


def _count_equal(data: bytes, at: int, other: bytes, begin: int) -> int:
    """Return how many bytes in a row are equal in `data`, from the offset `at` on, and in `other`,
    from the offset `begin` on.
    """
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
    """Return the spans of a text, counted in bytes instead of characters. The characters between
    the spans must be ASCII.
    """
    if text.isascii():
        return spans
    spans_in_bytes, at, index = Spans(), 0, 0
    for begin, end in spans:
        at += begin - index
        spans_in_bytes.append((at, at := at + len(text[begin:end].encode())))
        index = end
    return spans_in_bytes
