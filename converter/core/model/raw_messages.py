"""Readers of a request's JSON that need not know its dialect: messages, roles, texts and calls.

No function of this module raises, however wrong the JSON is.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import NamedTuple

from converter.core.model import thought_fields

BILLING_LINES = re.compile(
    r"x-anthropic-billing-header:(?<=^x-anthropic-billing-header:)[^\n]*\n*", re.MULTILINE
)
"""The pattern of a line `x-anthropic-billing-header: ...`, which Claude Code writes into its system
text with another value in each request. The pattern begins with letters, which `re` finds fast.
Only where these letters stand, it looks back for the beginning of the line.
"""
SYSTEM = ("system", "developer")
"""The roles of system messages."""
SYSTEM_FIELDS = ("system", "instructions")
"""The fields with the system text: `system` in requests of Messages, `instructions` in requests of
Responses.
"""
MESSAGE_FIELDS = ("messages", "input")
"""The fields with the messages: `input` in requests of Responses, else `messages`."""
_MARK = "cache_control"
"""The field with which a client marks the end of a cached prompt. No model reads it."""
_HEAD = 4000
"""How many characters at the beginning of a message are in its fingerprint. A client may later
shorten a long result of a tool, and the message must still have the same fingerprint.
"""
REMINDER = re.compile(
    r"<system-reminder>(?:(?!<system-reminder>).)*?</system-reminder>\s*", re.DOTALL
)
"""The pattern of a note that Claude Code puts into messages; it differs from request to request."""
DATE = re.compile(
    r"[\dA-Z](?:(?<=\d)(?:\d{3}-\d\d-\d\d|\d?:\d\d)|(?<=[A-Z])[a-z]+day\b|(?<=\b2)0\d\d\b)"
)
"""The pattern of text that changes from request to request: a date (2026-11-29), a time (9:41), a
name of a day (Sunday) or a year (2026). The pattern begins with one class of characters, because
`re` finds a class four times as fast as alternatives.
"""


def messages_of(body: Mapping[str, object]) -> Sequence[object]:
    """Return the list of messages in a request of any dialect; empty if there is none."""
    messages = body.get("messages") or body.get("input")
    return messages if isinstance(messages, list) else ()


def all_messages(body: Mapping[str, object]) -> Sequence[object]:
    """Return the messages of a request of any dialect. A text in place of the list (`"input":
    "Hi"`) is returned as a message of the user.
    """
    text = body.get("messages") or body.get("input")
    return [{"role": "user", "content": text}] if isinstance(text, str) else messages_of(body)


def begun_message(body: Mapping[str, object]) -> Mapping[str, object] | None:
    """Return the last message of a request if its role is `assistant`, so that the model's reply
    continues it; else `None`.
    """
    messages = messages_of(body)
    last = messages[-1] if messages else None
    return last if isinstance(last, dict) and role_of(last) == "assistant" else None


def map_messages(
    body: Mapping[str, object], change: Callable[[object], object]
) -> Mapping[str, object]:
    """Return the request `body` with `change` applied to each message; `body` itself if no message
    changes.
    """
    messages = messages_of(body)
    changed = [change(message) for message in messages]
    return body if changed == [*messages] else with_messages(body, changed)


def with_messages(body: Mapping[str, object], messages: Iterable[object]) -> dict[str, object]:
    """Return the request with `messages` in its field of messages (`messages` or `input`)."""
    field = "input" if body.get("input") and not body.get("messages") else "messages"
    return {**body, field: [*messages]}


def role_of(message: object) -> str:
    """Return the role of a message; empty if the message has none."""
    return str(message.get("role") or "") if isinstance(message, dict) else ""


def content_of(message: object) -> object:
    """Return the content of a message; `None` if it has none."""
    return message.get("content") if isinstance(message, dict) else None


def content_parts(message: object) -> list[object]:
    """Return the parts of a message's content; an empty list if the content is not a list."""
    content = content_of(message)
    return content if isinstance(content, list) else []


def map_parts(message: object, change: Callable[[object], object]) -> object:
    """Return a message with `change` applied to each part of its content; the message itself if its
    content has no parts.
    """
    parts = content_parts(message)
    if not parts or not isinstance(message, dict):
        return message
    return {**message, "content": [*map(change, parts)]}


def content_texts(message: object) -> Iterator[str]:
    """Yield the texts of a message's content, plain or in parts."""
    content = content_of(message)
    if isinstance(content, str):
        yield content
    for part in content_parts(message):
        if isinstance(part, dict) and isinstance(text := part.get("text"), str):
            yield text


def entries_of(message: object) -> list[Mapping[str, object]]:
    """Return all objects of a message that may be a tool call in some dialect: the message itself,
    the entries of `tool_calls`, and the parts of the content.
    """
    if not isinstance(message, dict):
        return []
    calls, content = message.get("tool_calls"), message.get("content")
    entries: list[Mapping[str, object]] = [message]
    if isinstance(calls, list):
        entries += [call for call in calls if isinstance(call, dict)]
    if isinstance(content, list):
        entries += [part for part in content if isinstance(part, dict)]
    return entries


def texts_in(message: object) -> Iterator[tuple[bool, str]]:
    """Yield each text of a message as a pair: True if it is a thought, and the text. A value that
    is not a text is yielded as JSON.
    """
    fields = message if isinstance(message, dict) else {"content": message}
    for key in sorted(fields.keys() - {"role", _MARK}):
        value = fields[key]
        for part in value if isinstance(value, list) else [value]:
            if text := part if isinstance(part, str) else _text(part):
                kind = part.get("type") if isinstance(part, dict) else None
                yield key in thought_fields.FIELDS or kind in thought_fields.PARTS, text


def _text(part: object) -> str:
    """Return the `text` of a message's part, or else the part as JSON; empty for `None`."""
    if isinstance(part, dict) and isinstance(text := part.get("text"), str):
        return text
    return "" if part is None else json.dumps(_without_cache_mark(part), ensure_ascii=False)


def _without_cache_mark(value: object) -> object:
    """Return an object without its field `cache_control`; any other value unchanged."""
    if not isinstance(value, dict):
        return value
    return {key: item for key, item in value.items() if key != _MARK}


def fingerprint_of(message: object) -> str:
    """Return a text by which a message is recognised in the next request: its role, and the
    beginning of its text. Thoughts are left out, as are dates, reminders and billing lines, which
    change between requests. The fingerprint of a system message is its role alone.
    """
    role = role_of(message)
    if role in SYSTEM:
        return role
    texts, length = list[str](), 0
    for is_thought, text in texts_in(message):
        texts += [] if is_thought else [text[: _HEAD - length]]
        length += 0 if is_thought else len(texts[-1])
    for moving in (REMINDER, BILLING_LINES, DATE):
        texts = [moving.sub("", text).strip() for text in texts]
    return "\n".join([role, *filter(None, texts)])


def shared_count(before: Sequence[object], now: Sequence[object]) -> int:
    """Return how many messages at the beginning of the conversations `before` and `now` are equal,
    or have the same fingerprint. No fingerprint is made of equal messages, which would take time.
    """
    for number, (one, other) in enumerate(zip(before, now, strict=False)):
        if one != other and fingerprint_of(one) != fingerprint_of(other):
            return number
    return min(len(before), len(now))


class PromptPart(NamedTuple):
    """A tool, system text or message, as a part of the prompt."""

    name: str
    """The name of the part for people ("message 3 (user)")."""
    text: str
    """All text of the part, the thoughts last."""
    plain: str
    """The text of the part without thoughts."""


def prompt_pieces(body: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Yield the parts of a request's prompt as pairs: the name of the part ("message 3 (user)"),
    and the message, or a tool or system text in the form of a message. They come in the order that
    chat templates have: tools, system text, messages.
    """
    tools = body.get("tools")
    for tool in tools if isinstance(tools, list) else []:
        yield f"tool {_tool_name(tool)}", {"tool": _without_cache_mark(tool)}
    for system in filter(None, map(body.get, SYSTEM_FIELDS)):
        yield "the system text", {"role": "system", "content": system}
    for number, message in enumerate(messages_of(body)):
        yield f"message {number} ({role_of(message)})", message


def prompt_part(name: str, message: object) -> PromptPart:
    """Return the prompt's part for a pair that `prompt_pieces` yields."""
    texts, thoughts = list[str](), list[str]()
    for is_thought, text in texts_in(message):
        (thoughts if is_thought else texts).append(text)
    plain = "\n".join(texts)
    return PromptPart(name, plain + "\n".join(thoughts), plain)


def prompt_texts(body: Mapping[str, object]) -> dict[str, str]:
    """Return the text of each part of the prompt, by the part's name ("message 3 (user)")."""
    return {name: prompt_part(name, piece).text for name, piece in prompt_pieces(body)}


def _tool_name(tool: object) -> str:
    """Return the name of a tool in a request of any dialect; empty if it has none."""
    function = tool.get("function", tool) if isinstance(tool, Mapping) else {}
    return str(function.get("name", "")) if isinstance(function, Mapping) else ""


def strings_of(value: object, levels: float = inf) -> Iterator[str]:
    """Yield the strings in a JSON value, in their order. Objects and lists more than `levels` deep
    are left out. Keys are not yielded.
    """
    left = [(value, levels)]
    while left:
        inner, deep = left.pop()
        if isinstance(inner, str):
            yield inner
        elif deep and isinstance(inner, dict | list):
            within = inner.values() if isinstance(inner, dict) else inner
            left += [(each, deep - 1) for each in reversed(within)]
