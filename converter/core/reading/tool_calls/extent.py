"""`Extent` finds the points at which the text of a call may end, as the text arrives in pieces;
`judge` then decides whether it ends there. `EndMarks` has the marks to look for; `engine.candidate`
makes one from the call's form.

If the call does not end at a point, `Extent.feed` goes on behind it, so that no text is read twice.
"""

from dataclasses import dataclass
from functools import cached_property

from converter.core.reading.families import CLOSERS as THOUGHT_CLOSERS
from converter.core.reading.families import behind_closers
from converter.core.reading.json_extent import JsonExtent
from converter.core.reading.mark_search import MarkSearch, NeedMore, beginnings, search_for
from converter.core.reading.tool_calls.verdict import End

_GOES_ON = tuple("\"'{}[],:")
"""The characters with which a body of strings and brackets may go on if the closer of a thought
stands in its middle: models may close the thought in the middle of a call.
"""


@dataclass(frozen=True, slots=True)
class Point:
    """A point at which a call may end."""

    reason: End
    """The reason why the call may end here."""
    body_end: int
    """The offset at which the call's body ends."""
    end: int
    """The offset behind the mark that closes the call; `body_end` if no such mark stands here."""
    in_string: bool = False
    """True if the mark that closes the call seems to stand in a string. It may close the call
    nevertheless, because models sometimes leave a string open.
    """


@dataclass(frozen=True)
class EndMarks:
    """The marks of a form by which `Extent` finds the points at which a call of this form may end.
    (`keyed_marks.Marks`, in contrast, finds the marks in a text.)

    "The outer bracket" means the first bracket of the body, `{` in `{"name": "f"}`.
    """

    closers: tuple[str, ...]
    """The marks that close the call or its section."""
    body_closers: tuple[str, ...] = ()
    """The marks that close the body (`</function>`). Such a mark is text of a value if one of
    `next_marks` follows. If a closer of the call follows, the call ends there instead.
    """
    next_marks: tuple[str, ...] = ()
    """The marks by which a body goes on: the marks before a key, and the marks that close a value
    (only the former if `is_pairs`).
    """
    openers: tuple[str, ...] = ()
    """The openers of calls. An opener ends the call if it stands on a new line or behind the closed
    outer bracket, because another call begins there.
    """
    ends_before: tuple[str, ...] = ()
    """The marks before which the call ends, also in the middle of a line, but not in a string or in
    the header.
    """
    has_brackets: bool = False
    """True if the body has strings and brackets, and ends with its outer bracket."""
    quote: str = ""
    """The form's own mark around strings (`<|"|>`); empty for none."""
    word_begins_call: bool = False
    """True if a word behind the closed outer bracket may begin the next call: `g` in `f(), g()`."""
    ignored: tuple[str, ...] = ()
    """The marks that may stand behind the closed outer bracket and do not end the call there. But a
    closer of the thought around the call ends it, unless the body goes on behind this closer.
    """
    has_header: bool = False
    """True if a header with the tool's name stands before the outer bracket."""
    header_marks: tuple[str, ...] = ()
    """The marks that begin the header of the next call, if they stand behind the closed outer
    bracket.
    """
    thought_closers: tuple[str, ...] = ()
    """The closers of the thought in which the call stands; empty outside thoughts. The call ends
    before such a closer, unless the body goes on behind it.
    """
    is_pairs: bool = False
    """True if the body consists of keys and values behind a bare name. A mark of `closers` is then
    text of a value if one of `next_marks` follows.
    """

    @cached_property
    def search(self) -> MarkSearch:
        """The search for the next mark of any field of this class, but not of `next_marks`: those
        are only compared with the text directly behind another mark (`_body_goes_on`).
        """
        closers = (*self.closers, *self.body_closers, *self.thought_closers)
        others = (*self.openers, *self.ends_before, *self.header_marks, *self.ignored, self.quote)
        return search_for(*dict.fromkeys(filter(None, (*closers, *others))))


class Extent:
    """Finds the points at which one call may end. `feed` takes the text from the body's beginning
    on; all offsets are counted from there.
    """

    def __init__(self, marks: EndMarks) -> None:
        self._marks, self._search = marks, marks.search
        self._brackets = JsonExtent() if marks.has_brackets else None
        # The offset behind the outer bracket of the body, if it was closed and only blanks,
        # separators and skipped marks have come since; else -1.
        self._closed = -1
        self._in_header = marks.has_header
        # True while a string between the form's own quotes (`EndMarks.quote`) is open.
        self._in_quote = False
        self._rest = self._line = ""
        self._base = 0  # the offset of the unread text (`_rest`)

    def feed(self, text: str, last: bool = False) -> Point | None:
        """Read the held text and `text` behind it. Return the next point at which the call may end,
        and hold the text behind this point. Return `None` if there is no point so far; then only
        the end of the text is held, if more text is needed to decide about it.

        `last`: True if no more text comes.
        """
        self._rest += text
        undecided = 0 if last else self._search.begun_length(self._rest, 0)
        while self._rest:
            until = max(0, len(self._rest) - undecided)
            match = self._search.search(self._rest)
            if match and match.start() >= until:
                match = None
            if point := self._read_unmarked(match.start() if match else until):
                return point
            if not match:
                break
            mark = match[0]
            try:
                follows = self._body_goes_on(mark, last)
            except NeedMore:
                return None
            point = self._point_at_mark(mark, follows)
            # Quotes and brackets in a mark count like all others of the body, so the mark is read
            # below. Only two kinds of marks are skipped: `EndMarks.quote`; and, once the outer
            # bracket is closed, the marks of `EndMarks.ignored`.
            end = self._base + len(mark)
            if mark == self._marks.quote or (self._closed >= 0 and mark in self._marks.ignored):
                self._advance(len(mark))
            while self._base < end:
                self._read_unmarked(end - self._base)
            if point:
                return point
        if last and self._closed >= 0:
            return self._take_body_end()
        return None

    @property
    def sure(self) -> int:
        """The offset up to which the text certainly belongs to the call, whichever point ends the
        call.
        """
        return self._closed if self._closed >= 0 else self._base

    @property
    def not_plain(self) -> str | None:
        """The characters that only `feed` can read. If the next text has none of them, the call
        cannot end in it, and it need not be fed. `None` if any text must be fed.

        A text that ends with a backslash must always be fed, because the backslash may escape the
        first character of the text behind it.
        """
        if self._rest or self._in_header:
            return None
        if self._brackets is None or self._in_quote:
            return self._search.firsts + "\\"
        not_plain = self._brackets.not_plain.removesuffix("\\")
        return self._search.firsts + not_plain if not_plain else None

    @property
    def quoted(self) -> bool:
        """True if a string is open, between ordinary quotes or the form's own quotes."""
        return self._in_quote or (self._brackets is not None and self._brackets.quote != "")

    def _take_body_end(self) -> Point:
        """Return the point behind the closed outer bracket. Forget that the bracket was closed, so
        that this point is returned only once.
        """
        closed, self._closed = self._closed, -1
        return Point(End.BODY, closed, closed)

    def _point_at_mark(self, mark: str, follows: bool) -> Point | None:
        """Return the point at the mark with which the unread text begins; `None` if the call cannot
        end there. `follows`: True if the body goes on behind the mark (`_body_goes_on`); the call
        then does not end there.

        - In a string, only a closer of the call counts. In a header, only a closer of the call
          counts, and a closer of the thought around it.
        - An opener counts on a new line, or behind the closed outer bracket. A mark of
          `EndMarks.ends_before` also counts in the middle of a line.
        - Outside of strings and headers, a mark that closes the body counts anywhere.

        If the mark begins or ends a string (`EndMarks.quote`), or begins a header, record this.
        """
        marks, begin = self._marks, self._base
        end = begin + len(mark)
        _, newline, indent = self._line.rpartition("\n")
        if mark == marks.quote and (self._in_quote or not self.quoted):
            self._in_quote, self._closed = not self._in_quote, -1
        elif mark in marks.closers and not follows:
            return Point(End.CLOSER, begin, end, in_string=self.quoted)
        elif self.quoted or follows:
            pass
        elif mark in marks.thought_closers:
            return Point(End.CUT, begin, begin)
        elif self._in_header or mark in marks.header_marks:
            self._closed, self._in_header = -1, marks.has_header
        elif mark in marks.body_closers:
            return Point(End.BODY, end, end)
        elif mark in marks.ignored:
            pass
        elif self._closed >= 0:
            return self._take_body_end()
        elif mark in marks.ends_before or (newline and not indent.strip()):
            return Point(End.OPENER, begin, begin)
        return None

    def _body_goes_on(self, mark: str, last: bool) -> bool:
        """Return True if the call goes on behind `mark`, with which the unread text begins.

        This is possible behind three kinds of marks: one that closes the body; outside of strings,
        the closer of the thought around the call; and, in a body of pairs (`EndMarks.is_pairs`),
        the call's closer. Behind any other mark, return False.

        The call goes on if no opener of a call stands behind the mark, but one of the following.
        Blanks and closers of thoughts may stand before it.

        - a mark of `EndMarks.next_marks`;
        - a closer of the call, if `mark` is no such closer;
        - behind the closer of a thought: a mark that closes the body, or, in a body with brackets,
          a character of `_GOES_ON`.

        Raises `NeedMore` if the text is too short to decide; never if `last`.
        """
        marks = self._marks
        is_draft = mark in marks.thought_closers and not self.quoted
        if not (
            is_draft or mark in marks.body_closers or (marks.is_pairs and mark in marks.closers)
        ):
            return False
        behind = self._rest[behind_closers(self._rest, len(mark)) :]
        closers = () if mark in marks.closers else marks.closers
        nexts = (*closers, *marks.next_marks)
        if mark in marks.thought_closers:
            nexts = (*nexts, *marks.body_closers, *(_GOES_ON if self._brackets else ()))
        if behind.startswith(nexts):
            return not behind.startswith(marks.openers)
        if not last and behind in beginnings(*nexts, *THOUGHT_CLOSERS):
            raise NeedMore
        return False

    def _advance(self, length: int) -> None:
        """Move `length` characters on in the unread text. Keep up to 64 characters before the new
        offset in `_line`: `_point_at_mark` looks for a new line there.
        """
        self._line = (self._line + self._rest[max(0, length - 64) : length])[-64:]
        self._rest = self._rest[length:]
        self._base += length

    def _read_unmarked(self, length: int) -> Point | None:
        """Read `length` characters in which no mark counts, and move behind them. If text that
        cannot belong to the call stands behind the closed outer bracket, stop before this text and
        return the point behind the bracket; else return `None`.
        """
        if self._in_header:
            offset = self._rest.find("{", 0, length)
            self._in_header = offset < 0
            self._advance(length if offset < 0 else offset)
            length -= length if offset < 0 else offset
        if length and self._brackets and not self._in_quote:
            point = self._read_brackets(self._brackets, self._rest[:length])
            if point:
                return point
        self._advance(length)
        return None

    def _read_brackets(self, brackets: JsonExtent, text: str) -> Point | None:
        """Read strings and brackets in `text`. If text that cannot belong to the call stands behind
        the closed outer bracket, move to this text and return the point behind the bracket; else
        return `None`.
        """
        at, begin = 0, self._base
        while at < len(text):
            if self._closed >= 0:
                at = brackets.skip_between(text, at)
                if at == len(text):
                    break
                is_word = self._marks.word_begins_call and text[at].isidentifier()
                if not (is_word or brackets.may_begin_value(text[at])):
                    self._advance(at)
                    return self._take_body_end()
                self._closed = -1
            end = brackets.feed(text, at)
            self._closed = -1 if end is None else begin + end
            at = len(text) if end is None else end
        return None
