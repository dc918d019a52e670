"""`ThoughtRow` is a row of the table `families`: the marks with which some models enclose thinking.
`Lone` is the meaning of a closer to which no opener belongs.
"""

import enum
from dataclasses import dataclass

from converter.core.reading.rows import Row


class Lone(enum.Enum):
    """The meaning of a closer to which no opener belongs, if text of the reply stands before it.

    At the beginning of a reply, a closer with THOUGHT or NOTHING is dropped. If thinking is turned
    off (`Mode.CLOSED`), only one with NOTHING is dropped there.
    """

    THOUGHT = enum.auto()
    """In a reply that may begin in a thought (`Mode.UNDECIDED`), the text before the closer is a
    thought. In other replies the closer is text.
    """
    TEXT = enum.auto()
    """The closer is text in all replies."""
    NOTHING = enum.auto()
    """In a reply that may begin in a thought, the text before the closer is a thought. In other
    replies the closer is dropped, because it is a special token.
    """


@dataclass(frozen=True, slots=True, eq=False)
class ThoughtRow(Row):
    """A family: the marks with which some models enclose thinking."""

    again: tuple[str, ...] = ()
    """Openers that models repeat within a thought. There they are dropped."""
    labels: tuple[str, ...] = ()
    """Words that may stand directly behind the opener and name the kind of the thought. They are
    dropped.
    """
    attributes: bool = False
    """True if the opener may have attributes (`<thinking thought="...">`)."""
    shown: tuple[str, ...] = ()
    """The headers of an answer for the user (`to=user<|message|>`). Calls in the text behind such a
    header are only shown to the user.
    """
    torn: tuple[str, ...] = ()
    """The first special tokens of marks that consist of several tokens: `<|channel|>` of
    `<|channel|>final<|message|>`. If a reply was cut off in such a mark, the incomplete mark is
    dropped.
    """
    answer_tags: tuple[str, str] | None = None
    """The opener and closer around an answer; `None` if models write none. The opener is dropped
    directly behind a thought. If the opener was dropped, or the thought came in a field, the closer
    is dropped at the end of the reply.
    """
    lone: Lone = Lone.THOUGHT
    """The meaning of a closer to which no opener belongs."""
    not_behind: str = ""
    """A regular expression. If it matches in the text before an opener, the opener is text. If
    the expression is empty, all openers count.
    """
    model_pattern: str = ""
    """A regular expression for names of models. If the user has not chosen the family, it is read
    only for models with a name that the expression matches; for all models if it is empty.
    """

    @property
    def ambiguous_in_prose(self) -> bool:
        """True if ordinary answers may have the same marks. The family is then read only for models
        of certain names, or if the user chooses it.
        """
        return self.model_pattern != ""
