"""Thoughts as `encrypted_content`, so that a client that keeps no state and shows no summary brings
its model's thinking back in full.

The text is encoded, not sealed: the summary beside it says the same in plain words, so that there
is nothing to hide, and a key would have to outlive the proxy.
"""

import base64
import binascii

MARK = "think-addon."
"""Begins what we encoded; anything else only its own vendor can read."""


def encode(text: str) -> str:
    """Return a thought as opaque content."""
    return MARK + base64.urlsafe_b64encode(text.encode("utf-8", "surrogatepass")).decode()


def decode(content: str) -> str | None:
    """Return the thought in opaque content; None if it is none of ours."""
    if not content.startswith(MARK):
        return None
    try:
        said = base64.b64decode(content.removeprefix(MARK), b"-_", validate=True)
        return said.decode("utf-8", "surrogatepass")
    except (binascii.Error, ValueError):
        return None
