"""The places where the text of a call may end, while it arrives in pieces.

`Extent.feed` goes on where it stopped, so that no closer, mark or frame is walked twice. It tells
points; the judge tells whether the call ends there.
"""

from dataclasses import dataclass

from converter.core.reading.families import CLOSERS as THOUGHT_CLOSERS
from converter.core.reading.families import behind_closers
from converter.core.reading.mark_search import MarkSearch, beginnings, marks_of
from converter.core.reading.tool_calls.verdict import End
from converter.core.wire.json_reader import JsonPart, JsonReader, Want

_BETWEEN = " \t\r\n,;"
_GOES_ON = tuple("\"'{}[],:")


@dataclass(frozen=True, slots=True)
class Point:
    """An offset where the call may end. `at`: behind its body, `behind`: behind the mark there;
    `quoted`: the mark stands in a string, as far as brackets and quotes tell.
    """

    end: End
    at: int
    behind: int
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Marks:
    """The marks that matter to an extent.

    `closers`: the call's own; `ends`: of the body, unless one of `nexts` goes on behind; `openers`:
    of another call, on a new line; `stops`: before which the call ends anywhere but in a string.
    `brackets`: the body's strings and brackets count, and `quote` is one more quote; `calls`:
    words may go on behind its brackets. `skips`: say nothing behind its brackets.
    `drafts`: closers of the thought around it, behind which it goes on or was a draft.
    `header`: a header stands before the brackets. `pairs`: `nexts` count
    behind a closer, too. `again`: begin another call behind them.
    """

    closers: tuple[str, ...]
    ends: tuple[str, ...] = ()
    nexts: tuple[str, ...] = ()
    openers: tuple[str, ...] = ()
    stops: tuple[str, ...] = ()
    brackets: bool = False
    quote: str = ""
    calls: bool = False
    skips: tuple[str, ...] = ()
    header: bool = False
    again: tuple[str, ...] = ()
    drafts: tuple[str, ...] = ()
    pairs: bool = False

    @property
    def search(self) -> MarkSearch:
        """The search for all of them."""
        quote = (self.quote,) if self.quote else ()
        marks = (
            *self.closers,
            *self.ends,
            *self.openers,
            *self.stops,
            *self.skips,
            *self.again,
            *self.drafts,
            *quote,
        )
        return marks_of(*dict.fromkeys(marks))


class Extent:
    """Feed the text of a call from its body's beginning on."""

    def __init__(self, marks: Marks) -> None:
        self._marks, self._search = marks, marks.search
        self._reader = JsonReader(Want.LOOSE) if marks.brackets else None
        self._depth = 0
        self._closed = -1  # behind the last bracket, while none is open
        self._in_header = marks.header
        self._in_quote = False  # of the form's own
        self._rest = self._line = ""
        self._base = 0  # of the rest

    def feed(self, text: str, last: bool = False) -> Point | None:
        """Return the next point; None while more text must tell. `last`: no more will come."""
        self._rest += text
        while self._rest:
            until = len(self._rest) - (0 if last else self._search.undecided(self._rest, 0))
            match = self._search.search(self._rest)
            if match and match.start() >= until:
                match = None
            if point := self._pass(match.start() if match else until):
                return point
            if not match:
                break
            mark = match[0]
            decides = mark in self._marks.ends or (mark in self._marks.drafts and not self.quoted)
            decides = decides or (self._marks.pairs and mark in self._marks.closers)
            follows = self._follows(mark, last) if decides else False
            if follows is None:
                return None
            point = self._point(mark, follows)
            self._skip(len(mark))
            if point:
                return point
        if last and self._closed >= 0:
            closed, self._closed = self._closed, -1
            return Point(End.BODY, closed, closed)
        return None

    @property
    def sure(self) -> int:
        """The place up to which the text belongs to the call."""
        return self._closed if self._closed >= 0 else self._base

    @property
    def quoted(self) -> bool:
        """Return True if a string is open."""
        return self._in_quote or bool(self._reader and self._reader.quote)

    def _point(self, mark: str, follows: bool) -> Point | None:
        """Return the point at a mark, which comes next. `follows`: the body goes on behind it."""
        marks, begin = self._marks, self._base
        end = begin + len(mark)
        if mark == marks.quote and not (self._reader and self._reader.quote):
            self._in_quote, self._closed = not self._in_quote, -1
        elif mark in marks.closers and not follows:
            return Point(End.MARK, begin, end, quoted=self.quoted)
        elif self.quoted or follows:
            pass
        elif mark in marks.drafts:
            return Point(End.CUT, begin, begin)
        elif self._in_header or mark in marks.again:
            self._closed, self._in_header = -1, marks.header
        elif mark in marks.ends:
            return Point(End.BODY, end, end)
        elif mark not in marks.skips:
            return self._before_opener(mark, begin)
        return None

    def _before_opener(self, mark: str, begin: int) -> Point | None:
        """Return the point before a mark that begins another call."""
        if self._closed >= 0:
            closed, self._closed = self._closed, -1
            return Point(End.BODY, closed, closed)
        on_new_line = "\n" in self._line and not self._line.rpartition("\n")[2].strip()
        opens = mark in self._marks.stops or on_new_line
        return Point(End.OPENER, begin, begin) if opens else None

    def _follows(self, mark: str, last: bool) -> bool | None:
        """Return True if the body goes on behind its end, `None` if more text must show it."""
        behind = self._rest[behind_closers(self._rest, len(mark)) :]
        closers = () if mark in self._marks.closers else self._marks.closers
        nexts = (*closers, *self._marks.nexts)
        if mark in self._marks.drafts:
            nexts = (*nexts, *self._marks.ends, *(_GOES_ON if self._reader else ()))
        if behind.startswith(nexts):
            return not behind.startswith(self._marks.openers)
        return None if not last and behind in beginnings(*nexts, *THOUGHT_CLOSERS) else False

    def _skip(self, length: int) -> None:
        """Pass a mark that is part of the text."""
        mark = self._rest[:length]
        silent = mark == self._marks.quote or (self._closed >= 0 and mark in self._marks.skips)
        if not silent:
            self._pass(length)
        else:
            self._advance(length)

    def _advance(self, length: int) -> None:
        taken, self._rest = self._rest[:length], self._rest[length:]
        self._line = (self._line + taken)[-64:]
        self._base += length

    def _pass(self, length: int) -> Point | None:
        """Read so many characters; return the point that shows in them."""
        if self._in_header:
            offset = self._rest.find("{", 0, length)
            self._in_header = offset < 0
            self._advance(length if offset < 0 else offset)
            length -= length if offset < 0 else offset
        if self._reader is None or self._in_quote:
            self._advance(length)
            return None
        held = len(self._reader.held)
        begin, seen = self._base, 0
        for part, _, end in self._reader.feed(self._rest[:length]):
            before, seen = seen, max(0, end - held)
            if self._closed >= 0 and (point := self._behind(part, self._rest[before:seen])):
                self._advance(seen)
                return point
            self._depth += (part is JsonPart.OPEN) - (part is JsonPart.CLOSE)
            if part is JsonPart.CLOSE and self._depth <= 0:
                self._closed, self._depth = begin + seen, 0
        self._advance(length)
        return None

    def _behind(self, part: JsonPart, text: str) -> Point | None:
        """Return the point where brackets are closed and `text` does not go on."""
        closed = self._closed
        if part is JsonPart.CLOSE or not text.strip(_BETWEEN):
            return None
        word = self._marks.calls and (text.strip(_BETWEEN)[:1].isalpha() or text[:1] in "_")
        if part in (JsonPart.OPEN, JsonPart.STRING) or word:
            self._closed = -1
            return None
        self._closed = -1
        return Point(End.BODY, closed, closed)
