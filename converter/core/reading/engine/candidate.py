"""`Candidate` holds text that may be a call until that is decided. `find_start` decides whether a
call may begin at a mark; `tool_calls` has the forms, finds a call's end, and reads it.

A candidate begins with a mark and the head of a call: the text up to the tool's name (`head`).
`Extent` finds the points at which it may end. At such a point the judge reads the calls in the
candidate. At some positions in a reply, the text behind the candidate then decides whether these
calls count (`COUNTED`).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from converter.core.calls.schema_values import Schemas
from converter.core.reading.engine.context import BLANKS
from converter.core.reading.engine.mark_table import CallMark
from converter.core.reading.engine.source import LONGEST_MARK, Source
from converter.core.reading.engine.states import Follows, Stands
from converter.core.reading.families import CLOSERS as THOUGHT_CLOSERS
from converter.core.reading.families import behind_closers
from converter.core.reading.mark_search import Mark, MarkSearch, NeedMore, beginnings
from converter.core.reading.tool_calls.bodies import Gemma, Header, Json, Keyed, Python
from converter.core.reading.tool_calls.call_row import CallRow
from converter.core.reading.tool_calls.extent import EndMarks, Extent, Point
from converter.core.reading.tool_calls.forms import CLOSERS, OPENERS, SECTIONS
from converter.core.reading.tool_calls.head import Head, head_of
from converter.core.reading.tool_calls.judge import judge
from converter.core.reading.tool_calls.verdict import End, Failed, Verdict
from converter.core.wire.bounds import BLANKS_LIMIT

_BRACKETED = tuple(mark for mark in (*OPENERS, *CLOSERS) if mark.startswith("["))
"""The marks of calls that begin with `[`, such as `[TOOL_CALLS]`. They are searched for in bodies
that have brackets, because their bracket would else be read as the beginning of a list.
"""
_CALL_OPENERS = (*OPENERS, *SECTIONS)
"""The marks with which a call or a section of calls begins."""
_LINE_BLANKS = " \t"
"""The blanks that do not end a line."""
MOST_TRIES = 8
"""How many of the points at which a candidate may end are judged before the reply has ended: this
many points outside strings, and as many within strings. At later points the candidate is not judged
but held, until no more text comes (`last_verdict`). The limit bounds the time.
"""
_HEAD_LIMIT = 4096
"""How many characters are held, from the mark on, while the head of the call is not complete."""
_TEXT_VERDICT = Verdict(failed=Failed.TEXT)
"""The verdict that a candidate is text and no call."""
_DROPPED_MARKS = (Mark.SILENT, Mark.UNMATCHED, Mark.ANSWER_CLOSE)
"""The kinds of marks that are dropped, so that they are no text behind a call."""
_THOUGHT_OPENERS = (Mark.OPEN, Mark.WITH_ATTRIBUTES)
"""The kinds of marks that begin a thought."""


@dataclass(frozen=True, slots=True)
class Start:
    """The beginning of a possible call at a mark."""

    row: CallRow
    """The form of the call."""
    body_offset: int
    """The offset at which the call's body begins, counted from the beginning of the mark."""
    has_opener: bool
    """True if an opener of a call or section stands before the body, so that a closer is due."""
    head: Head
    """The state of the call's head: whether the beginning of its body has the name of a tool."""


def find_start(
    mark: CallMark, text: str, tools: Schemas | None, last: bool, rows: Sequence[CallRow] = ()
) -> Start | None:
    """Return the beginning of a call at a mark; `None` if no head of a call stands behind the mark.
    If the mark belongs to several forms, the form counts whose head fits best. Raises `NeedMore` if
    more text must come to decide it.

    Args:
        mark: the mark that may begin the call.
        text: the text from the mark on, as far as it has come.
        tools: the schemas of the offered tools, by name; `None` if calls are not read.
        last: True if no more text comes.
        rows: further forms whose calls may begin here without an opener, as within a section.
    """
    starts = [
        Start(row, offset, opened, head_of(row, text[offset:], tools, last))
        for row, offset, opened in _bodies(mark.begins, text, rows)
        if not getattr(row.body, "bare", False)
        or text[len(mark.begins) : offset].strip("\n") != " "
    ]
    waits = not last and len(text) <= _HEAD_LIMIT
    most = len(text) - LONGEST_MARK if waits else len(text)
    # A call's opener, or a thought's closer, may stand before the body. If the text ends within
    # such a mark, or just before it, more text must come to show where the body begins.
    for start in starts:
        opens = start.row.opens if start.has_opener and start.body_offset > most else None
        if opens is not None and text[start.body_offset :] in beginnings(*opens, *THOUGHT_CLOSERS):
            raise NeedMore
    best = min(starts, key=lambda start: start.head, default=None)
    if best and best.head is Head.WAITING and waits:
        raise NeedMore
    if best is None or best.head in (Head.NONE, Head.WAITING):
        return None
    if best.head is Head.UNNAMED and tools is None:
        return replace(best, head=Head.UNOFFERED)
    return best


def _bodies(mark: str, text: str, rows: Sequence[CallRow]) -> Iterator[tuple[CallRow, int, bool]]:
    """Yield each form of which a call may begin with the mark; the offset of the call's body in
    `text`; and True if an opener of the call or its section stands before the body, else False.

    `text`: the text from the mark on. `rows`: further forms whose calls may begin here without an
    opener, as within a section.
    """
    if mark in SECTIONS:
        offset = behind_closers(text, len(mark))
        # If the heads of several forms fit equally well, the form that is yielded first counts. So
        # forms whose calls have no opener of their own within the section come first.
        for row in sorted(SECTIONS[mark], key=lambda row: bool(row.opens)):
            opener = max(filter(text[offset:].startswith, row.opens), key=len, default="")
            yield row, behind_closers(text, offset + len(opener)), True
        return
    own = [row for row in rows if mark in row.in_section]
    for row in dict.fromkeys((*own, *OPENERS.get(mark, ()))):
        opened = mark in row.opens
        in_section = row in own and not row.whole
        yield row, behind_closers(text, len(mark)) if opened else 0, opened or in_section


_NAME = r"\s{0,64}+\w[\w.-]{0,64}+"
"""The pattern of a word that may be the name of a tool, with the blanks before it."""
_PROSE = re.compile(rf"{_NAME}:?(?:[ \t]++[^\s<{{\[(`]|[^\w\s.:<{{\[(`-]|:\s)")
"""The pattern of a word with ordinary text behind it. No call begins like that."""
_PROSE_BEGUN = re.compile(rf"(?:{_NAME}:?[ \t]*+|\s{{0,64}}+)\Z")
"""The pattern of a text that may go on as prose (`_PROSE`): blanks, or one word at the text's end.
"""


def begins_prose(behind: str, last: bool) -> bool:
    """Return True if ordinary text, and no call, stands in `behind`, the text behind the opener of
    a section. `last`: no more text comes. Raises `NeedMore` if more text must come to decide it.
    """
    prose = _PROSE.match(behind)
    if not prose and not last and _PROSE_BEGUN.match(behind):
        raise NeedMore
    return prose is not None


_ANY_CALL = re.compile(r"\s{0,64}+(?:[\[{]|<[^/])|(?:[^\S\n]*\n\s{0,64}+)?\w")
"""The pattern of a call of any form behind its mark: a bracket or a tag, or a word directly behind
the mark or on a new line.
"""
_ANY_CALL_BEGUN = re.compile(r"\s{0,64}+<?\Z")
"""The pattern of a text that may go on as a call (`_ANY_CALL`): blanks, and perhaps `<`."""


def find_any_start(mark: CallMark, behind: str, last: bool) -> Start | None:
    """Return the beginning of a call at a mark if `behind`, the text behind the mark, looks like a
    call of any form; else `None`. The tool's name is not read.

    This is for marks in a thought while the addon reads no calls: the call stays text, but it may
    end the thought.

    `last`: no more text comes. If the reply ends at the mark, it was cut off in a call, and the
    beginning is returned too. Raises `NeedMore` if more text must come to decide it.
    """
    is_begun = _ANY_CALL_BEGUN.match(behind)
    if is_begun and not last:
        raise NeedMore
    rows = (*OPENERS.get(mark.begins, ()), *SECTIONS.get(mark.begins, ()))
    if not rows or not (is_begun or _ANY_CALL.match(behind)):
        return None
    return Start(rows[0], len(mark.mark), has_opener=False, head=Head.UNOFFERED)


@lru_cache(maxsize=256)
def marks_of_row(row: CallRow, whole: bool) -> EndMarks:
    """Return the marks by which `Extent` finds the end of a call in this form. `whole`: the calls
    must be the whole reply.
    """
    body, section = row.body, row.section
    closers = tuple(filter(None, (*row.closes, section[1])))
    openers = tuple(filter(None, (*row.opens, section[0])))
    if isinstance(body, Keyed):
        nexts = body.key_openers if body.bare else (*body.key_openers, *body.value_closers)
        unclosed = _CALL_OPENERS if body.may_lack_closer else ()
        openers = (*openers, *filter(None, body.starts), *unclosed)
        ends = (*body.body_closers,)
        return EndMarks(closers, ends, (*nexts,), openers, row.ends_before, is_pairs=body.bare)
    tail = (body.tail,) if isinstance(body, Header) and body.tail else ()
    return EndMarks(
        closers,
        openers=tuple(dict.fromkeys((*openers, *(() if whole else _BRACKETED)))),
        ends_before=row.ends_before,
        has_brackets=True,
        quote=body.quote if isinstance(body, Gemma) else "",
        word_begins_call=isinstance(body, Python | Gemma),
        ignored=(*tail, *THOUGHT_CLOSERS),
        has_header=isinstance(body, Header),
        header_marks=tuple(filter(None, body.starts))
        if whole and not isinstance(body, Json | Python)
        else (),
    )


@dataclass(slots=True)
class Candidate:
    """Text from a mark on that may be a call, or that only looks like a call. Tags of thoughts have
    no effect in it, except that a thought's closer may end a candidate that stands in a thought.
    """

    mark: CallMark
    """The mark with which the candidate begins."""
    start: Start
    """The form of the call, the offset of its body, and the state of its head."""
    stands: Stands
    """Where in the reply the candidate stands, such as in a sentence or in a thought."""
    extent: Extent
    """The search for the points (`Point`) at which the candidate may end."""
    pieces: list[str] = field(default_factory=list)
    """The text of the candidate so far."""
    length: int = 0
    """The number of characters in `pieces`."""
    emitted_length: int = 0
    """How many characters of the text were emitted already. Only text that is certainly no call is
    emitted before the candidate ends (`take_certain`).
    """
    judged: list[Point] = field(default_factory=list)
    """The points at which the candidate was judged."""
    last_unjudged: Point | None = None
    """The last point at which the candidate may end but was not judged, because `MOST_TRIES` points
    were judged before; `None` if there is none.
    """
    counted_values: tuple[int, int] = (0, 0)
    """The offset up to which `in_value` has counted the tags of values, and how many values are
    open at this offset.
    """
    pending_verdict: tuple[Verdict, Point] | None = None
    """The verdict, and the point up to which it applies, if the calls are whole but the text behind
    them must still decide whether they count. Else `None`.
    """

    @classmethod
    def begin(
        cls,
        mark: CallMark,
        start: Start,
        stands: Stands,
        text: str,
        forbidden: bool = False,
    ) -> "Candidate":
        """Return a candidate that has no text yet.

        Args:
            mark: the mark with which it begins.
            start: the beginning of the call that stands at the mark.
            stands: the position of the candidate in the reply.
            text: the text from the mark on, as far as it has come.
            forbidden: True if the request allows no call.
        """
        row, body = start.row, start.row.body
        if start.head is Head.UNOFFERED and not forbidden:
            bracket = text[len(mark.mark) :].lstrip()[:1] in ("{", "[")
            headed = isinstance(body, Header) and mark.begins not in SECTIONS
            opens = not mark.close or bracket or headed
            closers, openers = ((mark.close,), _BRACKETED) if mark.close else ((), _CALL_OPENERS)
            marks = EndMarks(
                closers,
                openers=openers,
                ends_before=row.ends_before,
                has_brackets=opens,
                ignored=(body.tail,) if isinstance(body, Header) and body.tail else (),
                has_header=opens and not bracket and not isinstance(body, Python),
            )
        else:
            marks = marks_of_row(row, stands is Stands.AS_REPLY)
        if stands is Stands.IN_THOUGHT:
            marks = replace(marks, thought_closers=THOUGHT_CLOSERS)
        return cls(mark, start, stands, Extent(marks))

    @property
    def row(self) -> CallRow:
        """The form of the call."""
        return self.start.row

    def is_half_closer(self, rest: str) -> bool:
        """Return True if `rest`, the end of the reply, is the beginning of a closer of the call or
        its section, of at least two characters (`</`). The reply was then cut off in the closer.
        """
        return len(rest) > 1 and any(mark.startswith(rest) for mark in self.row.ends)

    def waits_for_text(self, point: Point, in_sentences: bool) -> bool:
        """Return True if the text behind `point` decides whether the calls up to it count
        (`COUNTED`), so that the decision waits until this text has come.

        `in_sentences`: True if a call in the middle of a sentence needs no such text once it has
            the closer that its form needs; False if it always needs such text.
        """
        closed = in_sentences and (
            point.reason is End.CLOSER or not (self.start.has_opener and self.row.closes)
        )
        doubted = self.stands is Stands.IN_SENTENCE and not closed
        return doubted or self.stands is Stands.AS_REPLY

    @property
    def is_text(self) -> bool:
        """True if it is certain that this is no call: no offered tool has the name in its head, no
        more calls are allowed, or the addon reads no calls.
        """
        return self.start.head is Head.UNOFFERED

    @property
    def names_tool(self) -> bool:
        """True if the head has the name of an offered tool."""
        return self.start.head is Head.NAMED

    def in_value(self, point: Point) -> bool:
        """Return True if an argument's value is open at `point`, in a form whose values stand in
        tags (`Keyed`): `<parameter=city>Os`. Always return False for other forms, and for the two
        kinds of `Keyed` that are `bare` or have `nested_values`.

        Each use of this method counts only the tags behind the point of its previous use. So each
        point must lie behind the previous one.
        """
        body = self.row.body
        if not isinstance(body, Keyed) or body.bare or body.nested_values:
            return False
        counted, values = self.counted_values
        text = self.text[counted or self.start.body_offset : point.body_end]
        values += sum(map(text.count, body.key_openers)) - sum(map(text.count, body.value_closers))
        self.counted_values = point.body_end, values
        return values > 0

    def feed(self, text: str, last: bool) -> Point | None:
        """Add `text`, and return the next point at which the candidate may end; `None` if the text
        has none. The point's offsets are counted from the mark. `last`: no more text comes.

        The first text must begin with the mark. With an empty text, the search goes on behind the
        point that was returned last.
        """
        if text:
            skipped = 0 if self.pieces else self.start.body_offset
            self.length += len(text)
            self.pieces.append(text)
            text = text[skipped:]
        point = self.extent.feed(text, last)
        body = self.start.body_offset
        return point and replace(point, body_end=point.body_end + body, end=point.end + body)

    @property
    def text(self) -> str:
        """The text so far, from the mark on."""
        self.pieces = ["".join(self.pieces)]
        return self.pieces[0]

    def take_certain(self) -> str:
        """Return the next text that need not be held, because it belongs to the candidate wherever
        the candidate ends. Count this text as emitted.
        """
        begin, self.emitted_length = self.emitted_length, self.extent.sure + self.start.body_offset
        return self.text[begin : self.emitted_length]

    def name(self, tools: Schemas) -> str:
        """Return a tool's name for a message to the user: the name of an offered tool that stands
        first in the text. If the text has none of these names, return one of them all the same.
        """
        text = self.text
        offsets = {text.find(tool, len(self.mark.mark)): tool for tool in tools}
        return offsets[min((offset for offset in offsets if offset >= 0), default=max(offsets))]

    def verdict(self, point: Point, tools: Schemas) -> Verdict | None:
        """Return the judge's verdict on the text up to `point`. Return `None` if the candidate does
        not end there, because a value or bracket is open; or if `MOST_TRIES` points of its kind (in
        a string, or not) were judged already.
        """
        if point.reason is End.CUT:
            return None if self.in_value(point) else _TEXT_VERDICT
        if self.is_text:
            return _TEXT_VERDICT
        if sum(point.in_string is it.in_string for it in self.judged) == MOST_TRIES:
            self.last_unjudged = point
            return None
        self.judged.append(point)
        verdict = self._judge(point, tools, last=False)
        return None if verdict.failed is Failed.UNCLOSED else verdict

    def last_verdict(self, end: End, tools: Schemas) -> tuple[Verdict, Point]:
        """Return the final verdict when no more text comes, and the point up to which it applies:
        an earlier point if the calls up to it are whole, else the end of the text.

        `end`: the reason why no more text comes.
        """
        length = len(self.text)
        whole, failed = Point(end, length, length), None
        if self.is_text:
            return _TEXT_VERDICT, whole
        latest = whole if getattr(self.row.body, "may_lack_closer", False) else self.last_unjudged
        if latest:
            verdict = self._judge(latest, tools, last=False)
            if verdict.calls and not (verdict.failed or verdict.calls[-1].is_cut):
                return verdict, latest
        for point in self.judged:
            verdict = self._judge(point, tools, last=True)
            if verdict.calls and not verdict.failed and not verdict.calls[-1].is_cut:
                return verdict, point
            failed = failed or (verdict if verdict.failed is Failed.BROKEN else None)
        verdict = self._judge(whole, tools, last=True)
        return verdict if verdict.calls or not failed else failed, whole

    def _judge(self, point: Point, tools: Schemas, last: bool) -> Verdict:
        """Return the judge's verdict on the body up to `point`. `last`: no more text comes, so that
        the judge may complete a call whose closing marks are missing.
        """
        body = self.text[self.start.body_offset : point.body_end]
        return judge(self.row, body, point.reason, tools, last=last)

    def kind_behind(self, source: Source, marks: MarkSearch) -> Follows:
        """Return the kind of the text behind the candidate, which is the unread text of `source`.
        Raises `NeedMore` if more text must come to decide it. `marks`: the search for the marks
        that count in this text.
        """
        whole = self.stands is Stands.AS_REPLY
        rest = source.rest.lstrip(BLANKS if whole else _LINE_BLANKS)
        if len(source.rest) - len(rest) > BLANKS_LIMIT:
            return Follows.TEXT
        # If calls must be the whole reply, marks behind them that the engine drops are no text.
        while whole and rest and (source.last or marks.begun_length(rest, 0) < len(rest)):
            match = marks.search(rest)
            mark = marks.read_mark(match[0])[0] if match and not match.start() else None
            if not match or mark not in _DROPPED_MARKS:
                return Follows.THOUGHT if mark in _THOUGHT_OPENERS else Follows.TEXT
            rest = rest[match.end() :].lstrip(BLANKS)
        if whole or not rest:
            source.need_more()
            return Follows.END
        if rest[0] in BLANKS:
            return Follows.LINE_END
        return Follows.CALL if source.mark_ahead(_CALL_OPENERS, _LINE_BLANKS) else Follows.TEXT
