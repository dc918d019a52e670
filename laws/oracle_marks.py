"""Make the patterns with which the oracle of thinking (`oracle`) finds marks in a reply's text, the
literals that begin or end a thought or a tool call: `pattern_of`, `mark_patterns`. Other functions
tell where a call in text (`call_end`) or its JSON (`value_end`) begins and ends.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from converter.core.reading.families import CLOSERS
from converter.core.reading.rows import GAP, SUFFIX, Counts
from converter.core.reading.thought_row import Lone, ThoughtRow
from converter.core.reading.tool_calls.bodies import Keyed
from converter.core.reading.tool_calls.call_row import CallRow
from converter.core.reading.tool_calls.forms import CLOSERS as CLOSERS_OF_CALLS
from converter.core.reading.tool_calls.forms import FORMS

_MARGIN = r"[ \t\r>*+\-0-9.)]*+"
"""The pattern of blanks and signs of quotations and lists before a fence: `> 1. `, but not `a `."""
ATTRIBUTE_NAME = r"[A-Za-z_][\w.:-]*"  # the name of an attribute: `x:id-1`, but not `1a`
_QUOTED = r"""(?:"[^"]*"|'[^']*')"""  # the value of an attribute: `"a"` or `'a'`, but not `a`
ATTRIBUTES = rf"(?=\s)(?:\s+{ATTRIBUTE_NAME}\s*=\s*{_QUOTED})*\s*"
"""The pattern of the attributes in a tag, with blanks around them: ` a="1" b='2' `, not ` a=1`."""
_ANY_SUFFIX = r"[0-9A-Za-z_.:-]{1,32}"
"""The pattern for the wildcard `SUFFIX` in a mark: the `a` of `<think:a>`, but not `a b`."""
_HEADER = r"(?:(?!to=)[^<]){0,48}+"
"""The pattern of text between the tokens of a header, with which gpt-oss begins each message: the
` json` of `<|channel|>final json<|message|>`. The text ends before `<` and before `to=`.
"""
_GAP = rf"(?=\W)(?!<\|message){_HEADER}(?:<\|constrain\|>{_HEADER})?"
"""The pattern of a gap, the text for the wildcard `GAP` in a mark that is a header of gpt-oss: the
` json` of `<|channel|>final json<|message|>`, or ` a<|constrain|>json`. It does not fit ` to=f`
(the recipient of a call), nor the `ize` of `<|channel|>finalize<|message|>` (a word goes on).
"""
_QUOTES = "\"'`“‘«‹„「『(["  # directly before a mark, they show that it is only quoted
_CLOSER = "|".join(re.escape(mark) for mark in CLOSERS)  # for a closer of a thought: `</think>`
_CALL_NEXT = re.compile(
    rf"\s*(?:(?:{_CLOSER})\s*)?+(?:[\[{{]|<[^/])|"
    r"\w[\w.-]*\s*[\[{(]|\w[\w.-]*\s*<[^/]|\w[\w.-]*[^\S\n]*\n"
)
"""The pattern of what follows the opener of a call: the beginning of JSON or of a tag (`{`, `[`,
`<a`), before which blanks and one closer of a thought may stand; or the tool's name and behind it
JSON, `(`, a tag or a line end (`f {`, `f(`). It does not fit `f is`.
"""
_WORD_NEXT = re.compile(r"\w|[^\S\n]*\n\s*\w")
"""The pattern of a word directly behind an opener of calls, or behind blanks with a line end: it
fits `f`, and also a line end and `f`, but not a blank and `f`.
"""
_MAYBE_CUT_CALL = re.compile(r"\s*<?|\w[\w.-]*\s*<?")
"""The pattern of all the text behind an opener, if it may be a call that the reply's end cuts off:
it fits the empty text, `f` and `f <`, but not `f is`.
"""

_TEXT_PATTERN = rf"""
    # the line of a fence; behind a fence of backticks, its line has no further backtick
    ^ {_MARGIN} (?P<fence> (?P<mark>[`~]) (?P=mark){{2,}}+ )
      (?: (?<=~) | (?![^\n]*`) ) [^\n]*
      # lines that do not close the block, and the line that does
      (?: \n (?! {_MARGIN} (?P=fence)(?P=mark)*+ [^\S\n]* (?:\n|\Z) ) [^\n]* )*+
      (?: \n {_MARGIN} (?P=fence)(?P=mark)*+ [^\S\n]* (?=\n|\Z) )?
  | \\ [\\`]                                                    # an escaped backtick opens nothing
  | (?P<ticks> `++ )                                            # an inline span begins
      # it ends at the same number of backticks, at the end of the paragraph or at a fence
      (?: (?! (?P=ticks)(?!`)  |  \n [^\S\n]* \n  |  ^ {_MARGIN} (?:`{{3}}|~{{3}}) )
          (?: `++ | . ) )*+
      (?: (?! ^ `{{3}} ) (?P=ticks)(?!`) )?
  | MARKS
  | .
"""
"""The pattern of a piece of text: Markdown code, a mark (in place of `MARKS`), or a character."""


@dataclass(frozen=True)
class ToolMark:
    """The facts about a mark that begins tool calls, from the addon's table of forms."""

    counts: Counts  # where the mark begins a call; elsewhere it is text
    close: str  # the closer behind the calls; empty if they have none
    before: tuple[str, ...] = ()  # marks before which a call ends too, as its closer may be missing
    alone: bool = False  # True if the mark is no opener before a call, but begins it: `<function=`

    @property
    def special(self) -> bool:
        """True if the mark is a special token of the model, which counts anywhere, also in code."""
        return self.counts is Counts.EVERYWHERE


_IN_THOUGHTS = (Counts.EVERYWHERE, Counts.IN_THOUGHTS, Counts.IN_THOUGHTS_WITH_TOOLS)
"""The `Counts` of openers whose calls may end a thought; the last only if tools are offered."""


def _tool_marks_of(form: CallRow) -> Iterator[tuple[str, ToolMark]]:
    """Yield each mark that begins calls of the form, with the facts about it."""
    section, behind = form.section
    if section:
        yield section, ToolMark(form.counts, behind, form.ends_before)
    for opener in form.opens:
        yield opener + form.thought_suffix, ToolMark(form.counts, form.close, form.ends_before)
    body = form.body
    if form.alone and isinstance(body, Keyed) and not (body.may_lack_closer or body.nested_values):
        for head in body.starts:
            yield head, ToolMark(form.counts, body.body_closers[0], alone=True)


TOOL_MARKS = {
    mark: tool
    for form in FORMS
    if form.counts is not Counts.AS_WHOLE_REPLY
    for mark, tool in _tool_marks_of(form)
}
"""Mark that begins calls -> the facts about it; without forms that count only as a whole reply."""


@dataclass(frozen=True)
class State:
    """The facts about the text before an offset that decide which marks count at the offset."""

    at_start: bool  # True if only blanks stand between the last mark that was read and the offset
    closer: str  # the last mark that was read, if it is the closer of a thought; else empty
    bare: bool = False  # True if a closer without opener shows that all before it was a thought
    stray: bool = False  # True if a closer at the offset is dropped, because it closes nothing
    offered: bool = False  # True if the request offers tools
    called: bool = False  # True if only blanks stand between a call and the offset
    inside: bool = False  # True if `called` is True, and the call ended a thought


@cache
def pattern_of(families: tuple[ThoughtRow, ...], attributes: bool, state: State) -> re.Pattern[str]:
    """Return the pattern of the next piece of a text: code, a thought, a mark, or one character.
    The group that matches tells what a mark is: an opener of calls (`tool`), a closer that is
    dropped (`stray`) or shows that all before it was a thought (`bare`), the answer's opener
    (`answer`), a token that is dropped (`silent`), a mark that the reply's end cuts off (`torn`).
    """
    rows = [
        (number, row)
        for number, row in enumerate(families)
        if state.at_start or row.counts is not Counts.AT_START
    ]
    marks, torn = _marks_in(families, state), tuple(mark for row in families for mark in row.torn)
    closers = mark_patterns(_lone_closers(families, state))
    answers = [
        row.answer_tags[0]
        for row in families
        if row.answer_tags and state.at_start and state.closer in row.closes
    ]
    groups = {
        # A header of gpt-oss that the reply's end cuts off is text if its gap has a word
        # (`<|channel|>final I`). Only one character is matched: a mark may begin at the next one
        "worded": [f"(?={end})." for end in _worded_patterns(marks, torn)],
        "torn": _cut_mark_patterns(marks, torn),
        "tool": mark_patterns(_tool_marks_in_text(families, state)),
        "thought": [_thought_pattern(at, row, attributes and row.attributes) for at, row in rows],
        "stray": closers if state.stray else [],
        "bare": closers if state.bare else [],
        "answer": mark_patterns(answers[-1:]),
        "silent": mark_patterns(
            [*(mark for row in families for mark in row.ignored), *_silent_closers(families, state)]
        ),
    }
    source = "|".join(f"(?P<{name}>{'|'.join(match) or '(?!)'})" for name, match in groups.items())
    return re.compile(_TEXT_PATTERN.replace("MARKS", source), re.VERBOSE | re.DOTALL | re.MULTILINE)


def _silent_closers(families: Sequence[ThoughtRow], state: State) -> list[str]:
    """Return the closers that are dropped although they close nothing (`Lone.NOTHING`). There are
    none if the state is `bare` or `stray`, in which a closer without opener has another meaning.
    """
    rows = [row for row in families if row.lone is Lone.NOTHING]
    return [] if state.bare or state.stray else [mark for row in rows for mark in row.closes]


def _marks_in(families: Sequence[ThoughtRow], state: State) -> list[str]:
    """Return the marks that may begin in this state, in which the reply's end may cut them off."""
    marks = [mark for row in families for mark in (*row.opens, *row.ignored)]
    marks += _lone_closers(families, state) if state.bare or state.stray else []
    marks += CLOSERS_OF_CALLS if state.inside else ()
    return marks + _tool_marks_in_text(families, state)


def _cut_mark_patterns(marks: Sequence[str], torn: tuple[str, ...]) -> list[str]:
    """Return a list of one pattern, which fits an incomplete mark at the reply's end if it begins
    with a special token of `torn`: `<|channel|>fin`. If `torn` is empty, so is the list.
    """
    parts = _mark_beginning_patterns(marks, torn)
    parts += [_begun_gap_pattern(mark, r"(?!\s*[^\s<])") for mark in marks if GAP in mark]
    return [rf"(?:{'|'.join(parts)})\Z"] if torn else []


def _mark_beginning_patterns(marks: Sequence[str], torn: tuple[str, ...]) -> list[str]:
    """Return a pattern for each incomplete mark that begins with a special token of `torn`: for
    `<|channel|>f`, `<|channel|>fi` and so on, up to the mark's gap (`GAP`) if it has one.
    """
    cut = {mark[:length] for mark in marks for length in range(1, len(mark))}
    return mark_patterns(part for part in cut if part.startswith(torn) and GAP not in part)


def _worded_patterns(marks: Sequence[str], torn: tuple[str, ...]) -> list[str]:
    """Return patterns of gpt-oss headers that the reply's end cuts off, with a word in their gap:
    `<|channel|>final I`. They do not fit the beginning of a mark without gap, if it begins with a
    special token of `torn`: `<|channel|>commentary to` of `<|channel|>commentary to=assistant`.
    """
    others = rf"(?!(?:{'|'.join(_mark_beginning_patterns(marks, torn)) or '(?!)'})\Z)"
    gaps = [mark for mark in marks if GAP in mark]
    return [others + _begun_gap_pattern(mark, r"(?=\s*[^\s<])") + r"\Z" for mark in gaps]


def _begun_gap_pattern(mark: str, condition: str = "") -> str:
    """Return the pattern of a header (`<|channel|>final json<|message|>`) that is cut off in its
    gap (` json`) or in the token behind: `<|channel|>final js`. `mark`: the header with `GAP`.
    `condition`: a lookahead where the gap begins; empty for none.
    """
    head, _, tail = mark.partition(GAP)
    ends = {end[:length] for end in (tail, "<|constrain|>") for length in range(1, len(end))}
    some = "|".join(mark_patterns(ends))
    return rf"{re.escape(head)}{condition}(?!\w){_HEADER}(?:<\|constrain\|>{_HEADER})?(?:{some})?"


def _lone_closers(families: Sequence[ThoughtRow], state: State) -> list[str]:
    """Return the closers that count without an opener, except those that are dropped everywhere
    (`ignored`). Those of `Lone.TEXT` count only directly behind a call that ended a thought.
    """
    rows = [row for row in families if row.lone is not Lone.TEXT or state.inside]
    return [mark for row in rows for mark in row.closes if mark not in row.ignored]


def call_openers_in_thoughts(families: Sequence[ThoughtRow], offered: bool) -> list[str]:
    """Return the openers of calls that count in a thought. `offered`: True if tools are offered."""
    counts = _IN_THOUGHTS if offered else _IN_THOUGHTS[:2]
    marks = [mark for mark, tool in TOOL_MARKS.items() if not tool.alone and tool.counts in counts]
    return marks if families else []


def _tool_marks_in_text(families: Sequence[ThoughtRow], state: State) -> list[str]:
    """Return the openers of calls that count in an answer. If the request offers no tools, return
    none, except directly behind a call: there, those that count in a thought too.
    """
    if state.offered and families:
        return [*TOOL_MARKS]
    return call_openers_in_thoughts(families, False) if state.called else []


def value_end(text: str, offset: int, header: bool = False) -> int | None:
    """Return the offset behind the JSON value, or the list of Python calls, at `offset`. Blanks may
    stand before it and, if `header` is True, a tool's name. Return `None` if the text ends before
    the value's end. If neither is there, return the offset of the first character that shows so.
    """
    begin = _value_begin(text, offset, header)
    if begin is None or not _begins_value(text, offset, begin):
        return begin
    return next((begin + end for end, depth, _ in _characters_of(text[begin:]) if not depth), None)


def in_string(text: str) -> bool:
    """Return True if the text is a JSON value that is cut off within one of its strings."""
    steps = list(_characters_of(text))
    return all(depth for _, depth, _ in steps) and bool(steps[-1][2])


def _characters_of(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield for each character of JSON the offset behind it, the number of open brackets, and the
    quote of the open string, empty for none. A backslash and the next character count as one.
    """
    depth, quote, last = 0, "", ""
    for match in re.finditer(r"\\.|.", text, re.DOTALL):
        character = match[0][:1] if quote else match[0][-1:]
        if quote:
            quote, last = ("", character) if character == quote else (quote, last)
        elif character == '"' or (character == "'" and last in tuple("[{(,:=")):
            quote = character
        else:
            depth += (character in "[{(") - (character in "]})")
            last = last if character.isspace() else character
        yield match.end(), depth, quote


def _begins_value(text: str, offset: int, at: int) -> bool:
    """Return True if a value begins at `at`: `{`; or `[` with only blanks from `offset` to `at`."""
    return text[at] == "{" or (text[at] == "[" and not text[offset:at].strip())


def call_end(text: str, opener: str) -> int | None:
    """Return the offset at which the call at the beginning of `text` ends; None if it has no end.
    `opener`: the mark with which the call begins. It ends behind the closer of `opener`, or before
    a mark of `ToolMark.before` that stands behind the first `{` and in no string.
    """
    tool, begin = TOOL_MARKS[opener], text.find("{", len(opener))
    ends = [
        offset + len(tool.close) for offset in [text.find(tool.close, len(opener))] if offset >= 0
    ]
    for mark in tool.before if begin >= 0 else ():
        offsets = [each.start() for each in re.finditer(re.escape(mark), text)]
        ends += [each for each in offsets if each > begin and not in_string(text[begin:each])]
    return min(ends, default=None)


def _value_begin(text: str, offset: int, header: bool) -> int | None:
    """Return where `value_end` finds a value or other text; None if the text ends before that."""
    for at in range(offset, len(text)):
        if _begins_value(text, offset, at):
            return at
        written = text[offset : at + 1].strip()
        no_header = at - offset >= 383 or not re.match(r"[\w\s.\-:\[\]]", text[at])
        if written and (not header or no_header):
            return at
    return None


def is_shown_call(text: str, offset: int) -> bool:
    """Return True if the opener at `offset` only shows how a call looks: it stands in the middle of
    a sentence, and a call's JSON follows it, as in `write <tool_call>{"name": "f"}`.
    """
    line = re.search(r"[^\n]*\Z", text[:offset][-64:])[0]  # type: ignore[index]
    behind = text[offset + len(tool_mark(text, offset)) :]
    return bool(re.search(r"[^\W_]\s+\Z|[,;]\s+\Z", line) and re.match(r"\s*[\[{]", behind))


def mark_patterns(marks: Iterable[str]) -> list[str]:
    """Return a pattern for each mark, the longest first, so that `"|".join(...)` tries it first."""
    return [_mark_pattern(mark, _ANY_SUFFIX) for mark in sorted(marks, key=len, reverse=True)]


def _mark_pattern(mark: str, suffix: str) -> str:
    """Return the pattern of a mark. `suffix`: the pattern that replaces `SUFFIX` in the mark."""
    return re.escape(mark).replace(SUFFIX, suffix).replace(GAP, _GAP)


def _thought_pattern(number: int, family: ThoughtRow, attributes: bool) -> str:
    """Return the pattern of a thought: an opener, the text up to the next closer of the family, and
    the closer. A thought without closer goes on to the end of the text. Behind the opener, further
    openers and labels (`thought`) are skipped. `attributes`: True if the opener may have attributes
    (group `attributes`), or be an empty element with them (`<thinking thought="a"/>`, group
    `whole`). `number`: the family's index, with which the names of all other groups end.
    """
    closers = "|".join(_mark_pattern(mark, f"(?P=suffix{number})") for mark in family.closes)
    rest = rf"(?P<said{number}>.*?)(?:(?P<closer{number}>{closers})|\Z)"
    openers = "|".join(
        _opener_pattern(family, mark, f"(?P<suffix{number}>{_ANY_SUFFIX})") for mark in family.opens
    )
    more = [_opener_pattern(family, mark, f"(?P=suffix{number})") for mark in family.opens]
    more += [_mark_pattern(mark, "") for mark in family.labels]
    more += [rf"{re.escape(label.rstrip())}(?={closers})" for label in family.labels]
    plain = rf"(?:{openers})(?P<again{number}>(?:\s*(?:{'|'.join(more)}))*+){rest}"
    if not attributes:
        return plain
    name = re.escape(family.open[:-1])
    rest = rest.replace("<said", "<word").replace("<closer", "<tail")
    return rf"{name}(?P<whole>{ATTRIBUTES})/>|{name}(?P<attributes>{ATTRIBUTES})>{rest}|{plain}"


def _opener_pattern(family: ThoughtRow, mark: str, suffix: str) -> str:
    """Return the pattern of the opener `mark`. It does not fit where a longer mark of the family
    begins (the opener `<|channel>` at `<|channel>response`). `suffix`: as in `_mark_pattern`.
    """
    longer = {other for other in (*family.closes, *family.ignored) if other.startswith(mark)}
    no_longer_mark = "".join(f"(?!{_mark_pattern(other, suffix)})" for other in longer)
    return no_longer_mark + _mark_pattern(mark, suffix)


def tool_mark(text: str, offset: int) -> str:
    """Return the longest mark of `TOOL_MARKS` at `offset`; empty if there is none."""
    return max((mark for mark in TOOL_MARKS if text.startswith(mark, offset)), key=len, default="")


def begins_call(text: str, begin: int, offset: int, answer: bool = False) -> bool:
    """Return True if the opener at `offset` begins a call. It begins none if it is quoted or in
    mid-sentence, unless it is a special token. Something like a call must follow in a thought, and
    in an answer if the opener is a special token or has text and a blank before it in its line;
    but not behind the header of a call of gpt-oss (`<|channel|>commentary to=functions`).
    `begin`: where the text begins that is read; `answer`: True for an answer, False for a thought.
    """
    mark = tool_mark(text, offset)
    before, behind = text[begin:offset][-64:], text[offset + len(mark) :]
    if TOOL_MARKS[mark].special:
        if mark.startswith("<|channel|>"):  # a header of gpt-oss that is addressed to a tool
            return True
        before, answer = "", False
    line = re.search(r"[^\n]*\Z", before)[0]  # type: ignore[index]
    if line.strip() and line[-1] in _QUOTES:
        return False
    if re.search(r"[^\W_]\s+\Z|[,;]\s+\Z", line):  # the mark is in mid-sentence
        return False
    parted = line.strip() != "" and line[-1].isspace()  # text, then a blank, then the mark
    if answer and not parted:
        return True
    if _CALL_NEXT.match(behind) or (not parted and _WORD_NEXT.match(behind)):
        return True
    return not parted and _MAYBE_CUT_CALL.fullmatch(behind) is not None


def trim_cut_mark(
    text: str, families: Sequence[ThoughtRow], marks: Sequence[str], first: Sequence[str]
) -> str:
    """Return the text of a thought without the mark that the text's end cuts off
    (`<|channel|>fin`). The cut mark is removed only if it begins with a token of `ThoughtRow.torn`
    and its gap has no word (`<|channel|>final I` is text). `marks`: those that count anywhere in
    the thought; `first`: those that count only where the text begins, perhaps behind blanks.
    """
    torn = tuple(mark for row in families for mark in row.torn)
    longest = max(map(len, [*marks, *first]), default=0)
    beginnings = {mark[0] for mark in [*marks, *first]}
    for offset in (offset for offset, character in enumerate(text) if character in beginnings):
        count = [*marks, *first] if not text[:offset].strip() else marks
        if len(text) - offset > longest:  # only a mark with text for its gap can be so long
            count = [mark for mark in count if GAP in mark]
        if any(_is_incomplete(mark, text[offset:]) for mark in count):
            worded = any(re.match(match, text[offset:]) for match in _worded_patterns(count, torn))
            return text[:offset] if text.startswith(torn, offset) and not worded else text
    return text


def _is_incomplete(mark: str, text: str) -> bool:
    """Return True if the text is the beginning of `mark`, but not the whole mark."""
    gap = GAP in mark and re.fullmatch(_begun_gap_pattern(mark), text)
    return bool(gap) or (mark.partition(GAP)[0].startswith(text) and mark != text)
