"""Thoughts as `encrypted_content`, so that a client that keeps no state and shows no summary brings
its model's thinking back in full.

The text is encoded, not sealed: the summary beside it holds the same text in plain, so that there
is nothing to hide, and a key would have to outlive the proxy.
"""

import base64
import binascii
from collections.abc import Mapping

from converter.core.dialects.reasoning_fields import thinking_in

MARK = "think-addon."
"""The beginning of thoughts that we encoded; anything else only its own vendor can read."""


def encode(text: str) -> str:
    """Return a thought as opaque content."""
    return MARK + base64.urlsafe_b64encode(text.encode("utf-8", "surrogatepass")).decode()


def decode(content: str) -> str | None:
    """Return the thought in opaque content; None if it is none of ours."""
    if not content.startswith(MARK):
        return None
    try:
        data = base64.b64decode(content.removeprefix(MARK), b"-_", validate=True)
        return data.decode("utf-8", "surrogatepass")
    except (binascii.Error, ValueError):
        return None


NOT_OF_THE_API = "client_metadata"
"""Codex sends it with each request; only OpenAI's own servers for Codex read it."""


def mend(body: Mapping[str, object]) -> Mapping[str, object]:
    """Return the request without fields that servers' own endpoints refuse; the same one where
    nothing is to be mended.

    A client may have kept a thought as its summary alone (LangChain and the AI SDK do), or sealed
    here; llama.cpp (November 2026) refuses a reasoning item without the raw text, and knows no
    other's seal. `transformers serve` (5.23) refuses every field that the API does not have.
    """
    if NOT_OF_THE_API in body:
        body = {name: value for name, value in body.items() if name != NOT_OF_THE_API}
    items = body.get("input")
    if not isinstance(items, list):
        return body
    mended = [_mended(item) for item in items]
    return body if mended == items else {**body, "input": mended}


def _mended(item: object) -> object:
    if not isinstance(item, dict) or item.get("type") != "reasoning":
        return item
    sealed = item.get("encrypted_content")
    ours = decode(sealed) if isinstance(sealed, str) else None
    text = ours or thinking_in(item.get("summary"))
    kept = {name: value for name, value in item.items() if ours is None or value is not sealed}
    if item.get("content") or not text:
        return kept
    return {**kept, "content": [{"type": "reasoning_text", "text": text}]}
