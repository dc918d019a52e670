"""Signs of life for chat completions, where a stream is silent: in the form that a client takes.

The format has none of its own. A comment is one for all who read event streams by their rules;
some clients split lines themselves, and end the reply at one. `FORMS` are for a user to choose,
`CLIENTS` those of which it was reported.
"""

import re
from functools import lru_cache

from converter.core.wire.sse import read_frame

COMMENT, DELTA, NONE = "comment", "delta", "none"
AUTO = "auto"
FORMS = (AUTO, COMMENT, DELTA, NONE)
CLIENTS = (
    # Mistral Vibe 2.x: "Stream chunk improperly formatted. Expected `key: value`, received `:`"
    (r"mistral-?vibe", DELTA),
    # LangChain for Elixir before 0.8.14, by its library Req: a comment spoils all later frames
    (r"^req/", DELTA),
)
"""Patterns of user agents, and the form that these clients take."""


@lru_cache(maxsize=64)
def form_of(chosen: str, user_agent: str) -> str:
    """Return the form for a client: the chosen one, else that which its user agent is known for."""
    if chosen != AUTO:
        return chosen
    rows = (form for row, form in CLIENTS if re.search(row, user_agent, re.IGNORECASE))
    return next(rows, COMMENT)


class SilentFrames:
    """The server's frames as they go on; those without data in a form that no client takes for an
    event: as lines of the next one.

    OpenAI's Python SDK 3.57 ends an event at a blank line behind a name, a time to wait or an id,
    and at every blank line of a stream that has had an id, and reads JSON where there is no data.
    An empty `data` is one to the AI SDK and to OpenAI's SDK for JavaScript as well.
    """

    def __init__(self) -> None:
        self._has_ids = False

    def feed(self, raw: bytes) -> bytes:
        """Return the bytes that go out for a frame; nothing for one that says nothing at all."""
        if raw.startswith(_OBJECT) or (read_frame(raw).data or b"").strip():
            self._has_ids = self._has_ids or (b"id:" in raw and bool(_ID.search(raw)))
            return raw
        if not (self._has_ids or _FIELD.search(raw)):
            return raw
        self._has_ids = self._has_ids or bool(_ID.search(raw))
        lines = [line for line in raw.splitlines() if line and not _DROPPED.match(line)]
        return b"".join(line + b"\n" for line in lines)


_OBJECT = b"data: {"
"""The beginning of nearly every frame, which then has data."""
_ID = re.compile(rb"(?:^|[\r\n])id:")
_FIELD = re.compile(rb"(?:^|[\r\n])(?:data|event|id|retry)\b")
_DROPPED = re.compile(rb"(?:data|event)\b")
"""Fields that another event must not get."""
