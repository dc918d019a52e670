"""The choices for a request that is written for a server: the user's, and those that follow from
what the server takes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

type HistoryForm = Literal["tags", "reasoning_content", "reasoning", "drop"]
"""Where a request holds earlier thoughts."""
type Order = Literal["as-written", "tools-first"]
"""Where tool results stand among the text of one user turn; some templates insist that they come
first.
"""


@dataclass(frozen=True, slots=True)
class RequestSettings:
    """The choices for one written request. The defaults fit a server without known facts.

    Attributes:
        history: the field or form in which earlier thoughts go.
        order: the first part of a user turn.
        server: the server's name, for notes.
        leaves_out: fields of the body that the server does not take.
        thinking: the fields that set how much to think.
        switch: text that sets the same, at the head of the system turn.
        prefill: fields with which the server continues a last assistant message.
        tool_turn_history: the field in which a past tool call must carry its thinking, whatever
            `history` is.
        named_tool_choice: the server can be made to call one tool by name.
        image_links: the server fetches images.
    """

    history: HistoryForm = "tags"
    order: Order = "as-written"
    server: str = "generic"
    leaves_out: frozenset[str] = frozenset({"top_k"})
    thinking: Mapping[str, object] = field(default_factory=dict)
    switch: str = ""
    prefill: Mapping[str, object] = field(default_factory=dict)
    tool_turn_history: str = ""
    named_tool_choice: bool = True
    image_links: bool = True
