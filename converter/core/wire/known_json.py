"""JSON that says again what was said before: values whose bytes are known are not read again.

A request of an agent repeats the one before it and adds to the end. Each member of its object, and
each message in a list, is known by its bytes: where the same bytes stand again, the value of before
stands for them, the same object. Comparing bytes takes a hundredth of the time that reading them
takes. Nobody may change a value that was read here, because later requests share it.
"""

import codecs
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from converter.core.wire import json_text

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


type Scan = Callable[[str, int], tuple[object, int]]
"""Takes a text and a place; returns the value that stands there, and the place behind it. Raises
StopIteration where none does, ValueError and RecursionError.
"""


class Known(NamedTuple):
    """A value, and the place of its bytes."""

    begin: int
    end: int
    value: object


@dataclass(frozen=True, slots=True)
class KnownObject:
    """The bytes of an object that was read, its members, and the elements of its lists of messages.
    The bytes are those that came: nobody has to hold them twice.
    """

    data: bytes
    members: Mapping[str, Known]
    lists: Mapping[str, Sequence[Known]]


class Read(NamedTuple):
    """An object that was read. `before`: the place of the known object whose messages it repeats;
    `None`: no message is repeated.
    """

    value: dict[str, object]
    known: KnownObject
    before: int | None


def read(data: bytes, known: Sequence[KnownObject], lists: Collection[str]) -> Read | None:
    """Return the object that `json_text.read` returns; `None` for bytes of an unusual form, and for
    what is no JSON. `known`: objects that were read before. `lists`: the names of members whose
    elements are known one by one.
    """
    try:
        return _Reading(data, known).object(lists)
    except (ValueError, RecursionError, StopIteration):  # the last one is raised by `json`
        return None


class _Reading:
    """One reading. `_at`: its place in the bytes. The bytes from the first new value on are text as
    well, and `_place` is the same place in that.
    """

    def __init__(self, data: bytes, known: Sequence[KnownObject]) -> None:
        self._data = data
        self._known = known
        self._at = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0
        self._place = 0
        self._text = ""
        self._scan: Scan | None = None
        self._before: int | None = None

    def object(self, lists: Collection[str]) -> Read:
        """Return the object. Raises ValueError, RecursionError or StopIteration."""
        members, found, value = dict[str, Known](), dict[str, list[Known]](), dict[str, object]()
        mark = self._take(_BEGIN)
        while mark != b"}":
            name = self._take(_NAME).decode()
            if name in value:
                raise ValueError(f"expected a member once, got {name!r} again")
            if name in lists and self._data.startswith(b"[", self._at):
                found[name] = self._list(name)
                value[name] = [each.value for each in found[name]]
            else:
                members[name] = self._member(name)
                value[name] = members[name].value
            mark = self._take(_NEXT_MEMBER)
        if not _END.fullmatch(self._data, self._at):
            raise ValueError("more follows")
        return Read(value, KnownObject(self._data, members, found), self._before)

    def _member(self, name: str) -> Known:
        for before in self._known:
            one = before.members.get(name)
            if one and (found := self._again(before, one, self._at)):
                return self._moved(found)
        return self._new()

    def _list(self, name: str) -> list[Known]:
        """Return the elements: those of the known list that is repeated furthest (the newest of
        several), and behind these each that stands at its old index again, or is new.
        """
        self._take(_LIST)
        elements, mark = list[Known](), b","
        for number, each in enumerate(self._known):
            repeated = self._repeated(each, each.lists.get(name, ()))
            if len(repeated) > len(elements):
                elements, self._before = repeated, number
        if elements:
            self._move(elements[-1].end)
            mark = self._take(_NEXT)
        if elements and self._before is not None:
            before = self._known[self._before]
            for one in before.lists[name][len(elements) :]:
                if mark != b",":
                    break
                found = self._again(before, one, self._at)
                elements.append(self._moved(found) if found else self._new())
                mark = self._take(_NEXT)
        if mark == b",":
            self._read_on(elements)
        return elements

    def _repeated(self, before: KnownObject, elements: Sequence[Known]) -> list[Known]:
        """Return the elements of a known list that stand here. Of most lists already the first ones
        are different.
        """
        at, repeated = self._at, list[Known]()
        for one in elements:
            found = self._again(before, one, at)
            if found is None:
                break
            repeated.append(found)
            behind = _NEXT.match(self._data, found.end)
            if behind is None:
                break
            at = behind.end()
        return repeated

    def _again(self, before: KnownObject, one: Known, at: int) -> Known | None:
        """Return a known value as it stands at this place."""
        data, end = self._data, at + one.end - one.begin
        if data[at:end] != before.data[one.begin : one.end]:
            return None
        return Known(at, end, one.value) if end < len(data) and data[end] in _BEHIND else None

    def _moved(self, known: Known) -> Known:
        self._move(known.end)
        return known

    def _read_on(self, elements: list[Known]) -> None:
        """Read the new elements up to the end of the list."""
        scan, text = self._scanned()
        at, place, mark = self._at, self._place, ","
        while mark == ",":
            value, end = scan(text, place)
            behind = _NEXT_IN_TEXT.match(text, end)
            if behind is None:
                raise ValueError(f"expected a comma or an end behind element {len(elements)}")
            size = _size(text[place:end])
            elements.append(Known(at, at + size, value))
            place, mark = behind.end(), behind[1]
            at += size + place - end
        self._at, self._place = at, place

    def _new(self) -> Known:
        """Read a value that is not known."""
        scan, text = self._scanned()
        value, end = scan(text, self._place)
        begin = self._at
        self._at += _size(text[self._place : end])
        self._place = end
        return Known(begin, self._at, value)

    def _scanned(self) -> tuple[Scan, str]:
        """Return the text from the first new value on, and the function that reads its values."""
        if self._scan is None:
            self._text = str(memoryview(self._data)[self._at :], "utf-8")
            reader = json_text.reader_of(self._text)
            self._scan = reader.scan_once  # type: ignore[attr-defined]  # typeshed lacks it
        return self._scan, self._text

    def _take(self, pattern: re.Pattern[bytes]) -> bytes:
        """Go behind a match, and return the mark or the name in it. Raises ValueError."""
        found = pattern.match(self._data, self._at)
        if found is None:
            raise ValueError(f"expected {pattern.pattern!r} at byte {self._at}")
        self._move(found.end())
        return found[1]

    def _move(self, to: int) -> None:
        if self._scan is not None:
            self._place += len(self._data[self._at : to].decode())
        self._at = to


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())
