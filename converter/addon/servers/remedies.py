"""Makes remedies, texts that tell a user what to do, for two errors that every later request would
get too: an unknown model (`is_unknown_model`) and a missing key (`WANTS_KEY`). `with_remedy` adds
the text to the server's error. `hooks/reply_steps.py` chooses the remedy for a reply.
"""

import re
from collections.abc import Sequence

from converter.addon.servers.server_key import KEY_VARIABLE
from converter.core.dialects.error_words import server_error
from converter.core.wire import json_text
from converter.core.wire.json_text import as_object

_MOST_SHOWN = 5
"""How many names of served models a remedy lists, because a gateway has hundreds."""
_UNKNOWN_MODEL = re.compile(
    r"(?i)\bmodels?\b.{0,200}\b(not found|does not exist|no such|unknown|not (?:be )?served)"
    r"|\b(no such|unknown|unsupported) model\b|model_not_found|\bno model\b",
    re.DOTALL,
)
"""Finds errors about unknown models, of vLLM (*The model `x` does not exist*), Ollama (*model "x"
not found, try pulling it first*), SGLang, LM Studio, LiteLLM and OpenAI.
"""
WANTS_KEY = 401
"""The status of a response to a request without a key, or with a wrong one."""
FOR_KEY = f"start the proxy with the server's API key in {KEY_VARIABLE}, or have the client send it"
"""The remedy for a request without a valid key."""


def is_unknown_model(status: int, message: str) -> bool:
    """Return True if an error with the status 400 or 404 says that the server does not serve the
    model of the request.
    """
    return status in (400, 404) and _UNKNOWN_MODEL.search(message) is not None


def model_remedy(model: str, served: Sequence[str]) -> str:
    """Return the remedy for a request for `model`, which is not served: a text with names of served
    models. Empty if `served`, the names of all served models, is empty or has `model`.
    """
    names = [name for name in served if name.isprintable() and "'" not in name]
    if not names or model in names:
        return ""
    more = f" and {len(names) - _MOST_SHOWN} more" if len(names) > _MOST_SHOWN else ""
    listed = ", ".join(names[:_MOST_SHOWN])
    return (
        f"the server serves {listed}{more}: ask for one of these names,"
        f" or start the proxy with --set 'think_models=*={names[0]}'"
    )


def with_remedy(body: bytes, remedy: str) -> bytes:
    """Return the body of a server's error with the remedy added to the error's message. The other
    fields of the body stay. A body without an error becomes an error as OpenAI's API writes it.
    """
    value = json_text.read_or_none(body)
    error = server_error(value, "error") if value else None
    if not isinstance(value, dict) or error is None:
        return json_text.write({"error": {"message": remedy, "type": "invalid_request_error"}})
    message = f"{error.message.rstrip('.')}. Remedy: {remedy}"
    if isinstance(value.get("error"), dict):
        key = "detail" if "message" not in as_object(value["error"]) else "message"
        return json_text.write({**value, "error": {**as_object(value["error"]), key: message}})
    for key in ("error", "message", "detail"):
        if isinstance(value.get(key), str):
            return json_text.write({**value, key: message})
    return json_text.write({**value, "error": {"message": message}})
