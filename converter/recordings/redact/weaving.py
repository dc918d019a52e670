"""A body put together again of its pieces, some of them changed."""

import json
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate


def woven(gaps: Sequence[bytes], written: Sequence[bytes]) -> list[bytes]:
    """Return a gap, what is written, a gap ... and a gap."""
    both = [b""] * (len(gaps) + len(written))
    both[::2], both[1::2] = gaps, written
    return both


def moved(before: Sequence[bytes], after: Sequence[bytes], borders: Sequence[int]) -> list[int]:
    """Return where each of the borders is, now that the pieces of a body are others; one in a new
    piece stays in it.
    """
    starts, now = [0, *accumulate(map(len, before))], [0, *accumulate(map(len, after))]
    pieces = []
    for border in borders:
        at = bisect_right(starts, border) - 1
        inner = border - starts[at]
        pieces.append(now[at] + (min(inner, len(after[at])) if inner else 0))
    return pieces


def written(text: str) -> bytes:
    """Return a string as JSON; bytes that were no UTF-8 stay what they were."""
    try:
        return json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return json.dumps(text).encode()
