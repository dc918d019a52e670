"""`ThoughtFolder`, a stage for clients that show only text, makes each thought a folded block
(`<details>`) in the answer. `without_folds` removes such blocks from texts.
"""

import re
from collections.abc import Iterable

from converter.core.model.events import (
    Event,
    Finish,
    Text,
    TextKind,
    Thinking,
    ThinkingEnd,
    ToolCall,
)

OPENER = "<details>\n<summary>Thinking</summary>\n\n"
"""The text before a folded thought."""
CLOSER = "\n\n</details>\n\n"
"""The text behind a folded thought."""
_FOLDED = re.compile(f"{re.escape(OPENER)}.*?\n\n</details>\\s*", re.DOTALL)
"""The pattern of a folded thought."""


class ThoughtFolder:
    """The stage, for one choice: it turns thinking into folded text of the answer."""

    def __init__(self, choice: int) -> None:
        self._choice = choice
        self._is_open = False

    def feed(self, event: Event) -> list[Event]:
        """Return the event; thinking as text, with `OPENER` before the first text of a thought. At
        the end of a thought, return `CLOSER` as text: in place of a `ThinkingEnd`, or before
        another event that ends the thought.
        """
        if isinstance(event, Thinking):
            opener = "" if self._is_open else OPENER
            self._is_open = True
            return [Text(opener + event.text, self._choice)]
        if isinstance(event, ThinkingEnd):
            return self.close()
        return [*(self.close() if isinstance(event, (Text, ToolCall, Finish)) else ()), event]

    def close(self) -> list[Event]:
        """Return `CLOSER` as text, if a thought is open."""
        closer: list[Event] = [Text(CLOSER, self._choice)] if self._is_open else []
        self._is_open = False
        return closer

    def plain(self, kind: TextKind) -> tuple[TextKind, str] | None:
        """Return the kind that text of this `kind` becomes, and no characters, if it may now skip
        this stage on the fast path, whatever characters it has (`Stage.plain`); else `None`.
        Thinking becomes text, and may skip the stage only while a thought is open. Other text may
        skip it only while no thought is open.
        """
        if self._is_open != (kind is Thinking):
            return None
        return (Text if kind is Thinking else kind), ""


def without_folds(texts: Iterable[str]) -> str:
    """Return the joined texts, without the `<details>` blocks of thoughts in them."""
    return _FOLDED.sub("", "".join(texts))
