"""Text that arrives in pieces, for grammars that read it as if it were all there.

A grammar is a generator: it yields when it needs more text and goes on when more has come. Where
all text comes out as it is until one of some characters comes, it yields these (`wakes`). What it
takes is gone from the buffer, so that the buffer stays short and no text is looked at twice.
"""

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import lru_cache

from converter.core.reading.families import CLOSERS
from converter.core.reading.mark_search import Mark, MarkSearch
from converter.core.wire.bounds import BLANKS_LIMIT

type Step[T] = Generator[str | None, None, T]
type Says = Callable[[str], object]
type Judge = Callable[[int], bool | None]
"""By the place behind a mark in the text that is left: does it count? None: undecided."""

BLANKS = " \t\r\n"
NOT_AS_IS = '"\\\r\n\t'
"""Characters that a JSON string writes as others."""
NAME_LIMIT = 256
"""Characters of a key or a name; no API allows as many in a tool's name."""


class Refused(Exception):  # noqa: N818 - nothing is wrong: the text is no tool call
    """The text is no tool call of the form that was tried, or is cut off within one."""


class BrokenArguments(Refused):
    """The arguments of a call are none."""


class Source:
    """Text to read. `last`: no more will come; `cut`: though there was more to say. `consumed`: set
    this to hear the text that is taken.
    """

    def __init__(self) -> None:
        self.rest = ""
        self.last = False
        self.cut = False
        self.consumed: Says = len

    def feed(self, text: str) -> None:
        """Take the next piece of the text."""
        self.rest += text

    def take(self, length: int) -> str:
        """Return so many characters, and go on behind them."""
        taken, self.rest = self.rest[:length], self.rest[length:]
        if taken:
            self.consumed(taken)
        return taken

    def look(self, marks: Sequence[str], skip: str = BLANKS) -> tuple[str, int] | None:
        """Return the longest mark that stands behind characters of `skip`, and their number. A
        thought's closer between them says nothing, because models that call in a thought put it
        anywhere.

        The mark is empty when none stands there; None: that is not decided yet.
        """
        offset = self.behind_closers(0, skip)
        return None if offset is None else self.look_at(marks, offset)

    def behind_closers(self, offset: int, skip: str) -> int | None:
        """Return where something else stands behind blanks and a thought's closers; None: not
        decided yet.
        """
        closer = " "
        while closer:
            offset = len(self.rest) - len(self.rest[offset:].lstrip(skip))
            closer = next((it for it in CLOSERS if self.rest.startswith(it, offset)), "")
            offset += len(closer)
        behind = "" if self.last else self.rest[offset:]
        begun = behind and any(closer.startswith(behind) for closer in CLOSERS)
        return None if begun else offset

    def look_at(self, marks: Sequence[str], offset: int) -> tuple[str, int] | None:
        """Return the longest mark that stands at `offset`, and `offset`; None: not decided yet."""
        length = len(self.rest) - offset
        if offset > BLANKS_LIMIT:
            return "", offset
        if not self.last:
            behind = self.rest[offset:]
            if any(length < len(mark) and mark.startswith(behind) for mark in marks):
                return None
        fitting = [mark for mark in marks if self.rest.startswith(mark, offset)]
        return max(fitting, key=len, default=""), offset

    def ahead(self, marks: Sequence[str], skip: str = BLANKS) -> Step[tuple[str, int]]:
        """Return the mark that comes next and the number of characters before it; take nothing."""
        while (mark := self.look(marks, skip)) is None:
            yield None
        return mark

    def accept(self, marks: Sequence[str], skip: str = BLANKS) -> Step[str]:
        """Take the mark that comes next, and the skipped text before it; return it, or nothing."""
        mark, offset = yield from self.ahead(marks, skip)
        if mark:
            self.take(offset + len(mark))
        return mark

    def until(
        self,
        ends: Mapping[str, Judge | None],
        say: Says,
        *,
        padded: bool = False,
        as_is: Callable[[], bool] | None = None,
        within: str = "",
    ) -> Step[str]:
        """Say all before the first of `ends` that counts, as it comes; take and return that end,
        nothing at the text's end. An end without a judge counts always.

        `padded`: a line end before an end goes. `as_is`: tells whether words come out as they are
        now, but for the characters that JSON writes as others. `within`: the meaning of an end that
        does not count, if not its own letters.
        """
        search = marks_of(*ends)
        while True:
            match = search.search(self.rest)
            if stop := self._before_end(search, match, padded):
                say(self.take(stop))
            judge = ends[match[0]] if match else None
            counts = judge(match.end() - stop) if match and judge else True
            if match and counts:
                self.take(match.end() - stop)
                return match[0]
            if match and counts is False and within:
                self.take(match.end() - stop)
                say(within)
            elif match and counts is False:
                say(self.take(match.start() - stop + 1))  # so that each mark is judged once
            elif not match and self.last:
                return ""
            else:
                yield search.firsts + NOT_AS_IS if as_is and as_is() else None

    def _before_end(self, ends: MarkSearch, match: re.Match[str] | None, padded: bool) -> int:
        """Return how many characters come before the end that was found, or that may begin."""
        held = 0 if self.last else ends.undecided(self.rest, 0)
        stop = match.start() if match else len(self.rest) - held
        end = self.rest[max(0, stop - 2) : stop] if padded else ""
        half = end[-1:] == "\r" and not match
        return stop - (2 if end == "\r\n" else int(half or end[-1:] == "\n"))

    def followed_by(self, marks: Sequence[str], place: int) -> bool | None:
        """Tell whether a mark, or nothing but blanks, comes at `place`; None: not decided yet."""
        behind = self.behind_closers(place, BLANKS)
        found = None if behind is None else self.look_at(marks, behind)
        if found is None:
            return None
        return bool(found[0]) or (self.last and not self.rest[place:].strip(BLANKS))

    def more(self, wakes: str | None = None, behind: int = 0) -> Step[None]:
        """Wait for text behind so many characters. Raises Refused where there will be none."""
        while len(self.rest) <= behind:
            if self.last:
                raise Refused
            yield wakes

    def match(self, pattern: re.Pattern[str], limit: int = NAME_LIMIT) -> Step[re.Match[str]]:
        """Take what the pattern matches; return the match. Raises Refused beyond `limit`."""
        while not (match := pattern.match(self.rest)):
            if self.last or len(self.rest) > limit:
                raise Refused
            yield None
        if match.end() > limit:
            raise Refused
        self.take(match.end())
        return match

    def short(self, end: str, limit: int = NAME_LIMIT) -> Step[str]:
        """Return the text before an end, which is taken too. Raises Refused beyond `limit`."""
        text = yield from self.before((end,), limit)
        self.take(len(end))
        return text

    def before(self, ends: Sequence[str], limit: int = NAME_LIMIT) -> Step[str]:
        """Return the text before the first of `ends`, which stays. Raises Refused as `short`."""
        search = marks_of(*ends)
        while not (match := search.search(self.rest)):
            begun = search.undecided(self.rest, 0)  # an end that is cut may begin within the limit
            if self.last or len(self.rest) - begun > limit:
                raise Refused
            yield None
        if match.start() > limit:
            raise Refused
        return self.take(match.start())


@lru_cache(maxsize=64)
def marks_of(*marks: str) -> MarkSearch:
    """Return the search for these marks, made once."""
    return MarkSearch(dict.fromkeys(marks, Mark.CLOSE))
