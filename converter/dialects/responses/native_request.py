"""A request for a server's own Responses endpoint, without what such servers refuse.

A client may have kept a thought as its summary alone (LangChain and the AI SDK do), or sealed here;
llama.cpp (November 2026) refuses a reasoning item without the raw text, and knows no other's seal.
`transformers serve` (5.23) refuses every field that the API does not have.
"""

from collections.abc import Mapping

from converter.dialects.reasoning_fields import words_of
from converter.dialects.responses import thoughts

type Body = Mapping[str, object]

NOT_OF_THE_API = "client_metadata"
"""Codex sends it with each request; only OpenAI's own servers for Codex read it."""


def mend(body: Body) -> Body:
    """Return the request, the same one where nothing is to be mended."""
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
    ours = thoughts.decode(sealed) if isinstance(sealed, str) else None
    text = ours or words_of(item.get("summary"))
    kept = {name: value for name, value in item.items() if ours is None or value is not sealed}
    if item.get("content") or not text:
        return kept
    return {**kept, "content": [{"type": "reasoning_text", "text": text}]}
