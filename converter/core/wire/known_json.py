"""`read` reads a request's JSON, without parsing again what an earlier request (`KeptObject`) had
already; `goes_on` tells if a request continues another. `converter.addon.memory.known_turns` keeps
the earlier requests.

An agent's request repeats the messages of its previous request and adds some at the end. So the
bytes of each message are kept with its parsed Python object, and so is each other value at the top
level. Where the next request has the same bytes, it gets the same Python object. To compare bytes
takes a hundredth of the time that parsing them takes.

Code that gets these objects must not change them, because later requests share them.
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
"""The pattern of the opening brace of an object, with the blanks before it."""
_KEY = re.compile(rb'[ \t\n\r]*+"([^"\\\x00-\x1f\x80-\xff]*+)"[ \t\n\r]*+:[ \t\n\r]*+')
"""The pattern of a key without escapes, and of the colon behind it."""
_NEXT_MEMBER = re.compile(rb"[ \t\n\r]*+([,}])")
"""The pattern of the comma or closing brace behind a value of an object, with the blanks before it.
"""
_LIST = re.compile(rb"(\[)[ \t\n\r]*+")
"""The pattern of the opening bracket of a list, with the blanks behind it."""
_NEXT = re.compile(rb"[ \t\n\r]*+([,\]])[ \t\n\r]*+")
"""The pattern of the comma or closing bracket behind an element of a list, with the blanks around
it.
"""
_NEXT_IN_TEXT = re.compile(r"[ \t\n\r]*+([,\]])[ \t\n\r]*+")
"""The pattern of `_NEXT` (a comma or closing bracket), for text instead of bytes."""
_END = re.compile(rb"[ \t\n\r]*+")
"""The pattern of the blanks that may stand behind the whole object, at the end of the request."""
_BEHIND = frozenset(b",]} \t\n\r")
"""The bytes of which one must stand directly behind a value. If a digit stood behind the kept bytes
`12`, for example, they would be the beginning of another number.
"""
_STEP, _LONGEST_STEP = 1 << 10, 1 << 16
"""How many bytes are compared at once: in the first step, and in the longest ones. The first steps
are short, because most kept lists differ from the request's list already at the beginning.
"""
_MOST_MEMBERS, _MOST_ELEMENTS = 1 << 8, 1 << 13
"""The most keys of an object, and the most elements of a list, that are read one by one. To read so
many takes some milliseconds of mitmproxy's event loop. JSON with more is read by `long_json`.
"""
_MOST_MOVED = 2
"""How many messages of a conversation may differ in its next request (in `_read_list`: in a row),
because the client has moved its cache marks (`cache_control`) to other messages. Claude Code marks
two messages.
"""


class KeptValue(NamedTuple):
    """A value of a request's object, and the offsets in the request at which its bytes begin and
    end.
    """

    begin: int
    """The offset at which the bytes of the value begin."""
    end: int
    """The offset behind the bytes of the value."""
    value: object
    """The value as a Python object."""


Spans = list[tuple[int, int]]
"""For each element of a list, the offsets at which it begins and ends, counted from the beginning
of the first element.
"""


@dataclass(slots=True)
class KeptList:
    """The elements of a request's list of messages, each with the place of its bytes."""

    data: bytes
    """The bytes of the whole request."""
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
    """A request's object, kept so that later requests can take values from it."""

    data: bytes
    """The bytes of the request."""
    members: Mapping[str, KeptValue]
    """Each key of the object -> its value. The lists of messages are not in here."""
    lists: Mapping[str, KeptList]
    """The key of each list of messages (`messages`) -> the list."""


class ReadObject(NamedTuple):
    """A request as `read` returns it."""

    value: dict[str, object]
    """The parsed object of the request."""
    kept: KeptObject
    """The same object with its bytes. The caller keeps it and passes it to later calls of `read`,
    so that later requests can take values from it.
    """
    before: int | None
    """The index, in the argument `kept` of `read`, of the request from which messages of this one
    were taken; `None` if there is none.
    """


def read(data: bytes, kept: Sequence[KeptObject], lists: Collection[str]) -> ReadObject | None:
    """Return the object in the bytes of a request. Its values equal those that `json_text.read`
    returns.

    Return `None` for bytes that are not JSON, and for JSON that this reader does not read. The
    whole must be one object. It must not have many keys, a key twice, or a key with escapes or with
    other letters than ASCII. Refused are also long lists of messages, bytes that are not UTF-8, and
    what `long_json` refuses. JSON may have one or two levels more here than in `json_text.read`,
    because each value is parsed in a call of its own.

    Args:
        data: the bytes.
        kept: the objects of earlier requests, the newest first.
        lists: the keys of lists of messages. The elements of these lists are kept one by one.
    """
    try:
        return _Reading(data, kept).object(lists)
    # `scan` raises StopIteration where a value should begin and none does.
    except (ValueError, RecursionError, StopIteration):
        return None


def goes_on(before: KeptObject, now: KeptObject) -> bool:
    """Return True if the request `now` continues the conversation of the request `before`.

    It does if it has nearly all messages of `before` at the same indexes. At most `_MOST_MOVED` may
    differ, because a client may have moved its cache marks; and fewer must differ than are the
    same.
    """
    for name, one in before.lists.items():
        shared = _count_shared(one, now.lists[name]) if name in now.lists else 0
        if len(one.values) - shared > min(_MOST_MOVED, shared - 1):
            return False
    return True


def _count_shared(one: KeptList, other: KeptList) -> int:
    """Return at how many indexes both lists have the same Python object."""
    return sum(map(is_, one.values, other.values))


class _Reading:
    """The reading of one request's bytes.

    At the first value that is not kept, all bytes from there on are also decoded to text, because
    only text can be parsed. `_at` is the offset up to which the bytes were read, and `_index` is
    the same position in that text.
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
        """Return the object in the bytes. `lists`: the keys of lists of messages. Raises
        ValueError, RecursionError or StopIteration for bytes for which `read` returns `None`.
        """
        members, lists_read = dict[str, KeptValue](), dict[str, KeptList]()
        value = dict[str, object]()
        mark = self._take(_BEGIN)
        while mark != b"}":
            name = self._take(_KEY).decode()
            if name in value or len(value) == _MOST_MEMBERS:
                raise ValueError(f"expected few members, once each, got {name!r}")
            if name in lists and self._data.startswith(b"[", self._at):
                lists_read[name] = self._read_list(name)
                # A copy, because the caller may change the request's list, but not the kept one.
                value[name] = [*lists_read[name].values]
            else:
                members[name] = self._read_member(name)
                value[name] = members[name].value
            mark = self._take(_NEXT_MEMBER)
        if not _END.fullmatch(self._data, self._at):
            raise ValueError("more follows")
        return ReadObject(value, KeptObject(self._data, members, lists_read), self._before)

    def _read_member(self, name: str) -> KeptValue:
        """Return the value that stands at `_at`, for the key `name`: the kept one, if a kept object
        has the same bytes for this key; else the parsed one.
        """
        for before in self._kept:
            one = before.members.get(name)
            if one and self._repeats(before.data, one.begin, one.end):
                begin = self._at
                self._move(begin + one.end - one.begin)
                return KeptValue(begin, self._at, one.value)
        return self._read_new()

    def _read_list(self, name: str) -> KeptList:
        """Return the list of messages that stands at `_at`, with the key `name`. Elements are taken
        from one kept list: the one whose beginning is the same for the most bytes.

        All elements before the first difference are taken. Behind it, each element is compared with
        the kept one at the same index, and parsed if its bytes differ. After more than
        `_MOST_MOVED` different elements in a row, all further ones are parsed without comparison.
        """
        self._take(_LIST)
        elements, (old, same) = KeptList(self._data, self._at), self._most_equal(name)
        # An element counts as the same only if the byte behind it is the same, too: else `12` would
        # be found in `123`.
        count = bisect_left(old.spans, same, key=itemgetter(1))
        mark, others = b",", 0
        if count:
            elements.values, elements.spans = old.values[:count], old.spans[:count]
            self._move(self._at + old.spans[count - 1][1])
            mark = self._take(_NEXT)
        for (begin, end), value in zip(old.spans[count:], old.values[count:], strict=True):
            if mark != b"," or others > _MOST_MOVED:
                break
            at = self._at
            repeats = self._repeats(old.data, old.begin + begin, old.begin + end)
            others = 0 if repeats else others + 1
            if repeats:
                self._move(at + end - begin)
            elements.add(value if repeats else self._read_new().value, at, self._at)
            mark = self._take(_NEXT)
        if mark == b",":
            self._read_on(elements)
        if not _count_shared(old, elements):
            self._before = None
        return elements

    def _most_equal(self, name: str) -> tuple[KeptList, int]:
        """Compare the list at `_at` with each kept list of the key `name`, byte by byte from the
        first element on. Return the kept list that is the same for the most bytes, and the number
        of these bytes; an empty list and 0 if no kept list begins in the same way. Set `_before` to
        the index of the kept object that has the returned list.
        """
        furthest, longest = KeptList(b"", 0), 0
        for number, each in enumerate(self._kept):
            if one := each.lists.get(name):
                same = _count_equal(self._data, self._at, each.data, one.begin)
                if same > longest:
                    furthest, longest, self._before = one, same, number
        return furthest, longest

    def _repeats(self, before: bytes, begin: int, end: int) -> bool:
        """Return True if the bytes at `_at` repeat those of a kept value, `before[begin:end]`, and
        are a whole value there (`_BEHIND`).
        """
        data, behind = self._data, self._at + end - begin
        if data[self._at : behind] != before[begin:end]:
            return False
        return behind < len(data) and data[behind] in _BEHIND

    def _read_on(self, elements: KeptList) -> None:
        """Parse all further elements of a list, and add them to `elements`."""
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
        """Return the text in which `_index` is an index. The first call decodes all bytes from
        `_at` on to this text. Later calls return the same text.
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
    """Return for how many bytes `data`, from the offset `at` on, is the same as `other`, from the
    offset `begin` on.
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
    """Return spans of a text, given in characters, as offsets in the text's UTF-8 bytes. Between
    the spans, the text must have only ASCII characters (commas and blanks), which take a byte each.
    """
    if text.isascii():
        return spans
    spans_in_bytes, at, index = Spans(), 0, 0
    for begin, end in spans:
        at += begin - index
        spans_in_bytes.append((at, at := at + len(text[begin:end].encode())))
        index = end
    return spans_in_bytes
