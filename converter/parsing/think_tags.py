"""One family of the marks around thinking: the fields of a row of `families`."""

from dataclasses import dataclass

SUFFIX = "SUFFIX"
"""In a row's marks, any word of 1 to 32 ASCII letters, digits, `_` and `-`; the closer repeats the
opener's.
"""
GAP = "…"
"""In a row's marks, what models write between a header's first word and its last token: up to 48
characters, `<|constrain|>`, 48 more. It names no recipient, because that is a call's header.
"""


@dataclass(frozen=True, slots=True)
class ThinkTags:
    """One family of marks.

    `ignored`: special tokens beside thinking; outside code they are no text. `labels`: lines that
    may stand first in a thought and name its kind. `torn`: special tokens that begin marks of
    several tokens; a reply cut off within such a mark does not show what came of it. `answer_tags`:
    what an answer stands in; its opener goes directly behind a thought, its closer at the reply's
    end if the opener went. `model_pattern`: a regular expression, models whose names it finds
    switch the row on. `ambiguous_in_prose`: an answer may say the marks and mean nothing by it.
    `attributes`: has forms with attributes. `only_at_start`: the opener counts only where a message
    begins. `bare_close_means_thinking`: a closer without an opener tells of a whole reply that it
    began inside a thought. `unmatched_close_is_text`: one in a text is shown. `not_behind`: a
    regular expression, behind words that it finds the openers are text.
    """

    name: str
    open: str
    close: str
    models: str = ""
    also_open: tuple[str, ...] = ()
    also_close: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    torn: tuple[str, ...] = ()
    answer_tags: tuple[str, str] | None = None
    model_pattern: str = ""
    ambiguous_in_prose: bool = False
    attributes: bool = False
    only_at_start: bool = False
    bare_close_means_thinking: bool = True
    unmatched_close_is_text: bool = True
    not_behind: str = ""

    def __hash__(self) -> int:
        """Return a number by the name: caches look families up for each reply."""
        return hash(self.name)

    @property
    def openers(self) -> tuple[str, ...]:
        """All that begins a thought."""
        return (self.open, *self.also_open)

    @property
    def closers(self) -> tuple[str, ...]:
        """All that ends a thought of this family."""
        return (self.close, *self.also_close)
