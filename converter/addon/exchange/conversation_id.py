"""`conversation_id`, a hash of what each request of a conversation repeats: the system text, the
user's first message, and the user's id. Spans of OpenTelemetry and thought events have it, so that
people can group the requests of one conversation.

All proxies compute the same id, because it depends on the request alone.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping

from converter.core.model.raw_messages import (
    BILLING_LINES,
    SYSTEM,
    SYSTEM_FIELDS,
    all_messages,
    content_of,
    role_of,
    texts_in,
)

_LONGEST = 100_000
"""How many characters of each text are hashed, because a first message may be a whole book."""
_ID_LENGTH = 16
"""How many hex digits an id has. They are few enough for a line of the log, and their 64 bits are
enough to keep the conversations of one person apart.
"""


def conversation_id(body: Mapping[str, object]) -> str:
    """Return an id that stays the same over the turns of one conversation, in any dialect.

    The id is made of the parts that a client repeats in every turn: the system text, the user's
    first message, and the user's id. Later messages, the model, the settings and Claude Code's
    billing line do not count. No request body makes the function raise.
    """
    turns = all_messages(body)
    first = next((at for at, turn in enumerate(turns) if role_of(turn) == "user"), len(turns))
    system_turns = [turn for turn in turns[:first] if role_of(turn) in SYSTEM]
    system = [*map(body.get, SYSTEM_FIELDS), *map(content_of, system_turns)]
    unbilled = (BILLING_LINES.sub("", text) for text in _texts_to_hash(system))
    question = _texts_to_hash(map(content_of, turns[first:][:1]))
    metadata = body.get("metadata")
    user = body.get("user") or (metadata.get("user_id") if isinstance(metadata, Mapping) else None)
    parts = [user if isinstance(user, str) else "", list(filter(str.strip, unbilled)), question]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:_ID_LENGTH]


def _texts_to_hash(contents: Iterable[object]) -> list[str]:
    """Return the texts in `contents`, each cut to `_LONGEST` characters, without empty ones. A
    content is a string or a list of parts.
    """
    parts = [part for one in contents for part in (one if isinstance(one, list) else [one])]
    parts = [part for part in parts if part is not None]
    texts = [part for part in parts if isinstance(part, str)]
    if len(texts) < len(parts):
        texts = [text for _, text in texts_in({"content": parts})]
    return [text[:_LONGEST] for text in texts if text]
