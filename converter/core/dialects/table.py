"""`DIALECTS`, the table of all dialects, and `COMMON`, the one that every model server speaks.
`find_endpoint`, `by_headers` and `by_name` look up a request's endpoint or dialect; `recognise`
finds the dialect of a reply.

Code that has to treat every dialect loops over the table. A row is the record in the `__init__.py`
of the dialect's folder.
"""

from collections.abc import Mapping
from functools import lru_cache

from converter.core.dialects.anthropic import ANTHROPIC
from converter.core.dialects.dialect import Dialect, Endpoint
from converter.core.dialects.ollama import OLLAMA
from converter.core.dialects.openai_chat import OPENAI_CHAT, TEXT_COMPLETIONS, request_writer
from converter.core.dialects.openai_chat.request_writer import join_texts
from converter.core.dialects.responses import RESPONSES
from converter.core.dialects.wire_form import Form, ReplyContext
from converter.core.wire.sse import Framing

__all__ = [
    "ANTHROPIC",
    "COMMON",
    "DIALECTS",
    "FRAMINGS",
    "OLLAMA",
    "OPENAI_CHAT",
    "RESPONSES",
    "TEXT_COMPLETIONS",
    "Dialect",
    "Form",
    "ReplyContext",
    "by_headers",
    "by_name",
    "find_endpoint",
    "join_texts",
    "recognise",
    "request_writer",
]

DIALECTS = (OPENAI_CHAT, ANTHROPIC, RESPONSES, OLLAMA)
"""The dialects, in the order in which they are compared with a reply to recognise it."""
COMMON = OPENAI_CHAT
"""The dialect that every model server speaks. A translated request is written in it
(`request_writer`).
"""
FRAMINGS: tuple[Framing, ...] = tuple({dialect.wire.framing for dialect in DIALECTS})
"""The framings that streams of any dialect have: server-sent events, and lines of JSON."""
_BY_NAME = {dialect.name: dialect for dialect in DIALECTS}
"""Name of a dialect -> the dialect."""


def by_name(name: str) -> Dialect:
    """Return the dialect of this name. Raises KeyError for a name that no dialect has."""
    return _BY_NAME[name]


def by_headers(headers: Mapping[str, str]) -> Dialect:
    """Return the dialect that a request's headers show; `COMMON` if they show none. `headers` has
    names in lower case.
    """
    shown = (each for each in DIALECTS if any(name in headers for name in each.label.shown_by))
    return next(shown, COMMON)


def find_endpoint(method: str, path: str) -> tuple[Endpoint, str] | None:
    """Return the endpoint of a request, and the part of its path before the endpoint's own path;
    None if the addon does not handle the request. A query in `path` is ignored.
    """
    return _find_endpoint(method, path.partition("?")[0])


@lru_cache(maxsize=64)
def _find_endpoint(method: str, path: str) -> tuple[Endpoint, str] | None:
    """Return the result of `find_endpoint` for a path without a query. The results for the last 64
    pairs of method and path are kept, because most requests repeat one.
    """
    for dialect in DIALECTS:
        for endpoint in dialect.endpoints:
            if (prefix := endpoint.prefix_of(method, path)) is not None:
                return endpoint, prefix
    return None


def recognise(value: object) -> Dialect | None:
    """Return the first of `DIALECTS` that takes `value`, the JSON of a frame or reply, for its own.
    None if none of them does, as for a ping, or if `value` is no object.
    """
    if not isinstance(value, dict):
        return None
    return next((dialect for dialect in DIALECTS if dialect.wire.recognises(value)), None)
