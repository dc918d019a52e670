"""Recognises requests that a client's program, and not its user, makes in a conversation: for its
title, or for a summary that will replace its turns. Also recognises the message with such a
summary.
"""

import re
from collections.abc import Mapping

from converter.core.model.raw_messages import (
    SYSTEM,
    SYSTEM_FIELDS,
    all_messages,
    content_texts,
    messages_of,
    role_of,
)

TITLE, COMPACTION = "title", "compaction"
_HEAD_LENGTH = 4000
"""How many characters at the beginning of a text are searched for `_PATTERNS`."""
_PATTERNS = (
    # Claude Code 2.1 and Codex 0.169 ask for a summary in these words.
    (
        COMPACTION,
        re.compile(r"Your task is to create a detailed summary of|CONTEXT CHECKPOINT COMP"),
    ),
    # Codex, Open WebUI 0.6 and older versions of Claude Code ask for a title in these words.
    (TITLE, re.compile(r"\bGenerate a (?:concise|short|brief)\b[^.\n]{0,80}\btitle\b")),
    (TITLE, re.compile(r"\AYou are a title generator")),  # opencode 1.0 asks this way
    (TITLE, re.compile(r"\A\s*<session>\n")),  # Claude Code 2.1 begins its request this way
    (TITLE, re.compile(r"\bplease reply with a title for the chat\b")),  # Continue 1 asks this way
)
"""Pairs: the kind of request, and a pattern of the words in which a client's program makes it."""
_BEFORE_SUMMARY = re.compile(
    # Claude Code 2.1 writes the first sentence before a summary, Codex 0.169 the second one.
    r"This session is being continued from a previous conversation"
    r"|Another language model started to solve this problem and produced a summary"
)
"""The pattern of the sentence with which a client's program begins a message that holds the summary
of an earlier conversation.
"""


def housekeeping_of(body: Mapping[str, object], path: str = "") -> str:
    """Return `TITLE` if the request `body` asks for the conversation's title, `COMPACTION` if it
    asks for a summary, and an empty string for all other requests.

    A request to a path that ends with `/compact`, or whose last item is a `compaction_trigger`,
    always counts as `COMPACTION`. In other requests, `_PATTERNS` are searched for at the beginning
    (`_HEAD_LENGTH`) of each system text, and of the last message if it is not the model's. A
    request with tools never counts as `TITLE` by a pattern, and one without any reply of the model
    never as `COMPACTION`.

    `path`: the path to which the request was sent.
    """
    last = messages_of(body)[-1:]
    if path.partition("?")[0].endswith("/compact") or any(
        _is_item(message, "compaction_trigger") for message in last
    ):
        return COMPACTION
    messages = all_messages(body)
    instructions: list[object] = [{"content": body.get(name)} for name in SYSTEM_FIELDS]
    instructions += [message for message in messages if role_of(message) in SYSTEM]
    instructions += [message for message in messages[-1:] if role_of(message) != "assistant"]
    texts = [text for message in instructions for text in content_texts(message)]
    replied = any(role_of(message) not in ("user", *SYSTEM) for message in messages)
    may_be = {TITLE: not body.get("tools"), COMPACTION: replied}
    for kind, pattern in _PATTERNS:
        if may_be[kind] and any(pattern.search(text[:_HEAD_LENGTH]) for text in texts):
            return kind
    return ""


def goes_on_from_summary(message: object) -> bool:
    """Return True if a message holds the summary of an earlier conversation, so that this
    conversation continues the earlier one.
    """
    return _is_item(message, "compaction") or any(
        _BEFORE_SUMMARY.search(text[:_HEAD_LENGTH]) for text in content_texts(message)
    )


def _is_item(message: object, kind: str) -> bool:
    """Return True if a message is an item of the Responses API whose `type` is `kind`."""
    return isinstance(message, dict) and message.get("type") == kind
