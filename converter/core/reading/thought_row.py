"""A row of the table of thoughts: one family of models that mark thinking alike."""

import enum
from dataclasses import dataclass

from converter.core.reading.rows import Row


class Lone(enum.Enum):
    """The meaning of a closer that closes nothing, away from a reply's head. Those of THOUGHT and
    NOTHING tell of a whole reply that it began inside a thought.
    """

    THOUGHT = enum.auto()  # elsewhere it is text
    TEXT = enum.auto()
    NOTHING = enum.auto()  # a special token: elsewhere it goes


@dataclass(frozen=True, slots=True)
class ThoughtBody:
    """The body of a thought. `again`: openers that say nothing when they come once more in it.
    `labels`: lines that may stand first in it and name its kind. `attributes`: the opener has forms
    with attributes. `shown`: headers behind which calls are shown to the user.
    """

    again: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    attributes: bool = False
    shown: tuple[str, ...] = ()


PLAIN = ThoughtBody()


@dataclass(frozen=True, slots=True, eq=False)
class ThoughtRow(Row[ThoughtBody]):
    """One family of marks around thinking.

    `torn`: special tokens that begin marks of several tokens; a reply cut off within such a mark
    does not show what came of it. `answer_tags`: what an answer stands in; its opener goes directly
    behind a thought, its closer at the reply's end if the opener went. `lone`: the meaning of a
    closer without opener. `not_behind`: a regular expression, behind words that it finds the
    openers are text. `model_pattern`: a regular expression, models whose names it finds switch the
    row on; without one, the row is always on.
    """

    torn: tuple[str, ...] = ()
    answer_tags: tuple[str, str] | None = None
    lone: Lone = Lone.THOUGHT
    not_behind: str = ""
    model_pattern: str = ""

    @property
    def ambiguous_in_prose(self) -> bool:
        """Return True if an answer may say the marks and mean nothing by it, so that some models or
        the user must ask for the row.
        """
        return self.model_pattern != ""
