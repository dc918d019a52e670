"""The first bytes of a reply, which show whether it is a stream or a whole body. Content types do
not show it: servers send wrong ones, and saved replies have none.
"""

import codecs
import enum
import re


class FirstBytes(enum.Enum):
    """The kinds of beginnings that a reply can have."""

    FIELD = enum.auto()
    """A field of a server-sent event (`data:`) or a comment (`:`). The reply is a stream."""
    JSON = enum.auto()
    """An object or a list. The reply is a whole body, or a stream of JSON lines."""
    PAGE = enum.auto()
    """HTML or XML: a gateway's error page, which is a whole body."""
    OTHER = enum.auto()


_NAMES = (b"data:", b"event:", b"id:", b"retry:", b":")
FIELD = re.compile(rb"(?:%b)?\s*(?:%b)" % (codecs.BOM_UTF8, b"|".join(_NAMES)))
"""The beginning of a stream of server-sent events."""
_MARKS = {b"{": FirstBytes.JSON, b"[": FirstBytes.JSON, b"<": FirstBytes.PAGE}
SNIFFED = 4096
"""How many bytes of a reply `beginning_of` reads; blanks may stand in front of the first mark."""


def beginning_of(raw: bytes, *, last: bool = False) -> FirstBytes | None:
    """Return the kind of a reply's beginning; `None` if `raw` is too short to show the kind.
    `last`: `raw` is the whole reply.
    """
    head = raw[:SNIFFED]
    if FIELD.match(head):
        return FirstBytes.FIELD
    rest = head.removeprefix(codecs.BOM_UTF8).lstrip()
    if kind := _MARKS.get(rest[:1]):
        return kind
    more = not last and len(raw) < SNIFFED
    begun = any(whole.startswith(rest) for whole in (*_NAMES, codecs.BOM_UTF8))
    return None if more and begun else FirstBytes.OTHER
