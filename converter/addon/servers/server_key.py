"""The server's API key, from the environment variable `KEY_VARIABLE` (`THINK_KEY`), so that clients
need no key: `server_key` reads it, `put_key` puts it into a request's headers, and `hide_key` hides
it in flows.
"""

import os
from collections.abc import Container, MutableMapping

KEY_VARIABLE = "THINK_KEY"
"""The environment variable that has the key. An option of the command line would show the key to
all users of the machine.
"""
SHOWN = "Bearer (the key of THINK_KEY)"
"""The value that replaces the key in the header `authorization` of a flow that was sent, because
people look at flows.
"""


def server_key() -> str:
    """Return the server's key from the environment, empty if there is none. Raises ValueError for a
    key that cannot stand in a header.
    """
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ValueError(f"expected a key of printable characters in {KEY_VARIABLE}")
    return key


def put_key(headers: MutableMapping[str, str], dialect_headers: Container[str] = ()) -> None:
    """Put the server's key into a request's headers, in place of the client's key. Do nothing if
    there is no server's key. `dialect_headers`: names of the client's headers that show its
    dialect. If `anthropic-version` is one of them, the key also goes into `x-api-key`.
    """
    if key := server_key():
        headers.pop("x-api-key", None)
        headers["authorization"] = f"Bearer {key}"
        if "anthropic-version" in dialect_headers:
            headers["x-api-key"] = key


def hide_key(headers: MutableMapping[str, str]) -> None:
    """Replace the server's key in the header `authorization` of a request that has been sent, and
    drop `x-api-key`, because people look at flows and save them. Other keys stay.
    """
    if (key := server_key()) and headers.get("authorization") == f"Bearer {key}":
        headers["authorization"] = SHOWN
        headers.pop("x-api-key", None)
