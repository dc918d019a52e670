"""`message_of` makes one value of a model's whole reply (`Message`), for programs that use the core
as a library. `growing_blocks` joins the events to its blocks.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Never

from converter.core.model.conversation import Block, TextBlock, ThinkingBlock, ToolUse
from converter.core.model.events import Event, Failure, Finish, Start, Usage, joined
from converter.core.reply.growing_blocks import GrowingBlocks


@dataclass(frozen=True, slots=True)
class Message:
    """A model's whole reply."""

    blocks: tuple[Block, ...] = ()
    """Thoughts, text and tool calls, in the order in which the model wrote them."""
    model: str = ""
    """The name of the model, as the reply has it; empty if it has none."""
    finish: str = ""
    """The reason why the reply ended, as in `Finish.reason` (`stop`, `length`, `tool_calls`); empty
    if there was none.
    """
    usage: Usage | None = None
    """The token counts; None if the server sent none."""
    failure: str = ""
    """The reason why the reply is not whole; empty if it is whole."""

    @property
    def text(self) -> str:
        """The text of the answer, and of a refusal."""
        return "".join(block.text for block in self.blocks if isinstance(block, TextBlock))

    @property
    def thinking(self) -> str:
        """The text of all thoughts, with a blank line between two."""
        return "\n\n".join(block.text for block in self.blocks if isinstance(block, ThinkingBlock))

    @property
    def calls(self) -> tuple[ToolUse, ...]:
        """The tool calls of the reply, in their order."""
        return tuple(block for block in self.blocks if isinstance(block, ToolUse))


def message_of(events: Iterable[Event], choice: int = 0) -> Message:
    """Return the reply that consists of `events`. `choice`: the index of the choice to return; the
    blocks and finishes of the others are left out.
    """
    merged = joined(events)
    failure = next((event.message for event in merged if isinstance(event, Failure)), "")
    models = [event.model for event in merged if isinstance(event, Start) and event.model]
    counts = [event for event in merged if isinstance(event, Usage)]
    own = [event for event in merged if getattr(event, "choice", None) == choice]
    ends = [event.reason for event in own if isinstance(event, Finish)]
    grown = GrowingBlocks[Never]()
    for event in own:
        grown.feed(event)
    return Message(
        tuple(part for part in grown.parts() if not isinstance(part, TextBlock) or part.text),
        model=models[-1] if models else "",
        finish=ends[-1] if ends else "",
        usage=counts[-1] if counts else None,
        failure=failure,
    )
