"""Rows: each describes the marks with which some models enclose a thought or a tool call.

There are two tables of rows: `families` for thoughts, `tool_calls.forms` for calls. A row of either
table has the same fields in the same order: name, body (how the text between the marks is read),
openers and closers; behind these, fields that only rows of its table have. The function that makes
a row (`_in_text`, `_special` ...) sets where its openers count (`Counts`).
"""

import enum
from dataclasses import KW_ONLY, dataclass

SUFFIX = "SUFFIX"
"""A wildcard in the marks of rows: 1 to 32 ASCII letters, digits and `_.:-`. A closer must have the
suffix of its opener: `<think:SUFFIX>` fits `<think:opensource>`, which `</think:opensource>`
closes.
"""
GAP = "…"
"""A wildcard in the marks of rows, for text in the middle of gpt-oss's headers: up to 48
characters, and `<|constrain|>` with up to 48 more. Text with a recipient (`to=`) does not fit,
because such a header is that of a call.
"""


PARAGRAPH, SENTENCE, LINE = POSITIONS = "¶", "§", "⏎"
"""The first character of a mark that is a phrase: words in upper or lower case, which stay in the
text. It names the position at which the phrase counts: at the beginning of a paragraph, of a
sentence or line, or of a line. Blanks may stand before the phrase.
"""


class Counts(enum.Enum):
    """The positions at which the openers of a row count. Elsewhere they are text.

    In code, an opener is text. In quotes, an opener of a call is text too. Special tokens of the
    model (EVERYWHERE) count nevertheless.

    Attributes:
        IN_TEXT: openers of thoughts: anywhere in an answer.
        AT_START: openers of thoughts that are words: at the beginning of a message.
        AT_PARAGRAPH: openers of thoughts that are phrases: at the beginning of a paragraph.
        EVERYWHERE: openers of calls that are special tokens: anywhere; they end a thought.
        IN_THOUGHTS: openers of calls: in an answer, and in a thought, which they end if a call
            follows.
        IN_THOUGHTS_WITH_TOOLS: as IN_THOUGHTS if the request offers tools, else as IN_ANSWERS.
        IN_ANSWERS: openers of calls: in an answer; in a thought they are text.
        AS_WHOLE_REPLY: openers of calls that ordinary text has too: only if the reply consists of
            calls alone.
    """

    IN_TEXT = enum.auto()
    AT_START = enum.auto()
    AT_PARAGRAPH = enum.auto()
    EVERYWHERE = enum.auto()
    IN_THOUGHTS = enum.auto()
    IN_THOUGHTS_WITH_TOOLS = enum.auto()
    IN_ANSWERS = enum.auto()
    AS_WHOLE_REPLY = enum.auto()


@dataclass(frozen=True, slots=True, eq=False)
class Row[Body]:
    """A row of a table. Rows are compared by identity, because caches look them up for each reply.

    Attributes:
        name: the name of the family or form.
        body: how the text between the marks is read.
        opens, closes: the openers and closers, the usual one first.
        counts: where the openers count.
        models: the models that write these marks, as text for people.
        ignored: further marks that are dropped: those of a thought anywhere except in code, those
            of a call directly behind a call.
    """

    name: str
    body: Body
    opens: tuple[str, ...] = ()
    closes: tuple[str, ...] = ()
    _: KW_ONLY
    counts: Counts
    models: str = ""
    ignored: tuple[str, ...] = ()

    @property
    def open(self) -> str:
        """The usual opener; empty if the region begins with its body."""
        return next(iter(self.opens), "")

    @property
    def close(self) -> str:
        """The usual closer; empty if the region ends with its body."""
        return next(iter(self.closes), "")


def pair(opener: str, closer: str) -> tuple[tuple[str], tuple[str]]:
    """Return the marks of a region that has one opener and one closer."""
    return (opener,), (closer,)


def tag(name: str) -> tuple[tuple[str], tuple[str]]:
    """Return openers and closers of a tag: `tag("think")` -> `("<think>",), ("</think>",)`."""
    return pair(f"<{name}>", f"</{name}>")
