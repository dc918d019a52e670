"""The API key of the server, where its user has told the proxy: clients need none of their own."""

import os
from collections.abc import Container, MutableMapping

KEY_VARIABLE = "THINK_KEY"
"""In the environment, because a command line is seen by all users of a machine."""
SHOWN = "Bearer (the key of THINK_KEY)"
"""What a flow shows in place of the key."""


def server_key() -> str:
    """Return the key; none: empty. Raises ValueError for one that no header can carry."""
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ValueError(f"expected a key of printable characters in {KEY_VARIABLE}")
    return key


def put_key(headers: MutableMapping[str, str], marks: Container[str] = ()) -> None:
    """Have a request carry the key in place of the client's. `marks`: headers that the server's
    dialect has beside the usual ones.
    """
    if key := server_key():
        headers.pop("x-api-key", None)
        headers["authorization"] = f"Bearer {key}"
        if "anthropic-version" in marks:
            headers["x-api-key"] = key


def hide_key(headers: MutableMapping[str, str]) -> None:
    """Have a request that was sent no longer show the key: flows are looked at, and saved."""
    if (key := server_key()) and headers.get("authorization") == f"Bearer {key}":
        headers["authorization"] = SHOWN
        headers.pop("x-api-key", None)
