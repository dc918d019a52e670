"""`beginning_of` tells by a reply's first bytes whether it is a stream, JSON, a page or something
else (`FirstBytes`). Its content type does not tell: servers send wrong ones, and saved replies have
none.
"""

import codecs
import enum
import re


class FirstBytes(enum.Enum):
    """The kinds of beginnings by which a stream and a whole body are told apart."""

    FIELD = enum.auto()
    """A field of a server-sent event (`data:`) or a comment (`:`). The reply is a stream."""
    JSON = enum.auto()
    """An object or a list. The reply is a whole body, or a stream of JSON lines."""
    PAGE = enum.auto()
    """HTML or XML: a gateway's error page, which is a whole body."""
    OTHER = enum.auto()
    """Other bytes, such as plain text. The reply is a whole body."""


_LINE_BEGINNINGS = (b"data:", b"event:", b"id:", b"retry:", b":")
"""The beginnings of lines in a stream of server-sent events; `:` begins a comment."""
FIELD = re.compile(rb"(?:%b)?\s*(?:%b)" % (codecs.BOM_UTF8, b"|".join(_LINE_BEGINNINGS)))
"""The pattern of the beginning of a stream of server-sent events."""
_KINDS = {b"{": FirstBytes.JSON, b"[": FirstBytes.JSON, b"<": FirstBytes.PAGE}
"""The first byte of a reply that is not a blank -> the kind of the reply's beginning."""
SNIFFED = 4096
"""How many bytes of a reply `beginning_of` reads at most. Blanks may stand before the bytes that
show the kind.
"""


def beginning_of(raw: bytes, *, last: bool = False) -> FirstBytes | None:
    """Return the kind of beginning that a reply has. `raw`: its bytes so far. Return `None` if they
    are too few to show the kind. `last`: True if no more bytes come; the result is then never
    `None`.
    """
    head = raw[:SNIFFED]
    if FIELD.match(head):
        return FirstBytes.FIELD
    rest = head.removeprefix(codecs.BOM_UTF8).lstrip()
    if kind := _KINDS.get(rest[:1]):
        return kind
    more = not last and len(raw) < SNIFFED
    begun = any(whole.startswith(rest) for whole in (*_LINE_BEGINNINGS, codecs.BOM_UTF8))
    return None if more and begun else FirstBytes.OTHER
