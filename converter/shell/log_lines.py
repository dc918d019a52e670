"""Words of clients and servers as a line of the log may hold them: nothing raw, and bounded."""

from mitmproxy.http import HTTPFlow

from converter.observe.printable import bounded

LONGEST = 200
"""Characters of a header, a path or an address in a line of the log."""
LONGEST_LINE = 2000
"""Characters of all that one line says of a reply, because a server may say much, and a terminal
shows few lines of it.
"""


def path_of(flow: HTTPFlow) -> str:
    """Return a request's path without its query."""
    return bounded(flow.request.path.partition("?")[0], LONGEST)


def in_a_line(flow: HTTPFlow) -> str:
    """Return a request's method and path."""
    return bounded(f"{flow.request.method} {path_of(flow)}", LONGEST)
