"""The first bytes of a reply, by which a stream is told from a whole body: servers mislabel both,
and saved replies have no label.
"""

import codecs
import enum
import re


class FirstBytes(enum.Enum):
    """The kinds of first bytes."""

    FIELD = enum.auto()
    """A field of a server-sent event, or a comment. No whole body begins so."""
    JSON = enum.auto()
    """An object or a list: a whole body, or the first of several lines."""
    PAGE = enum.auto()
    """A gateway's page of HTML or XML. No stream begins so."""
    OTHER = enum.auto()


_NAMES = (b"data:", b"event:", b"id:", b"retry:", b":")
FIELD = re.compile(rb"(?:%b)?\s*(?:%b)" % (codecs.BOM_UTF8, b"|".join(_NAMES)))
"""The beginning of a stream of server-sent events."""
_MARKS = {b"{": FirstBytes.JSON, b"[": FirstBytes.JSON, b"<": FirstBytes.PAGE}
SNIFFED = 4096
"""Bytes of a reply that are looked at, because blanks may come first."""


def beginning_of(raw: bytes, *, last: bool = False) -> FirstBytes | None:
    """Return how a reply begins; `None` while too little has come. `last`: nothing more comes."""
    head = raw[:SNIFFED]
    if FIELD.match(head):
        return FirstBytes.FIELD
    rest = head.removeprefix(codecs.BOM_UTF8).lstrip()
    if kind := _MARKS.get(rest[:1]):
        return kind
    more = not last and len(raw) < SNIFFED
    begun = any(whole.startswith(rest) for whole in (*_NAMES, codecs.BOM_UTF8))
    return None if more and begun else FirstBytes.OTHER
