"""Signs of life for chat completions, where a stream is silent: in the form that a client takes.

The format has none of its own. A comment is one for all who read event streams by their rules;
some clients split lines themselves, and end the reply at one. `FORMS` are for a user to choose,
`CLIENTS` those of which it was reported.
"""

import re
from functools import lru_cache

FORMS = ("auto", "comment", "delta", "none")
AUTO, COMMENT, DELTA, NONE = FORMS
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
