"""Compare a server's text with a client's, which lacks the marks of thoughts (`TextComparison`, for
law 4). For law 6, list the marks of families (`literal_marks`), and count one in texts
(`count_mark`). A family is a row of marks with which some models enclose thoughts.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from converter.core.reading.rows import GAP, SUFFIX
from converter.core.reading.thought_row import ThoughtRow

_BLANKS = re.compile(r"\s+")  # one or more blanks, also line ends
_SUFFIX = "[0-9A-Za-z_.:-]{1,32}"  # for the wildcard `SUFFIX` in a mark: the `a` of `<think:a>`
_GAP = r"[^<]{0,48}(?:<\|constrain\|>[^<]{0,48})?"
"""For the wildcard `GAP` in a header of gpt-oss: ` json` in `<|channel|>final json<|message|>`."""
_NAME = r"[A-Za-z_][\w.:-]*"  # the name of an attribute: `a-1`, but not `1a`
_PAIRS = rf"""(?:{_NAME}=(?:"[^"]*"|'[^']*'))*"""  # attributes, all blanks removed: `a="1"b='2'`
_THOUGHT = re.compile(r"""thought=(?:"([^"]*)"|'([^']*)')""")  # `thought="a"` or `thought='a'`


def without_blanks(text: str) -> str:
    """Return the text without blanks, because the addon may drop blanks around thoughts."""
    return _BLANKS.sub("", text)


def literal_marks(families: Iterable[ThoughtRow]) -> list[str]:
    """Return the marks of these families as in the table, with wildcards (`GAP`), longest first."""
    rows = [(*row.opens, *row.closes, *row.ignored, *(row.answer_tags or ())) for row in families]
    return sorted({mark for row in rows for mark in row}, key=len, reverse=True)


def _labels_and_cut_marks(families: Iterable[ThoughtRow]) -> set[str]:
    """Return the texts that the addon drops beside whole marks: labels behind openers (`thought`),
    and beginnings of marks that a reply's end may cut off (`<|channel|>fin`).
    """
    rows = list(families)
    torn = tuple(mark for row in rows for mark in row.torn)
    marks = [mark for mark in literal_marks(rows) if torn and mark.startswith(torn)]
    return {label for row in rows for label in row.labels} | {
        part
        for mark in marks
        for length in range(1, len(mark))
        if (part := mark[:length]).startswith(torn)
    }


def count_mark(mark: str, texts: Iterable[str]) -> int:
    """Return how often a mark, perhaps with wildcards, stands in the texts together."""
    return sum(len(_pattern_of(mark).findall(text)) for text in texts)


def _pattern_of(mark: str) -> re.Pattern[str]:
    """Return the pattern of a mark, with patterns in place of `SUFFIX` and `GAP`."""
    return re.compile(re.escape(mark).replace(SUFFIX, _SUFFIX).replace(GAP, _GAP))


class TextComparison:
    """Compares the text that the server sent with the text that the client got. Both are without
    blanks. The server's may also have marks of `families`, and `calls`, the texts of tool calls.
    """

    def __init__(
        self, families: Sequence[ThoughtRow], attributes: bool, calls: Iterable[str] = ()
    ) -> None:
        marks = [*literal_marks(families), *_labels_and_cut_marks(families)]
        self._marks = [_pattern_of(without_blanks(mark)) for mark in marks]
        self._calls = [*filter(None, map(without_blanks, calls))]
        names = [re.escape(row.open[:-1]) for row in families if row.attributes and attributes]
        self._forms = re.compile(rf"(?:{'|'.join(names)}){_PAIRS}/?>") if names else None
        self._first = {match.pattern.removeprefix("\\")[:1] for match in self._marks}
        self._first |= {call[0] for call in self._calls}

    def first_difference(self, sent: str, got: str) -> tuple[int, int] | None:
        """Return None if `got` is `sent` without marks and calls; else the offset in both up to
        which it is.
        """
        reached: dict[int, set[int]] = {0: {0}}
        furthest = (0, 0)
        for offset in range(len(sent) + 1):
            for other in reached.pop(offset, ()):
                furthest = max(furthest, (offset, other))
                for end, kept in self._next_offsets(sent, offset):
                    if got.startswith(kept, other):
                        reached.setdefault(end, set()).add(other + len(kept))
        return None if furthest == (len(sent), len(got)) else furthest

    def _next_offsets(self, sent: str, offset: int) -> Iterator[tuple[int, str]]:
        """Yield a pair for each piece that may begin at `offset` of `sent` (a character, a mark, a
        call, an opener with attributes): the offset behind it, and the text that arrives for it.
        """
        if offset == len(sent):
            return
        yield offset + 1, sent[offset]
        if sent[offset] not in self._first:
            return
        yield from (
            (match.end(), "") for mark in self._marks if (match := mark.match(sent, offset))
        )
        yield from (
            (end, "") for call in self._calls for end in self._ends_of_call(call, sent, offset)
        )
        if self._forms and (form := self._forms.match(sent, offset)):
            thoughts = _THOUGHT.findall(form[0])
            yield form.end(), "".join(thoughts[-1]) if thoughts else ""

    def _ends_of_call(self, call: str, sent: str, offset: int) -> Iterator[int]:
        """Yield the offsets in `sent` at which the text `call` may end if it begins at `offset`.
        Marks of thoughts in it are skipped, because the addon drops them before it reads calls.
        """
        begun = sent.startswith(call[0], offset)
        seen, ahead = set[tuple[int, int]](), [(offset, 0)] if begun else []
        while ahead:
            at, matched = step = ahead.pop()
            if matched == len(call):
                yield at
            elif at < len(sent) and step not in seen:
                seen.add(step)
                ahead += [(at + 1, matched + 1)] if sent[at] == call[matched] else []
                match = (mark.match(sent, at) for mark in self._marks if sent[at] in self._first)
                ahead += [(mark.end(), matched) for mark in match if mark and matched]
