"""The oracle of thinking: `read` divides a reply's text into thoughts and answer, by slow, obvious
regular expressions, which `oracle_marks` makes. It shares no code with the addon's parser, only
tables. At each offset an expression matches a piece of Markdown code, a thought, another mark (a
literal that begins or ends a thought or a tool call), or one character. Behind a mark, the search
begins as in a new text, so that a block of code may begin there too.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from converter.core.reading.rows import SUFFIX
from converter.core.reading.thought_row import ThoughtRow
from converter.core.reading.tool_calls.forms import CLOSERS
from converter.core.wire.bounds import GUESS_LIMIT
from laws.oracle_blocks import Block, thought_block, with_attributes
from laws.oracle_marks import (
    TOOL_MARKS,
    State,
    begins_call,
    call_end,
    call_openers_in_thoughts,
    is_shown_call,
    mark_patterns,
    pattern_of,
    tool_mark,
    trim_cut_mark,
    value_end,
)

_MOST_CACHED = 64
"""How many results of `_read` are cached, because the laws read one text again for each client."""


def read(
    text: str,
    families: Sequence[ThoughtRow],
    start: str = "text",
    attributes: bool = True,
    tools_offered: bool = False,
    wants_json: bool = False,
    *,
    stopped: bool = False,
) -> list[Block]:
    """Return the blocks of a reply's text in their order. `start`: the state in which it begins:
    "text", "closed" (text, because thinking is off), "thinking", "guessed" (probably thinking) or
    "undecided" (the first mark decides). `attributes`: True if openers may have attributes.
    `wants_json`: True for an answer in JSON. `stopped`: True if the model itself ended the reply.
    """
    options = (attributes, tools_offered, wants_json, stopped)
    return list(_read(text, tuple(families), start, options))


@lru_cache(_MOST_CACHED)
def _read(
    text: str, families: tuple[ThoughtRow, ...], start: str, options: tuple[bool, bool, bool, bool]
) -> tuple[Block, ...]:
    """Return the blocks for `read`: neighbouring text is joined, blank thoughts are left out.
    `options`: the options of `read` from `attributes` on, in its order.
    """
    blocks: list[Block] = []
    for block in _Reader(families, *options, text).blocks(start):
        if block.kind == "text" and blocks and blocks[-1].kind == "text":
            blocks[-1] = Block("text", blocks[-1].text + block.text)
        elif block.text.strip() or (block.kind == "text" and block.text):
            blocks.append(block)
    return tuple(blocks)


@dataclass
class _Reader:
    """A reader of one text, from mark to mark. Each step removes from `rest` what it has read."""

    families: tuple[ThoughtRow, ...]  # the rows of marks that may enclose a thought
    attributes: bool  # True if openers may have attributes (`<thinking thought="a">`)
    offered: bool  # True if the request offers tools
    wants_json: bool  # True if the answer is to be JSON
    stopped: bool  # True if the model ended the reply by itself
    rest: str  # the text that is not yet read
    stray: bool = True  # True if a closer with which `rest` begins closes nothing and is dropped
    closer: str = ""  # the closer of a thought, if `rest` begins directly behind it; else empty
    bare: bool = False  # True if a lone closer in `rest` would show that a thought stood before it
    answer_closer: str = ""  # the closer of the answer's tags, if their opener was read; else empty
    call: str = ""  # the opener of the tool call with which `rest` begins; empty if none does
    ended: bool = False  # True if only blanks and dropped marks are between a thought and `rest`
    called: bool = False  # True if only blanks are between a tool call and `rest`
    resumes: Sequence[str] = ()  # closers of a thought that goes on if text follows the last call
    unmarked: str = ""  # the text of a thought without opener that neither closer nor call ended
    torn: bool = False  # True if the last thought ended in an incomplete mark, which was dropped
    again: Sequence[str] = ()  # openers that are dropped if models repeat them in the thought

    def blocks(self, start: str) -> Iterator[Block]:
        """Yield the blocks in order. Several text blocks may follow one another."""
        self.bare, self.stray = start == "undecided", start != "closed"
        if start in ("thinking", "guessed"):
            yield from self._with_answer(self._take_first_thought(), start == "guessed")
        before = ""
        while True:
            if self.call:
                before += self._take_call()
            if self.resumes and self._text_follows():
                blanks = self.rest[: len(self.rest) - len(self.rest.lstrip())]
                self.rest = self.rest.removeprefix(blanks)
                yield Block("text", before + blanks)
                before = ""
                yield from self._with_answer(self._take_unopened(self.resumes))
                continue
            kind, match = self._next_mark()
            if not match:
                break
            before += self.rest[: match.start()]
            if kind in ("thought", "bare"):
                yield Block("text", before) if kind == "thought" else thought_block(before, None)
                before = ""
            if kind == "thought":
                yield self._take_opened(match)
                continue
            self._skip_mark(kind, match)
        text, blanks = self.rest.rstrip(), self.rest[len(self.rest.rstrip()) :]
        yield Block("text", before + text.removesuffix(self.answer_closer) + blanks)

    def _skip_mark(self, kind: str, match: re.Match[str]) -> None:
        """Remove from `rest` the text before a mark that opens no thought, and the mark if it opens
        no call. `match`: the match of the mark; `kind`: the group of `pattern_of` that matched.
        """
        before, parts = self.rest[: match.start()], match.groupdict()
        self.stray = kind == "stray" or (kind == "silent" and self.stray and not before.strip())
        self.called = self.called and self.stray
        self.bare = self.bare and kind == "silent"
        if kind == "answer":
            tags = [row.answer_tags for row in self.families if self.closer in row.closes]
            self.answer_closer = [*filter(None, tags)][-1][1]
        again = self.ended and kind in ("stray", "silent") and not before.strip()
        self.ended = kind == "bare" or again
        self.closer = parts["stray"] or parts["bare"] or ""
        self.rest = self.rest[match.start() if kind == "tool" else match.end() :]
        self.call = match[0] if kind == "tool" else ""
        self.resumes = self.resumes if kind == "tool" else ()

    def _next_mark(self) -> tuple[str, re.Match[str] | None]:
        """Return kind (`_kind`) and match of the first mark in `rest`; empty and None for none."""
        offset = 0
        while match := self._pattern(offset).match(self.rest, offset):
            kind = self._kind(match)
            if kind == "no call":
                shown = is_shown_call(self.rest, offset)
                offset += len(match[0]) if shown else 1
                offset = self._skip_value(offset) if shown else offset
            elif kind:
                return kind, match
            elif match[0] in "[{" and self._begins_value(offset):
                offset = self._skip_value(offset)
            else:
                offset = offset + 1 if match["thought"] else match.end()
        return "", None

    def _kind(self, match: re.Match[str]) -> str:
        """Return what matched: a group of `pattern_of`, "no call" for an opener of calls behind
        which no call begins, or an empty text for ordinary text and code.
        """
        kinds = ("torn", "tool", "thought", "stray", "bare", "answer", "silent")
        kind = next((name for name in kinds if match[name]), "")
        before = self.rest[: match.start()][-64:]
        # behind ` to=f`, the header `<|channel|>analysis<|message|>` belongs to a call of `f`
        addressed = re.search(r"\bto=[\w.-]+\s*\Z", before) and match[0].startswith("<|channel|>")
        if kind == "thought" and addressed:
            return ""
        called = kind != "tool" or begins_call(self.rest, 0, match.start(), not self.resumes)
        return kind if called else "no call"

    def _text_follows(self) -> bool:
        """Return True if `rest` begins with text, perhaps behind blanks, but not with a mark."""
        offset = len(self.rest) - len(self.rest.lstrip())
        match = self._pattern(offset).match(self.rest, offset)
        return match is not None and self._kind(match) in ("", "no call")

    def _begins_value(self, offset: int) -> bool:
        """Return True if the bracket at `offset` begins a call in JSON, or an answer in JSON."""
        head = not self.rest[:offset].strip()
        offered = self.offered and bool(self.families)
        return (head and (offered or self.wants_json)) or (self.wants_json and not self.bare)

    def _skip_value(self, offset: int) -> int:
        """Return the offset behind the JSON value at `offset`. If the value has no end, return the
        end of the text, and let no mark count any more.
        """
        end = value_end(self.rest, offset)
        if end is None:
            self.families = ()
        return len(self.rest) if end is None else end

    def _pattern(self, offset: int) -> re.Pattern[str]:
        """Return the pattern of the piece of text that begins at `offset` of `rest`."""
        head = not self.rest[:offset].strip()
        stray = head and (self.stray or self.ended)
        bare, called = self.bare and not stray, head and self.called
        inside = called and bool(self.resumes)
        state = State(head, self.closer, bare, stray, self.offered, called, inside)
        return pattern_of(self.families, self.attributes, state)

    def _take_call(self) -> str:
        """Remove the call with which `rest` begins, or all if it has no end; return its text."""
        closed = TOOL_MARKS[self.call].close != ""
        value = value_end(self.rest, len(self.call), header=True)
        end = call_end(self.rest, self.call) if closed else value
        if end is None:
            self.families = ()  # in a call without an end, no mark counts
        elif self.resumes and (more := _CALL_CLOSERS.match(self.rest, end)):
            end = more.end()
        call, self.rest = self.rest[:end], self.rest[len(self.rest) if end is None else end :]
        self.stray, self.called, self.call = True, True, ""
        return call

    def _take_opened(self, match: re.Match[str], before: str = "") -> Block:
        """Remove from `rest` the thought that `match` has found, and all before it; return the
        thought's block. `before`: blanks before the opener, which become a part of the block.
        """
        parts = match.groupdict()
        self.bare = self.stray = self.called = False
        name = next((name for name in parts if name[:4] in _GROUPS and parts[name] is not None), "")
        self.ended = False
        if not name:
            self.rest, self.closer = self.rest[match.end() :], ""
            return with_attributes(before, "", parts["whole"] or "")
        number = name[4:]
        family = self.families[int(number)]
        suffix = parts.get(f"suffix{number}") or ""
        closers = [mark.replace(SUFFIX, suffix) for mark in family.closes]
        closer = parts[f"{_GROUPS[name[:4]]}{number}"] or ""
        first = [*family.opens, *family.labels]
        if name.startswith("said"):
            marks = [*first, *(label.rstrip() for label in family.labels)]
            before += re.sub("|".join(mark_patterns(marks)), "", parts[f"again{number}"] or "")
        self.again = family.again
        text = self._take_thought(match.span(name), match.end(), closer, closers, first)
        if written := parts.get("attributes"):
            return with_attributes(before, text, written)
        return thought_block(before + text, None)

    def _take_thought(
        self,
        span: tuple[int, int],
        behind: int,
        closer: str,
        closers: Sequence[str],
        first: Sequence[str],
    ) -> str:
        """Remove a thought's text and its closer, and return the text. If a call ends the thought
        earlier, remove and return only the text before it. `span`: the offsets of the text;
        `closer`: the closer behind it, empty for none; `behind`: the offset behind both; `closers`:
        all marks that may close the thought; `first`: marks that count only where it begins.
        """
        begin, end = span
        call_openers = call_openers_in_thoughts(self.families, self.offered)
        marks = [*closers, *call_openers]
        if trim_cut_mark(self.rest[end:][:_MOST_COMPARED], self.families, marks, ()) == "":
            # the closer is the beginning of a longer mark that the end of the text cuts off
            end, behind, closer = len(self.rest), len(self.rest), ""
        called = self._find_call(begin, end, call_openers)
        until = end if called is None else called
        kept = re.sub("|".join(mark_patterns(self.again)) or "(?!)", "", self.rest[begin:until])
        gone = until - begin - len(kept)
        self.rest = self.rest[:begin] + kept + self.rest[until:]
        end, behind, start = end - gone, behind - gone, begin
        while (offset := self._find_call(start, end, call_openers)) is not None:
            behind_draft = self._end_of_drafts(offset, closers, call_openers)
            if behind_draft is None:
                text, self.rest, self.closer = self.rest[begin:offset], self.rest[offset:], ""
                self.call, self.resumes = tool_mark(self.rest, 0), closers
                return text
            start, match = behind_draft, _first_of(closers, self.rest, behind_draft)
            end, behind = match.span() if match else (len(self.rest), len(self.rest))
            closer = match[0] if match else ""
        text, self.rest, self.closer = self.rest[begin:end], self.rest[behind:], closer
        self.ended, self.resumes = closer != "", ()
        if closer:
            return text
        whole = trim_cut_mark(text, self.families, marks, first)
        self.torn = whole != text
        return whole

    def _find_call(self, start: int, end: int, call_openers: Sequence[str]) -> int | None:
        """Return the offset of the first call from `start` to `end` that has one of the openers."""
        offsets = (
            offset
            for offset in range(start, end + 1)
            if (mark := tool_mark(self.rest, offset)) in call_openers
            and self._is_call_in_thought(start, offset, mark)
        )
        return next(offsets, None)

    def _end_of_drafts(
        self, offset: int, closers: Sequence[str], call_openers: Sequence[str]
    ) -> int | None:
        """Return the offset behind the call at `offset` and the calls that follow it, if they are
        drafts, calls that the thought only considers; None if they end the thought. They are drafts
        if the thought is closed behind them, or if over `GUESS_LIMIT` characters of text follow.
        """
        while True:
            other = self._new_reader(self.rest[offset:])
            other.call, other.resumes = tool_mark(other.rest, 0), closers
            other._take_call()
            called = len(self.rest) - len(other.rest)
            # The call has no end. If its opener is a special token, a closer of the thought counts
            # in the text behind the opener
            if not other.families:
                special = TOOL_MARKS[tool_mark(self.rest, offset)].special
                behind_mark = offset + len(tool_mark(self.rest, offset))
                closer = _first_of(closers, self.rest, behind_mark) if special else None
                return closer.start() if closer else None
            goes_on = other._text_follows()
            behind = called + len(other.rest) - len(other.rest.lstrip())
            if not goes_on:
                silent = {mark for row in self.families for mark in row.ignored}
                closer = _first_of([it for it in closers if it not in silent], self.rest, behind)
                if closer and closer.start() == behind:
                    return behind  # the thought is closed directly behind the call: a draft
                if behind == len(self.rest) or not tool_mark(self.rest, behind):
                    return None
                offset = behind
                continue
            closer = _first_of(closers, self.rest, behind)
            end = closer.start() if closer else len(self.rest)
            again = self._find_call(behind, end, call_openers)
            if (end if again is None else again) - behind > GUESS_LIMIT or (
                closer and again is None
            ):
                return behind
            if again is None:
                return None
            offset = again

    def _is_call_in_thought(self, begin: int, offset: int, mark: str) -> bool:
        """Return True if the opener `mark`, at `offset` in a thought, begins a call. `begin`: where
        the thought begins, or the text behind its last draft (a call that does not end it).
        """
        fenced = not TOOL_MARKS[mark].special and _is_fenced(self.rest[begin:offset])
        return not fenced and begins_call(self.rest, begin, offset)

    def _with_answer(self, thought: Block, guessed: bool = True) -> Iterator[Block]:
        """Yield a thought's block. If the thought is only a guess (`guessed`), without closer or
        call, and the model ended the reply by itself, the last paragraph is the answer instead.
        """
        unmarked, self.unmarked = self.unmarked, ""
        answer = _guessed_answer(unmarked) if guessed and self.stopped and unmarked else ""
        if answer:
            yield thought_block(unmarked.removesuffix(answer), None)
            yield from self._new_reader(answer).blocks("text")
        else:
            yield thought

    def _new_reader(self, text: str) -> "_Reader":
        return _Reader(
            self.families, self.attributes, self.offered, self.wants_json, self.stopped, text
        )

    def _take_first_thought(self) -> Block:
        """Remove the thought with which a reply begins, and return its block. The thought has no
        opener, because the prompt ends with it, or the model writes the opener again.
        """
        closers = [mark for row in self.families for mark in row.closes]
        openers = [mark for row in self.families for mark in row.opens]
        call_openers = call_openers_in_thoughts(self.families, self.offered)
        silent = {mark for row in self.families for mark in row.ignored} - set(closers)
        marks = "|".join(mark_patterns([*silent, *closers, *openers, *call_openers])) or "(?!)"
        first = [*openers, *silent]
        while (match := re.match(rf"(\s*?)({marks})", self.rest)) and match[2] in silent:
            rest = self.rest[match.start(2) :][:_MOST_COMPARED]
            if trim_cut_mark(rest, self.families, [*closers, *call_openers], first) == "":
                break
            self.rest = match[1] + self.rest[match.end() :]
        blanks = len(self.rest) - len(self.rest.lstrip())
        pattern = pattern_of(self.families, self.attributes, State(True, ""))
        for offset in range(blanks + 1):
            opened = pattern.match(self.rest, offset)
            if opened and opened["thought"] and not opened.groupdict().get("whole"):
                return self._take_opened(opened, self.rest[:offset])
        return self._take_unopened(closers, first)

    def _take_unopened(self, closers: Sequence[str], first: Sequence[str] = ()) -> Block:
        """Remove a thought without opener, and return its block. `first`: as in `_take_thought`."""
        ended = re.search("|".join(mark_patterns(closers)) or "(?!)", self.rest)
        span = (0, ended.start() if ended else len(self.rest))
        behind, closer = (ended.end(), ended[0]) if ended else (len(self.rest), "")
        self.stray = self.bare = self.called = False
        self.again = [mark for row in self.families for mark in row.again] if first else []
        text = self._take_thought(span, behind, closer, closers, first)
        self.unmarked = "" if closer or self.call or self.torn else text
        return thought_block(text, None)


def _first_of(marks: Sequence[str], text: str, offset: int) -> re.Match[str] | None:
    """Return the first match of one of the marks from `offset` on; None if there is none."""
    return re.compile("|".join(mark_patterns(marks)) or "(?!)").search(text, offset)


_CALL_CLOSERS = re.compile(rf"(?:\s*(?:{'|'.join(mark_patterns(CLOSERS))}))*")
"""The pattern of any closers of calls, with blanks before each: ` </tool_call> </tool_calls>`."""
_MOST_COMPARED = 200
"""How many characters of the unread text are compared with marks, which are all shorter."""
_GROUPS = {"said": "closer", "word": "tail"}
"""Group of a thought's text, for an opener without and with attributes -> group of the closer."""


def _guessed_answer(text: str) -> str:
    """Return a text of up to `GUESS_LIMIT` characters as it is. Of a longer text, return the last
    paragraph; if that has more than `GUESS_LIMIT` characters, its end, from a word's beginning on.
    """
    least = len(text) - GUESS_LIMIT
    if least <= 0:
        return text
    begun = [match.end() for match in re.finditer(r"\n[^\S\n]*\n\s*(?=\S)", text)]
    blanks = [match.end() for match in re.finditer(r"\s+(?=\S)", text) if match.end() >= least]
    return text[
        next((offset for offset in reversed(begun) if offset >= least), (blanks or [least])[0]) :
    ]


def _is_fenced(text: str) -> bool:
    """Return True if the text ends within a fenced block of Markdown code."""
    matches = list(pattern_of((), False, State(False, "")).finditer(text + "x"))
    return matches[-1]["fence"] is not None
