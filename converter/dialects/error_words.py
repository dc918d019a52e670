"""The words of a server's error answer, whatever its shape."""

import re

from converter.wire import json_text

_PLACES = (("error", "message"), ("error",), ("message",), ("detail",))
"""Where servers put the words: chat completions and llama.cpp, Ollama, older vLLM, FastAPI."""
_PAGE = 8192
"""Characters of a page that are looked at: what it says, it says early."""
_WORDS = 400
"""Characters of a text that is no JSON, such as a gateway's page, that are worth showing."""


def server_words(body: bytes) -> str:
    """Return what an error answer says, wherever it says it."""
    try:
        said = json_text.read(body)
    except json_text.UnreadableError:
        return _plain(body.decode(errors="replace"))
    for place in _PLACES:
        found = said
        for name in place:
            found = found.get(name) if isinstance(found, dict) else None
        if found:
            return found if isinstance(found, str) else json_text.write(found).decode()
    return json_text.write(said).decode()[:_WORDS] if said else ""


def _plain(text: str) -> str:
    """Return what a page says at its beginning, without its marks."""
    text = text[:_PAGE]
    unstyled = re.sub(r"(?is)<(style|script)\b.*?</\1>", " ", text)
    return " ".join(re.sub(r"<[^<>]*>", " ", unstyled).split())[:_WORDS]
