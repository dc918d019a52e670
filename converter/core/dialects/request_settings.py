"""`RequestSettings` fits a chat-completions request to its server: it says where earlier thoughts
are written (`HistoryForm`), the order of tool results and text (`Order`), which fields are left
out, which fields turn thinking on or off. `openai_chat/request_writer.py` obeys it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

type HistoryForm = Literal["tags", "reasoning_content", "reasoning", "drop"]
"""Where a request holds the thoughts of earlier turns: a field's name, `tags` (in the content), or
`drop` (nowhere).
"""
type Order = Literal["as-written", "tools-first"]
"""The order of tool results and text in one user turn. `tools-first`: some templates require that
the results come first.
"""


@dataclass(frozen=True, slots=True)
class RequestSettings:
    """Settings for one request, from the user's options and from facts about the server. The
    defaults fit a server about which nothing is known.
    """

    history: HistoryForm = "tags"
    """Where the thoughts of earlier turns are written: a field's name, `tags` (in the content), or
    `drop` (nowhere).
    """
    order: Order = "as-written"
    """The order of tool results and text in a user turn: as the client has them, or
    results first.
    """
    server: str = "generic"
    """The server's name, for the lines that tell the user what was left out for this server."""
    leaves_out: frozenset[str] = frozenset({"top_k"})
    """Fields that the server does not take: they are left out of the request."""
    thinking: Mapping[str, object] = field(default_factory=dict)
    """Fields that say whether, or how much, the model is to think."""
    switch: str = ""
    """A text that turns thinking on or off, such as `/no_think`; empty for none. It is written at
    the beginning of the system text.
    """
    prefill: Mapping[str, object] = field(default_factory=dict)
    """Fields that make the server continue the assistant message at a request's end."""
    tool_turn_history: str = ""
    """The field in which an earlier turn with tool calls must have its thought, whatever `history`
    is; empty if there is none.
    """
    named_tool_choice: bool = True
    """True if `tool_choice` may name one tool. If False, a client's choice of one tool is written
    so: only this tool is offered, and a call is required.
    """
    image_links: bool = True
    """True if the server fetches images by their links. If False, the model gets a link as text."""
