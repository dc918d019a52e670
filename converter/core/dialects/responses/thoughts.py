"""Writes and reads thoughts in the field `encrypted_content` of an item `reasoning` (`encode`,
`decode`), which a client sends back unchanged. `native_request` fits a request to a server's own
Responses endpoint.

By this field the model gets its whole thought, even if the client did not keep the summary. The
text is encoded (base64) but not encrypted. The summary beside it has the same text, so that
encryption would hide nothing, and a key would have to outlive the proxy.
"""

import base64
import binascii
from collections.abc import Mapping

from converter.core.dialects.reasoning_fields import thinking_in

MARK = "think-addon."
"""The beginning of each `encrypted_content` that the addon writes. Content with another beginning
can be read only by the vendor that wrote it.
"""


def encode(text: str) -> str:
    """Return a text as `encrypted_content`: `Hm` -> `think-addon.SG0=`."""
    return MARK + base64.urlsafe_b64encode(text.encode("utf-8", "surrogatepass")).decode()


def decode(content: str) -> str | None:
    """Return the text in an `encrypted_content`; None if the addon did not write it, or if it is
    damaged.
    """
    if not content.startswith(MARK):
        return None
    try:
        data = base64.b64decode(content.removeprefix(MARK), b"-_", validate=True)
        return data.decode("utf-8", "surrogatepass")
    except (binascii.Error, ValueError):
        return None


NOT_OF_THE_API = "client_metadata"
"""A field that Codex sends in each request. OpenAI's own servers for Codex read it; the Responses
API does not have it.
"""


def native_request(body: Mapping[str, object]) -> Mapping[str, object]:
    """Return a request for a server's own Responses endpoint in a form that local servers accept;
    the same object if nothing has to change.

    - An item `reasoning` gets a raw text in `content`, because llama.cpp (November 2026) refuses an
      item without it. A client may have kept only the summary (LangChain and the AI SDK do), or
      only the `encrypted_content`.
    - `encrypted_content` that the addon wrote is removed, because no server can read it.
    - `client_metadata` is removed, because `transformers serve` (5.23) refuses fields that the API
      does not have.
    """
    if NOT_OF_THE_API in body:
        body = {name: value for name, value in body.items() if name != NOT_OF_THE_API}
    items = body.get("input")
    if not isinstance(items, list):
        return body
    mended = [_native_item(item) for item in items]
    return body if mended == items else {**body, "input": mended}


def _native_item(item: object) -> object:
    """Return an item of the input in the form that local servers accept: a thought with a raw text,
    and without an `encrypted_content` that the addon wrote; any other item unchanged.
    """
    if not isinstance(item, dict) or item.get("type") != "reasoning":
        return item
    sealed = item.get("encrypted_content")
    ours = decode(sealed) if isinstance(sealed, str) else None
    text = ours or thinking_in(item.get("summary"))
    kept = {name: value for name, value in item.items() if ours is None or value is not sealed}
    if item.get("content") or not text:
        return kept
    return {**kept, "content": [{"type": "reasoning_text", "text": text}]}
