"""A row: one way in which models mark a region of their text.

There are two regions, each with its table: thoughts (`families`) and tool calls
(`tool_calls.forms`). A row of either says the same things in the same order: its name, how its body
is read, the marks that open the region, and those that close it. Its first word says where these
marks count (`Counts`); its last words, what only its own region has.
"""

import enum
from dataclasses import KW_ONLY, dataclass

SUFFIX = "SUFFIX"
"""In a row's marks, any word of 1 to 32 ASCII letters, digits, `_` and `-`; the closer repeats the
opener's.
"""
GAP = "…"
"""In a row's marks, what models write between a header's first word and its last token: up to 48
characters, `<|constrain|>`, 48 more. It names no recipient, because that is a call's header.
"""


PARAGRAPH, SENTENCE, LINE = POSITIONS = "¶", "§", "⏎"
"""At the head of a row's mark: it is a phrase, in any case, which counts only where a paragraph, a
sentence or line, or a line begins, blanks aside. It stays in the text.
"""


class Counts(enum.Enum):
    """The places where the opening marks of a row count. Those of thoughts are text in code, those
    of calls in code and in quotes, unless they are special tokens.
    """

    IN_TEXT = enum.auto()  # a thought's: anywhere in an answer
    AT_START = enum.auto()  # a thought's that are words: only where a message begins
    AT_PARAGRAPH = enum.auto()  # a thought's that are phrases: where a paragraph begins
    EVERYWHERE = enum.auto()  # a call's special tokens, which prose never says; they end a thought
    IN_THOUGHTS = enum.auto()  # they end a thought where a call goes on behind them
    IN_THOUGHTS_WITH_TOOLS = enum.auto()  # the same, where the request offers tools
    IN_ANSWERS = enum.auto()  # in a thought they are text
    AS_WHOLE_REPLY = enum.auto()  # prose has them as well: the calls are all of the reply


@dataclass(frozen=True, slots=True, eq=False)
class Row[Body]:
    """One row, like no other: caches find rows by their identity, for each reply.

    `body`: how the text between the marks is read. `opens`, `closes`: the marks before and behind
    it, the usual one first. `models`: those that write so. `ignored`: marks beside these that are
    no text: a thought's anywhere but in code, a call's directly behind a call.
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
        """The usual opener, nothing where the body's beginning is the only one."""
        return next(iter(self.opens), "")

    @property
    def close(self) -> str:
        """The usual closer, nothing where a call's end is its body's."""
        return next(iter(self.closes), "")


def tag(name: str) -> tuple[tuple[str], tuple[str]]:
    """Return the marks of a region that stands in a tag of this name."""
    return (f"<{name}>",), (f"</{name}>",)
