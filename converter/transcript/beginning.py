"""The part of a long body that a person looks at: to read and draw all of it would take seconds
each time.
"""

from converter.wire.bounds import TooMuchError
from converter.wire.partial_json import PartialJson

STREAM_LIMIT = 8 << 20
"""Bytes of a stream that a view reads: 32,000 tokens. They take two seconds of a processor."""
WHOLE_LIMIT = 1 << 20
"""Bytes of a body in one piece that a view reads, such as 250,000 tokens of text. Its many short
lines take as long.
"""
TEXT_LIMIT = 300_000
"""Characters of a view's text; mitmproxy needs half a second to look through a million for control
characters.
"""
LINES_LIMIT = 4_800
"""Lines of a view's text: fewer than mitmweb shows at once, so that the end is seen."""
WHERE_ALL_IS = "The page /think and think.show have all."
_FIRST, _LAST = 2 / 3, 1 / 3
"""The shares of a text's first and last lines."""


def beginning(body: bytes) -> bytes:
    """Return as much of a body as a view reads, in a form that can be read: whole frames of a
    stream, an object that is closed where it was cut.
    """
    is_object = body[:100].lstrip()[:1] == b"{"
    limit = WHOLE_LIMIT if is_object else STREAM_LIMIT
    if len(body) <= limit:
        return body
    cut = body[:limit]
    return _closed(cut) if is_object else cut[: cut.rfind(b"\n\n") + 2 or limit]


def _closed(cut: bytes) -> bytes:
    begun = PartialJson()
    try:
        closed = begun.feed(cut.decode(errors="ignore")) + begun.close_cut()
    except TooMuchError:
        return cut
    return cut if begun.unfit else closed.encode()


def both_ends(written: str) -> str:
    """Return a text's first and last lines, and how much stands between; all of a short one."""
    if len(written) <= TEXT_LIMIT and written.count("\n") <= LINES_LIMIT:
        return written
    first = written[: int(_FIRST * TEXT_LIMIT)].split("\n")[:-1][: int(_FIRST * LINES_LIMIT)]
    last = written[-int(_LAST * TEXT_LIMIT) :].split("\n")[1:][-int(_LAST * LINES_LIMIT) :]
    ends = "\n".join(first), "\n".join(last)
    between = len(written) - sum(map(len, ends))
    note = f"# {between:,} characters are left out here. {WHERE_ALL_IS}"
    return f"{ends[0]}\n{note}\n{ends[1]}"
