"""The reading rules once more, as one slow and obvious regular expression over the whole text.

It shares no line with the parser. What the expression finds at a place is a piece of code, a
thought, a mark that is no text, or one character of text; after a mark the rest is read as if it
were a text of its own, which is what "code begins anew" means.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from converter.parsing.families import SUFFIX
from converter.parsing.guess import LIMIT
from converter.parsing.tag_matcher import ThinkTags
from converter.parsing.tool_marks import BY_OPENER, TOOL_MARKS


@dataclass(frozen=True)
class Block:
    """One part of a message. The last two are only known of attribute forms."""

    kind: str
    text: str
    thought_type: str | None = None
    confidence: float | None = None


# what may stand before a fence: blanks, and the marks of quotations and lists
_MARGIN = r"[ \t\r>*+\-0-9.)]*+"
_NAME = r"[A-Za-z_][\w.:-]*"
_QUOTED = r"""(?:"[^"]*"|'[^']*')"""
_ATTRIBUTES = rf"(?=\s)(?:\s+{_NAME}\s*=\s*{_QUOTED})*\s*"
_PAIR = re.compile(rf"""\s({_NAME})\s*=\s*(?:"([^"]*)"|'([^']*)')""")


_ANY_SUFFIX = r"[0-9A-Za-z_-]{1,32}"

_QUOTES = "\"'`“‘«‹„「『(["
_CALL = re.compile(r"\s*[\[{]|\s*<[^/]|\w[\w.-]*\s*[\[{(]|\w[\w.-]*\s*<[^/]|\w[\w.-]*[^\S\n]*\n")
_CALL_AT_BREAK = re.compile(r"\w|[^\S\n]*\n\s*\w")
_CALL_AT_END = re.compile(r"\s*<?|\w[\w.-]*\s*<?")

_TEMPLATE = rf"""
    ^ {_MARGIN} (?P<fence> (?P<mark>[`~]) (?P=mark){{2,}}+ )     # a fence; one of backticks has none behind it in its line,
      (?: (?<=~) | (?![^\n]*`) ) [^\n]*
      (?: \n (?! {_MARGIN} (?P=fence)(?P=mark)*+ [^\S\n]* (?:\n|\Z) ) [^\n]* )*+    # lines that do not close it,
      (?: \n {_MARGIN} (?P=fence)(?P=mark)*+ [^\S\n]* (?=\n|\Z) )?             # and the one that does
  | \\ [\\`]                                                    # an escaped backtick opens nothing
  | (?P<ticks> `++ )                                            # an inline span, which runs ...
      (?: (?! (?P=ticks)(?!`)  |  \n [^\S\n]* \n  |  ^ {_MARGIN} (?:`{{3}}|~{{3}}) ) (?: `++ | . ) )*+
      (?: (?! ^ `{{3}} ) (?P=ticks)(?!`) )?                      # ... to its like, or the paragraph's end, or a fence
  | MARKS
  | .
"""


@dataclass(frozen=True)
class Here:
    """The facts that count at a place. `head`: only blanks before; `closer`: what ended the thought
    before those; `bare`: a closer may tell that what came before was a thought; `stray`: one closes
    nothing; `offered`: so do tool calls; `called`: one stands before, blanks aside.
    """

    head: bool
    closer: str
    bare: bool = False
    stray: bool = False
    offered: bool = False
    called: bool = False


@cache
def _pattern(families: tuple[ThinkTags, ...], attributes: bool, here: Here) -> re.Pattern[str]:
    rows = [
        (number, row) for number, row in enumerate(families) if here.head or not row.only_at_start
    ]
    closers = _any(_bare_closers(families))
    frames = [
        row.answer_tags[0]
        for row in families
        if row.answer_tags and here.head and here.closer in row.closers
    ]
    groups = {
        "torn": _torn(families, here),
        "tool": _any(_tool_marks(families, here.offered)) if here.offered or here.called else [],
        "thought": [_thought(number, row, attributes and row.attributes) for number, row in rows],
        "stray": closers if here.stray else [],
        "bare": closers if here.bare else [],
        "frame": _any(frames[-1:]),
        "silent": _any(
            [*(mark for row in families for mark in row.ignored), *_dropped(families, here)]
        ),
    }
    source = "|".join(f"(?P<{name}>{'|'.join(found) or '(?!)'})" for name, found in groups.items())
    return re.compile(_TEMPLATE.replace("MARKS", source), re.VERBOSE | re.DOTALL | re.MULTILINE)


def _dropped(families: Sequence[ThinkTags], here: Here) -> list[str]:
    """Closers that are no text though they close nothing."""
    rows = [row for row in families if not row.stray_close_is_text]
    return [] if here.bare or here.stray else [mark for row in rows for mark in row.closers]


def _torn(families: Sequence[ThinkTags], here: Here) -> list[str]:
    """An end of a reply that is no text: the beginning of a mark that is never prose."""
    marks = [mark for row in families for mark in (*row.openers, *row.ignored)]
    marks += _bare_closers(families) if here.bare or here.stray else []
    marks += _tool_marks(families, True) if here.offered else []
    torn = tuple(mark for row in families for mark in row.torn)
    cut = {mark[:length] for mark in marks for length in range(1, len(mark))}
    return (
        [rf"(?:{'|'.join(_any(part for part in cut if part.startswith(torn)))})\Z"] if torn else []
    )


def _bare_closers(families: Sequence[ThinkTags]) -> list[str]:
    rows = [row for row in families if row.bare_close_means_thinking]
    return [mark for row in rows for mark in row.closers if mark not in row.ignored]


def _tool_marks(families: Sequence[ThinkTags], offered: bool) -> list[str]:
    return [row.open for row in TOOL_MARKS if families and (offered or not row.only_offered)]


def _any(marks: Iterable[str]) -> list[str]:
    return [_literal(mark, _ANY_SUFFIX) for mark in sorted(marks, key=len, reverse=True)]


def _literal(mark: str, suffix: str) -> str:
    return re.escape(mark).replace(SUFFIX, suffix)


def _thought(number: int, family: ThinkTags, attributes: bool) -> str:
    """An opener, all up to the first of its own closers, and that closer, if there is one.

    The opener may be said again at once, and a label may follow it.
    """
    closers = "|".join(_literal(mark, f"(?P=suffix{number})") for mark in family.closers)
    rest = rf"(?P<said{number}>.*?)(?:(?P<closer{number}>{closers})|\Z)"
    openers = "|".join(
        _literal(mark, f"(?P<suffix{number}>{_ANY_SUFFIX})") for mark in family.openers
    )
    more = [_literal(mark, f"(?P=suffix{number})") for mark in (*family.openers, *family.labels)]
    more += [rf"{re.escape(label.rstrip())}(?={closers})" for label in family.labels]
    plain = rf"(?:{openers})(?P<again{number}>(?:\s*(?:{'|'.join(more)}))*+){rest}"
    if not attributes:
        return plain
    name = re.escape(family.open[:-1])
    rest = rest.replace("<said", "<word").replace("<closer", "<tail")
    return rf"{name}(?P<whole>{_ATTRIBUTES})/>|{name}(?P<attributes>{_ATTRIBUTES})>{rest}|{plain}"


def read(
    text: str,
    families: Sequence[ThinkTags],
    start: str = "text",
    attributes: bool = True,
    tools_offered: bool = False,
) -> list[Block]:
    """The message that `text` is. `start`: "text", "thinking", "guessed" (to be thinking, and it
    stopped) or "undecided", as a whole reply is.
    """
    blocks: list[Block] = []
    reader = _Reader(tuple(families), attributes, tools_offered, text)
    for block in reader.blocks(start):
        if block.kind == "text" and blocks and blocks[-1].kind == "text":
            blocks[-1] = Block("text", blocks[-1].text + block.text)
        elif block.text.strip() or (block.kind == "text" and block.text):
            blocks.append(block)
    return blocks


@dataclass
class _Reader:
    """Reads a text from mark to mark. `rest`: what is left of it; `head`: the answer has said
    nothing yet; `closer`: what ended the thought just before; `bare`: a closer may tell where the
    reply began; `call_end`: what ends the tool call that the rest begins with; `unmarked`: all of a
    reply that began inside a thought and has neither closer nor call.
    """

    families: tuple[ThinkTags, ...]
    attributes: bool
    offered: bool
    rest: str
    head: bool = True
    closer: str = ""
    bare: bool = False
    frame_end: str = ""
    call_end: str = ""
    called: bool = False
    unmarked: str = ""
    torn: bool = False

    def blocks(self, start: str) -> Iterator[Block]:
        """The blocks as they are found; neighbours may be of one kind."""
        self.bare = start == "undecided"
        if start in ("thinking", "guessed"):
            yield from self._first(start == "guessed")
        before = ""
        while True:
            if self.call_end:
                before += self._call()
            kind, found = self._next_mark()
            if not found:
                break
            said, parts = self.rest[: found.start()], found.groupdict()
            before += said
            if kind in ("thought", "bare"):
                yield Block("text", before) if kind == "thought" else _block(before, None)
                before = ""
            if kind == "thought":
                yield self._thought_block(found)
                continue
            self.head = kind == "stray" or (kind == "silent" and self.head and not said.strip())
            self.called = self.called and self.head
            self.bare = self.bare and kind == "silent"
            if kind == "frame":
                self.frame_end = _answer_tags(self.families, self.closer)[1]
            self.closer = parts["stray"] or parts["bare"] or ""
            self.rest = self.rest[found.start() if kind == "tool" else found.end() :]
            self.call_end = BY_OPENER[found[0]].close if kind == "tool" else ""
        yield Block("text", before + self._last_text())

    def _next_mark(self) -> tuple[str, re.Match[str] | None]:
        """Return the mark that stands first in the rest, and its kind."""
        place = 0
        while found := self._pattern(place).match(self.rest, place):
            kinds = ("torn", "tool", "thought", "stray", "bare", "frame", "silent")
            kind = next((name for name in kinds if found[name]), "")
            if kind == "tool" and not self._is_call(0, place, answer=True):
                place += 1
            elif kind:
                return kind, found
            else:
                place = found.end()
        return "", None

    def _pattern(self, place: int) -> re.Pattern[str]:
        head = not self.rest[:place].strip()
        stray = head and self.head
        bare, called = self.bare and not stray, head and self.called
        here = Here(head, self.closer, bare, stray, self.offered, called)
        return _pattern(self.families, self.attributes, here)

    def _is_call(self, begin: int, place: int, answer: bool = False) -> bool:
        """Tell whether the tool mark at `place` begins a call, in what began at `begin`."""
        row = BY_OPENER[_tool_mark(self.rest, place)]
        if not row.ambiguous_in_prose:
            return True
        said, behind = self.rest[begin:place][-64:], self.rest[place + len(row.open) :]
        words = re.search(r"[^\n]*\Z", said)[0]  # type: ignore[index]
        if words.strip() and words[-1] in _QUOTES:
            return False
        if re.search(r"[^\W_]\s+\Z|[,;]\s+\Z", words):
            return False
        parted = words.strip() != "" and words[-1].isspace()
        if answer and not parted:
            return True
        if _CALL.match(behind) or (not parted and _CALL_AT_BREAK.match(behind)):
            return True
        return not parted and _CALL_AT_END.fullmatch(behind) is not None

    def _call(self) -> str:
        """Take a tool call: up to its end, or all."""
        place = self.rest.find(self.call_end, len(_tool_mark(self.rest, 0)))
        end = len(self.rest) if place < 0 else place + len(self.call_end)
        call, self.rest = self.rest[:end], self.rest[end:]
        self.head, self.called, self.call_end = True, True, ""
        if place < 0:
            self.families = ()  # nothing counts any more
        return call

    def _thought_block(self, found: re.Match[str], before: str = "") -> Block:
        """Take a thought with its marks. `before`: blanks that are the thought's as well."""
        parts = found.groupdict()
        self.bare = self.head = self.called = False
        name = next((name for name in parts if name[:4] in _SAID and parts[name] is not None), "")
        if not name:
            self.rest, self.closer = self.rest[found.end() :], ""
            return _with_attributes(before, "", parts["whole"] or "")
        number = name[4:]
        family = self.families[int(number)]
        closer = parts[f"{_SAID[name[:4]]}{number}"] or ""
        first = [*family.openers, *family.labels]
        if name.startswith("said"):
            marks = [*first, *(label.rstrip() for label in family.labels)]
            before += re.sub("|".join(_any(marks)), "", parts[f"again{number}"] or "")
        said = self._said(found.span(name), found.end(), closer, family.closers, first)
        if written := parts.get("attributes"):
            return _with_attributes(before, said, written)
        return _block(before + said, None)

    def _said(
        self,
        span: tuple[int, int],
        behind: int,
        closer: str,
        closers: Sequence[str],
        first: list[str],
    ) -> str:
        """Take what a thought says, and its closer, unless a tool call ends it before."""
        begin, end = span
        tools = _tool_marks(self.families, self.offered)
        for place in range(begin, end + 1):
            if (mark := _tool_mark(self.rest, place)) in tools and self._ends(begin, place, mark):
                said, self.rest, self.closer = self.rest[begin:place], self.rest[place:], ""
                self.call_end = BY_OPENER[mark].close
                return said
        said, self.rest, self.closer = self.rest[begin:end], self.rest[behind:], closer
        if closer:
            return said
        whole = _untorn(said, self.families, [*closers, *tools], first)
        self.torn = whole != said
        return whole

    def _ends(self, begin: int, place: int, mark: str) -> bool:
        fenced = BY_OPENER[mark].ambiguous_in_prose and _is_fenced(self.rest[begin:place])
        return not fenced and self._is_call(begin, place)

    def _first(self, guessed: bool) -> Iterator[Block]:
        """Take the first thought; one that was only guessed, and not closed, has an answer."""
        first = self._beginning()
        answer = _last_paragraph(self.unmarked) if guessed and self.unmarked else ""
        if answer:
            yield _block(self.unmarked.removesuffix(answer), None)
            yield Block("text", answer)
        else:
            yield first

    def _beginning(self) -> Block:
        """Take the first thought of a reply that starts inside one: an opener at its very start is
        only said again.
        """
        closers = [mark for row in self.families for mark in row.closers]
        openers = [mark for row in self.families for mark in row.openers]
        tools = _tool_marks(self.families, self.offered)
        silent = {mark for row in self.families for mark in row.ignored} - set(closers)
        marks = "|".join(_any([*silent, *closers, *openers, *tools])) or "(?!)"
        while (found := re.match(rf"(\s*?)({marks})", self.rest)) and found[2] in silent:
            self.rest = found[1] + self.rest[found.end() :]
        blanks = len(self.rest) - len(self.rest.lstrip())
        pattern = _pattern(self.families, self.attributes, Here(True, ""))
        for place in range(blanks + 1):
            opened = pattern.match(self.rest, place)
            if opened and opened["thought"] and not opened.groupdict().get("whole"):
                return self._thought_block(opened, self.rest[:place])
        ended = re.search("|".join(_any(closers)) or "(?!)", self.rest)
        span = (0, ended.start() if ended else len(self.rest))
        behind, closer = (ended.end(), ended[0]) if ended else (len(self.rest), "")
        self.head = self.bare = False
        said = self._said(span, behind, closer, closers, [*openers, *silent])
        self.unmarked = "" if closer or self.call_end or self.torn else said
        return _block(said, None)

    def _last_text(self) -> str:
        """Return what is left, without the answer's closer."""
        text = self.rest
        if self.frame_end:
            blanks = text[len(text.rstrip()) :]
            text = text.rstrip().removesuffix(self.frame_end) + blanks
        return text


_SAID = {"said": "closer", "word": "tail"}


def _tool_mark(text: str, place: int) -> str:
    """Return the tool mark that stands there, or nothing."""
    return max((mark for mark in BY_OPENER if text.startswith(mark, place)), key=len, default="")


def _answer_tags(families: Sequence[ThinkTags], closer: str) -> tuple[str, str]:
    return [row.answer_tags for row in families if row.answer_tags and closer in row.closers][-1]


def _untorn(
    text: str, families: Sequence[ThinkTags], marks: Sequence[str], first: Sequence[str]
) -> str:
    """Return a thought without the beginning of a mark that is never prose, if it ends with one.
    `first`: marks that count only where nothing but blanks stands before.
    """
    torn = tuple(mark for row in families for mark in row.torn)
    for place in range(len(text)):
        count = [*marks, *first] if not text[:place].strip() else marks
        if any(mark.startswith(text[place:]) and mark != text[place:] for mark in count):
            return text[:place] if text.startswith(torn, place) else text
    return text


def _last_paragraph(text: str) -> str:
    """Return what is the answer if a reply that was guessed to begin inside a thought stops."""
    least = len(text) - LIMIT
    if least <= 0:
        return text
    begun = [found.end() for found in re.finditer(r"\n[^\S\n]*\n\s*(?=\S)", text)]
    words = [found.end() for found in re.finditer(r"\s+(?=\S)", text) if found.end() >= least]
    return text[
        next((place for place in reversed(begun) if place >= least), (words or [least])[0]) :
    ]


def _is_fenced(text: str) -> bool:
    """Tell whether what follows the text stands in a fenced block."""
    found = list(_pattern((), False, Here(False, "")).finditer(text + "x"))
    return found[-1]["fence"] is not None


def _with_attributes(before: str, said: str, written: str) -> Block:
    values = {name: double or single for name, double, single in _PAIR.findall(written)}
    return _block(before + values.get("thought", "") + "\n\n" + said, values)


def _block(thought: str, values: dict[str, str] | None) -> Block:
    text = thought.strip("\r\n")
    if values is None:
        return Block("thinking", text)
    return Block(
        "thinking", text, values.get("thought_type"), _confidence(values.get("confidence", ""))
    )


def _confidence(written: str) -> float:
    try:
        return float(written) if math.isfinite(float(written)) else 0.5
    except ValueError:
        return 0.5
