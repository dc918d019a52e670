"""The dialects that the addon speaks, in one table; everybody else loops over it."""

from converter.dialects.anthropic import ANTHROPIC
from converter.dialects.dialect import Decoder, Dialect, Encoder, Form, ReplyContext
from converter.dialects.openai_chat import OPENAI_CHAT
from converter.dialects.responses import RESPONSES

__all__ = [
    "ANTHROPIC",
    "DIALECTS",
    "OPENAI_CHAT",
    "RESPONSES",
    "Decoder",
    "Dialect",
    "Encoder",
    "Form",
    "ReplyContext",
    "by_name",
    "recognise",
]

DIALECTS = (OPENAI_CHAT, ANTHROPIC, RESPONSES)
"""In the order in which a reply is recognised."""
_BY_NAME = {dialect.name: dialect for dialect in DIALECTS}


def by_name(name: str) -> Dialect:
    """Return the dialect of this name. Raises KeyError for another."""
    return _BY_NAME[name]


def recognise(said: object) -> Dialect | None:
    """Return the dialect of a frame's or reply's JSON; None for a value that could be of any."""
    if not isinstance(said, dict):
        return None
    return next((dialect for dialect in DIALECTS if dialect.recognises(said)), None)
