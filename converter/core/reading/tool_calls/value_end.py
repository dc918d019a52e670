"""The end of a value that is bare text between marks.

A value may be text about these very marks, and models leave closing marks out or write them twice.
So a mark counts by the text behind it, in this order:

- The value's own closing mark ends the value if the form goes on behind the mark: with the next
parameter, the call's end, another call (as below) or the reply's end. A repetition directly behind
is removed. If the value has opened a mark of this kind itself, the closing mark closes that one.

- If the value's own mark was left out, the mark of another parameter ends it, which the tool has
and the call does not have yet. This mark must stand at a line's head, or no closing mark must come
before the call's end, or the tool must need the parameter, or words must follow a closing mark of
the value. The mark is part of the value if the parameter comes once more behind a closing mark, or
if more values are closed than opened.

- The call's closing mark ends the value if the first mark behind it belongs to no value, or if
another call begins behind it in which no more values are closed than opened.

If a closing mark of the value did not count, and no other one ends the value, its end is uncertain:
the text is no call.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from converter.core.reading.tool_calls.call import Call
from converter.core.reading.tool_calls.source import (
    BLANKS,
    NAME_LIMIT,
    Judge,
    Refused,
    Source,
    Step,
    marks_of,
)
from converter.core.reading.tool_calls.values import Value

OPEN_LIMIT = 4096
"""Characters behind a mark that are searched for what tells whether it counts."""
_AGAIN_LIMIT = 8
"""Closing marks said once more in a row; more of them are text."""
_LINE_ENDS = ("\n", "\r")
HEADER = re.compile(r"""\s*(?:(?:name|key|tool)=)?["']?([^"'\s]+)["']?(.*)""", re.DOTALL)
"""A name in a tag, and the other text in it."""


@dataclass(frozen=True, slots=True)
class ValueMarks:
    """The marks of a call with values between marks. `heads`: beginnings of a call, up to its name;
    `end`: close it, though nothing need where it is `open_ended`.

    `parameters`: beginnings of a parameter, up to its name; `ends`: close its value. `tag_end`: the
    end of both beginnings. `padded`: a value has a line end at both its ends.
    """

    heads: Sequence[str]
    end: Sequence[str]
    parameters: Sequence[str]
    ends: Sequence[str]
    tag_end: str = ">"
    padded: bool = True
    open_ended: bool = False

    @property
    def stem(self) -> str:
        """The beginning of a parameter's mark, as a value may open one itself."""
        return re.split("[= ]", self.parameters[0])[0].removesuffix(">")


class ValueEnd:
    """Reads one value, whose opening mark has been taken, up to its end. `around`: marks that close
    what stands around the call.
    """

    def __init__(
        self, source: Source, call: Call, marks: ValueMarks, around: Sequence[str], written: Value
    ) -> None:
        self._source = source
        self._call = call
        self._marks = marks
        self._around = around
        self._written = written
        self._opened = re.compile(re.escape(marks.stem) + r"[\s=>]")
        self._borders = re.compile("|".join((self._opened.pattern, *map(re.escape, marks.ends))))
        self._tail = ""
        self._inner = 0  # marks that the value has opened and not closed
        self._uncertain = False  # a closing mark did not count
        self._said = False

    def read(self) -> Step[str]:
        """Say the value; take and return the mark that ended it. Raises Refused for none."""
        marks = self._marks
        is_over = self._is_over if marks.open_ended else self._is_own_end
        ends: dict[str, Judge | None] = dict.fromkeys(marks.end, is_over)
        ends |= dict.fromkeys(marks.parameters, self._is_next)
        ends |= {mark: partial(self._is_call_end, mark) for mark in self._around}
        ends |= dict.fromkeys(marks.ends, self._is_end)
        ended = yield from self._source.until(
            ends, self._say, padded=marks.padded, as_is=self._written.goes_on
        )
        if not ended or (self._uncertain and ended not in marks.ends):
            raise Refused
        self._written.close()
        return ended

    def _say(self, text: str) -> None:
        self._said = True
        buffer = self._tail + text
        begun = len(self._tail)
        self._inner += sum(found.end() > begun for found in self._opened.finditer(buffer))
        self._tail = buffer[-len(self._marks.stem) :]
        self._written.feed(text)

    def _is_end(self, place: int) -> bool | None:
        """Judge the value's own closing mark."""
        marks, source = self._marks, self._source
        found = self._behind(place)
        if found is None:
            return None
        mark, place = found
        if mark in marks.ends:
            counts: bool | None = False
        elif mark in marks.parameters and self._inner:
            counts = self._is_lacking(place + len(mark))
        elif mark in marks.heads:
            counts = self._is_another(place)
        elif mark or (source.last and not source.rest[place:].strip(BLANKS)):
            counts = True
        else:
            counts = self._is_over(place) if marks.open_ended else False
        if counts is False:
            self._uncertain = self._uncertain or not self._inner
            self._inner = max(0, self._inner - 1)
        return counts

    def _behind(self, place: int) -> tuple[str, int] | None:
        """Return the mark behind a closing mark, and its place; None: more text must tell."""
        marks = self._marks
        heads = () if marks.open_ended else marks.heads
        nexts = (*marks.ends, *marks.parameters, *marks.end, *self._around, *heads)
        for _ in range(_AGAIN_LIMIT):
            behind = self._source.behind_closers(place, BLANKS)
            found = None if behind is None else self._source.look_at(nexts, behind)
            if found is None or self._inner or found[0] not in marks.ends:
                return found
            place = found[1] + len(found[0])
        return found

    def _is_over(self, place: int) -> bool | None:
        """Tell whether nothing closes the value in the words behind its own mark: the call, which
        nothing need close, has ended.
        """
        marks = self._marks
        found = self._first((*marks.ends, *marks.end, *marks.heads), place)
        return None if found is None else found[0] in ("", *marks.heads)

    def _is_lacking(self, place: int) -> bool | None:
        """Tell whether a tag is that of a parameter that the tool has, and the call not yet."""
        name = self._name(self._source.rest, place, self._source.last)
        return None if name is None else self._call.lacks(name)

    def _name(self, text: str, place: int, last: bool = True) -> str | None:
        """Return the name in the tag at `place`, nothing where it is none; None: it goes on."""
        most = place + NAME_LIMIT + len(self._marks.tag_end)
        end = text.find(self._marks.tag_end, place, most)
        if end < 0:
            return "" if last or len(text) > most else None
        found = HEADER.fullmatch(text, place, end)
        return found[1] if found else ""

    def _is_next(self, place: int) -> bool | None:
        """Judge the mark of another parameter."""
        marks, rest = self._marks, self._source.rest
        name = self._name(rest, place, self._source.last)
        if not name or not self._call.lacks(name):
            return None if name is None else False
        begin = rest.index(marks.tag_end, place) + len(marks.tag_end)
        ended = self._first((*marks.end, *self._around), begin)
        if ended is None:
            return None
        inside = rest[begin : ended[1]]
        closed = sum(map(inside.count, marks.ends))
        if closed > 1 + len(self._opened.findall(inside)) or self._comes_again(name, inside):
            return False
        at_head = not marks.padded or not self._said or rest[:1] in _LINE_ENDS
        return at_head or not closed or self._uncertain or self._call.needs(name)

    def _comes_again(self, name: str, inside: str) -> bool:
        """Tell whether the parameter comes once more, behind a value that is closed."""
        ends, begins = (
            "|".join(map(re.escape, it)) for it in (self._marks.ends, self._marks.parameters)
        )
        found = re.finditer(rf"(?:{ends})\s*(?:{begins})", inside)
        return any(self._name(inside, each.end()) == name for each in found)

    def _is_own_end(self, place: int) -> bool | None:
        """Judge the closing mark of the call itself."""
        marks, followed_by = self._marks, self._source.followed_by
        counts = followed_by((*marks.parameters, *marks.end, *self._around), place)
        if counts is False and (counts := followed_by(marks.heads, place)):
            return self._is_another(place)
        return counts

    def _is_call_end(self, mark: str, place: int) -> bool | None:
        """Judge a mark around the call: it ends a value whose own mark was left out."""
        marks, source = self._marks, self._source
        found = self._first((*marks.ends, *marks.end, *marks.parameters), place)
        if found is None:
            return None
        if not found[0]:
            return len(source.rest) - place < OPEN_LIMIT and not source.cut
        counts = source.followed_by((mark.strip().replace("</", "<"),), place)
        return self._is_another(place) if counts else counts

    def _is_another(self, place: int) -> bool | None:
        """Tell whether what begins at `place` is another call, and no words of the value: no more
        values are closed there than opened.
        """
        rest, count = self._source.rest, 0
        for mark in self._borders.finditer(rest, place, place + OPEN_LIMIT):
            count += -1 if mark[0] in self._marks.ends else 1
            if count < 0:
                return False
        return True if self._source.last or len(rest) - place >= OPEN_LIMIT else None

    def _first(self, marks: Sequence[str], place: int) -> tuple[str, int] | None:
        """Return the first of the marks from `place` on, as far as that is searched, and where it
        stands; an empty one at the end where there is none; None: more text must tell.
        """
        source = self._source
        searched = source.rest[: place + OPEN_LIMIT]
        if found := marks_of(*marks).search(searched, place):
            return found[0], found.start()
        known = source.last or len(source.rest) - place >= OPEN_LIMIT
        return ("", len(searched)) if known else None
