"""Recorded chat completions, for tests of what reads or rewrites a reply: real ones of real
servers, complete, one choice each.
"""

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from converter.core.dialects.table import OPENAI_CHAT, Form
from converter.core.model.initial_state import InitialState
from converter.extras.recordings.library import Library

FOLDER = Path(__file__).resolve().parents[2] / "recordings"
_LIBRARY = Library(FOLDER)


@dataclass(frozen=True)
class Recording:
    """One exchange: the request to the server, and the server's answer."""

    name: str
    request: dict[str, Any]
    status: int
    body: bytes
    streamed: bool


@cache
def names(form: str = "") -> list[str]:
    """All recordings that fit, or those of replies sent as a "stream" or "whole"."""
    return [name for name in _LIBRARY.names() if name.endswith(form) and _fits(name)]


def _fits(name: str) -> bool:
    """Return True for one complete reply that begins in text."""
    kept = _LIBRARY.load(name)
    complete = (
        kept.server_dialect is OPENAI_CHAT
        and kept.server_reply.status == 200
        and b'"choices"' in kept.body
    )
    alone = not re.search(rb'"index":1,"(?:delta|message)"', kept.body)
    chat = alone and not kept.awaited().is_text_completion
    return (
        complete and chat and not kept.abort_reason and kept.facts.begins == InitialState.TEXT.value
    )


@cache
def load(name: str) -> Recording:
    """Return a recording as the server sent it."""
    kept = _LIBRARY.load(name)
    return Recording(
        name,
        json.loads(kept.sent_request.body),
        kept.server_reply.status,
        kept.body,
        kept.server_form is Form.STREAM,
    )
