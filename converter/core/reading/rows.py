"""`Row`, the base of `ThoughtRow` and `CallRow`, has the marks with which some models enclose a
thought or a tool call. `Counts` says where its openers count. `SUFFIX` and `GAP` are wildcards in
marks; `pair` and `tag` return the marks of a row.

There are two tables of rows: `families` for thoughts, `tool_calls.forms` for calls. The rows of
both have the fields of `Row`: name, openers, closers, and marks that are dropped. Only rows of
`families` have the further fields of `ThoughtRow`, only rows of `forms` those of `CallRow`. The
function that makes a row (`_in_text`, `_special` ...) sets where its openers count (`Counts`).
"""

import enum
from dataclasses import KW_ONLY, dataclass

SUFFIX = "SUFFIX"
"""A wildcard in the marks of rows for 1 to 32 ASCII letters, digits and `_.:-`. The mark
`<think:SUFFIX>` fits `<think:opensource>`. The closer must have the same suffix as its opener:
`</think:opensource>`.
"""
GAP = "…"
"""A wildcard in the marks of rows for text in the middle of gpt-oss's headers: up to 48 characters,
and `<|constrain|>` with up to 48 more behind it. `<|channel|>final…<|message|>` fits
`<|channel|>final <|constrain|>json<|message|>`. Text with a recipient (`to=`) does not fit, because
a header with a recipient begins a call.
"""


PARAGRAPH, SENTENCE, LINE = POSITIONS = "¶", "§", "⏎"
"""The first character of a mark that is a phrase: words in upper or lower case, which stay in the
text. The character names the position at which the phrase counts. PARAGRAPH: at the beginning of a
paragraph. SENTENCE: at the beginning of a sentence or line. LINE: at the beginning of a line.
Blanks may stand before the phrase.
"""


class Counts(enum.Enum):
    """The positions at which the openers of a row count. Elsewhere they are text.

    In Markdown code, openers are text. Directly behind a quotation mark, openers of calls are text
    too. Special tokens of the model (EVERYWHERE) count in code and behind a quotation mark.
    """

    IN_TEXT = enum.auto()
    """Anywhere in an answer. For openers of thoughts."""
    AT_START = enum.auto()
    """Where a message begins: at the beginning of the reply, or directly behind a mark. For openers
    of thoughts that are words.
    """
    AT_PARAGRAPH = enum.auto()
    """At the beginning of a paragraph. For openers of thoughts that are phrases."""
    EVERYWHERE = enum.auto()
    """Anywhere in an answer and in a thought, also in Markdown code and behind a quotation mark.
    For openers of calls that are special tokens. In a thought, the call may end the thought.
    """
    IN_THOUGHTS = enum.auto()
    """Anywhere in an answer and in a thought, but not in Markdown code or behind a quotation mark.
    For openers of calls that are no special tokens. In a thought, the call may end the thought.
    """
    IN_THOUGHTS_WITH_TOOLS = enum.auto()
    """In an answer and in a thought if the request offers tools, as IN_THOUGHTS. Only in an answer
    if it offers none, as IN_ANSWERS.
    """
    IN_ANSWERS = enum.auto()
    """In an answer. For openers of calls that do not end a thought: in a thought they are text."""
    AS_WHOLE_REPLY = enum.auto()
    """In a reply that consists of calls alone. For openers of calls that ordinary text may have
    too, such as `json` behind three backticks.
    """


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """A row of the table `families` or `tool_calls.forms`: the marks of a thought or a call. Two
    rows are equal only if they are the same object, so that caches find them fast.
    """

    name: str
    """The name of the family or form."""
    opens: tuple[str, ...] = ()
    """The openers, the usual one first."""
    closes: tuple[str, ...] = ()
    """The closers, the usual one first."""
    _: KW_ONLY
    counts: Counts
    """The positions at which the openers count."""
    ignored: tuple[str, ...] = ()
    """Further marks that are dropped: in a row of a family, marks that are dropped in an answer,
    except in Markdown code; in a row of a form, marks that are dropped directly behind a call.
    """

    @property
    def open(self) -> str:
        """The usual opener; empty for a form whose calls have none."""
        return next(iter(self.opens), "")

    @property
    def close(self) -> str:
        """The usual closer; empty for a form whose calls have none."""
        return next(iter(self.closes), "")


def pair(opener: str, closer: str) -> tuple[tuple[str], tuple[str]]:
    """Return the fields `opens` and `closes` of a row with one opener and one closer."""
    return (opener,), (closer,)


def tag(name: str) -> tuple[tuple[str], tuple[str]]:
    """Return the fields `opens` and `closes` of a row whose marks are a tag: `tag("think")` ->
    `("<think>",), ("</think>",)`.
    """
    return pair(f"<{name}>", f"</{name}>")
