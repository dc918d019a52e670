"""The fields of a message's head, changed in one walk: mitmproxy walks through all of them for each
name that is asked for, set or taken out, and once more to say that it is there.
"""

from collections.abc import Callable, Mapping

from mitmproxy.http import Headers


def change(headers: Headers, values: Mapping[bytes, bytes | None]) -> None:
    """Give fields these values, in their places or behind all others; None: take them out. Names
    are in lower case.
    """
    left, fields = dict(values), list[tuple[bytes, bytes]]()
    for name, value in headers.fields:
        key = name.lower()
        if key not in values:
            fields.append((name, value))
        elif (given := left.pop(key, None)) is not None:
            fields.append((name, given))
    added = ((name, given) for name, given in left.items() if given is not None)
    headers.fields = (*fields, *added)


def leave_out(headers: Headers, goes: Callable[[bytes], object]) -> None:
    """Take out the fields whose names, in lower case, are to go."""
    kept = [field for field in headers.fields if not goes(field[0].lower())]
    if len(kept) < len(headers.fields):
        headers.fields = tuple(kept)
