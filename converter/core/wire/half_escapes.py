"""Half a surrogate pair that JSON escapes without the other one, found without a reader."""

import re

_HALF = re.compile(rb"\\u[dD][89a-fA-F]")
_PAIR_OR_HALF = re.compile(rb"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|(\\u[dD][89a-fA-F])", re.DOTALL)


def has_half_characters(data: bytes) -> bool:
    """Return True if JSON holds such a half. It may err where a string speaks of escapes."""
    first = _HALF.search(data)  # 0.2 ms for 600 kB, where the other pattern takes 7
    if first is None:
        return False
    return any(match[1] for match in _PAIR_OR_HALF.finditer(data, first.start()))
