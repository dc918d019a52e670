"""A row of the table of families (`families`): marks with which some models enclose thinking."""

import enum
from dataclasses import dataclass

from converter.core.reading.rows import Row


class Lone(enum.Enum):
    """The meaning of a closer without an opener, in the middle of a reply. At the beginning of a
    reply it is always dropped.

    Attributes:
        THOUGHT: the text before it is a thought, if the reply is whole and it is not known where it
            begins (`Mode.UNDECIDED`). In other replies the closer is text.
        TEXT: the closer is text in all replies.
        NOTHING: as THOUGHT, but in other replies the closer is dropped, because it is a special
            token.
    """

    THOUGHT = enum.auto()
    TEXT = enum.auto()
    NOTHING = enum.auto()


@dataclass(frozen=True, slots=True)
class ThoughtBody:
    """The reading of the text of a thought.

    Attributes:
        again: openers that are dropped if they stand within a thought.
        labels: lines that may stand at the beginning of a thought, name its kind and are dropped.
        attributes: True if the opener may have attributes (`<thinking thought="...">`).
        shown: headers of an answer; calls in text behind such a header are only shown to the user.
    """

    again: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    attributes: bool = False
    shown: tuple[str, ...] = ()


PLAIN = ThoughtBody()


@dataclass(frozen=True, slots=True, eq=False)
class ThoughtRow(Row[ThoughtBody]):
    """A family: the marks with which some models enclose thinking.

    Attributes:
        torn: the first special token of marks that have several tokens. If a reply was cut off in
            such a mark, the incomplete mark is dropped.
        answer_tags: tags around the answer. The opener is dropped directly behind a thought; if it
            was, the closer is dropped at the reply's end.
        lone: the meaning of a closer without an opener.
        not_behind: a regular expression. Behind text that it matches, the openers are text.
        model_pattern: a regular expression for names of models. The family is on for these models
            only; if the pattern is empty, it is on for all.
    """

    torn: tuple[str, ...] = ()
    answer_tags: tuple[str, str] | None = None
    lone: Lone = Lone.THOUGHT
    not_behind: str = ""
    model_pattern: str = ""

    @property
    def ambiguous_in_prose(self) -> bool:
        """True if ordinary answers may have the same marks. Then the family is on only for models
        of certain names, or if the user chooses it.
        """
        return self.model_pattern != ""
