"""`form_for` chooses the sign of life (ping) that a client gets while its stream of chat
completions is silent: a comment, a frame with an empty delta, or nothing. `openai_chat/encoder.py`
writes it.

The format has no ping. A comment is a sign of life for clients that follow the standard of
server-sent events. Other clients split the lines themselves and fail at a comment: they get a frame
with an empty delta. `CLIENTS` has the clients for which such a failure was reported.
"""

import re
from functools import lru_cache

FORMS = ("auto", "comment", "delta", "none")
"""The values of the option `think_alive`."""
AUTO, COMMENT, DELTA, NONE = FORMS
"""The form of a sign of life: decided by the client's user agent, a comment, a frame with an empty
delta, or no sign of life.
"""
CLIENTS = (
    # Mistral Vibe 2.x fails at a comment: "Expected `key: value`, received `:`".
    (r"mistral-?vibe", DELTA),
    # LangChain for Elixir before 0.8.14 loses all frames after a comment. Its HTTP library is Req.
    (r"^req/", DELTA),
)
"""Pattern of a client's user agent, and the form of a sign of life that this client accepts."""


@lru_cache(maxsize=64)
def form_for(chosen: str, user_agent: str) -> str:
    """Return the form of a client's signs of life: the form `chosen` by the option; for `auto` the
    form that the client needs, by its user agent.
    """
    if chosen != AUTO:
        return chosen
    rows = (form for row, form in CLIENTS if re.search(row, user_agent, re.IGNORECASE))
    return next(rows, COMMENT)
