"""A conversation made shorter: the model sums it up, and the summary is an opaque item that stands
for the conversation from then on.

Codex 0.169 asks for it with an item `compaction_trigger` when its provider is called OpenAI, and
ends the session unless exactly one item `compaction` comes back. Under another name it asks for a
summary in words of its own.
"""

from collections.abc import Iterable

from converter.conversation import Text, Turn
from converter.dialects.responses import thoughts
from converter.dialects.responses.growing_items import Json, added

ITEM = "compaction"
TRIGGER = "compaction_trigger"
PROMPT = (
    "Your next message will stand in place of this conversation. Sum up all that is needed to go "
    "on with the work: what was asked for, what was done and found out (files, commands, results, "
    "decisions and their reasons), and what is left to do. Write the summary and nothing else."
)
HEAD = "Summary of the conversation so far:\n\n"


def is_asked(kinds: Iterable[str]) -> bool:
    """Tell whether items of these types ask for a compaction."""
    return TRIGGER in kinds


def question() -> Turn:
    """Return the turn that asks the model for the summary."""
    return Turn("user", (Text(PROMPT),))


def read(sealed: str) -> Text | None:
    """Return the summary in an item's content; None for one that was made elsewhere."""
    text = thoughts.decode(sealed)
    return None if text is None else Text(HEAD + text)


class Compaction:
    """The summary as an item: it goes out when it is whole, for a part of it is none."""

    def __init__(self, name: str, index: int) -> None:
        self._id, self._index = f"cmp_{name}", index
        self._pieces: list[str] = []

    def start(self) -> list[Json]:
        """Send nothing yet."""
        return []

    def feed(self, text: str) -> list[Json]:
        """Keep a piece of the summary."""
        self._pieces.append(text)
        return []

    def finish(self, _: str) -> tuple[Json, list[Json]]:
        """Return the item, announced first."""
        sealed = thoughts.encode("".join(self._pieces).strip())
        item: Json = {"id": self._id, "type": ITEM, "encrypted_content": sealed}
        return item, [added(item, self._index)]
