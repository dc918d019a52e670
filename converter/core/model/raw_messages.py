"""Functions that find messages, roles, texts and calls in a request's JSON, whatever its dialect
(`messages_of`, `role_of`, roles in `SYSTEM`). Others replace messages, recognise them again, or
list the parts of a prompt.

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
text with another value in each request. The pattern begins with letters, because `re` finds letters
fast. Only where it finds them, the look-behind checks that a line begins there.
"""
SYSTEM = ("system", "developer")
"""The roles of system messages."""
SYSTEM_FIELDS = ("system", "instructions")
"""The fields with the system text: `system` in the Messages API, `instructions` in the Responses
API.
"""
MESSAGE_FIELDS = ("messages", "input")
"""The fields with the messages: `messages`, or in requests of the Responses API `input`."""
_CACHE_FIELD = "cache_control"
"""The field with which a client asks the server to cache the prompt up to this place. It is no text
for the model.
"""
_HEAD_LENGTH = 4000
"""How many characters at a message's beginning are in its fingerprint. The rest is left out because
a client may shorten a tool's long result in its next request; the fingerprint must stay the same.
"""
REMINDER = re.compile(
    r"<system-reminder>(?:(?!<system-reminder>).)*?</system-reminder>\s*", re.DOTALL
)
"""The pattern of a note that Claude Code puts into a message. In the next request, the same message
may have another note or none.
"""
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
    """Return a message with `change` applied to each part of its content. Return the message itself
    if its content is plain text or absent.
    """
    parts = content_parts(message)
    if not parts or not isinstance(message, dict):
        return message
    return {**message, "content": [*map(change, parts)]}


def content_texts(message: object) -> Iterator[str]:
    """Yield the texts of a message's content: the content itself if it is plain text, or the text
    of each part that has one.
    """
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
    """Yield each text of a message as a pair: True if the text is a thought, and the text. Other
    values, such as calls, are yielded as JSON. The role, the cache mark and empty texts are left
    out.
    """
    fields = message if isinstance(message, dict) else {"content": message}
    for key in sorted(fields.keys() - {"role", _CACHE_FIELD}):
        value = fields[key]
        for part in value if isinstance(value, list) else [value]:
            if text := part if isinstance(part, str) else _text(part):
                kind = part.get("type") if isinstance(part, dict) else None
                yield key in thought_fields.FIELDS or kind in thought_fields.PARTS, text


def _text(part: object) -> str:
    """Return the field `text` of a message's part; the part as JSON if it has none. Return an empty
    text for `None`.
    """
    if isinstance(part, dict) and isinstance(text := part.get("text"), str):
        return text
    return "" if part is None else json.dumps(_without_cache_mark(part), ensure_ascii=False)


def _without_cache_mark(value: object) -> object:
    """Return an object without its field `cache_control`; any other value unchanged."""
    if not isinstance(value, dict):
        return value
    return {key: item for key, item in value.items() if key != _CACHE_FIELD}


def fingerprint_of(message: object) -> str:
    """Return a text by which a message is recognised in the next request: its role, and the
    beginning of its text (`_HEAD_LENGTH`). The fingerprint of a system message is only its role.

    What clients change between requests is left out: thoughts, dates, Claude Code's reminders and
    its billing line.
    """
    role = role_of(message)
    if role in SYSTEM:
        return role
    texts, length = list[str](), 0
    for is_thought, text in texts_in(message):
        texts += [] if is_thought else [text[: _HEAD_LENGTH - length]]
        length += 0 if is_thought else len(texts[-1])
    for moving in (REMINDER, BILLING_LINES, DATE):
        texts = [moving.sub("", text).strip() for text in texts]
    return "\n".join([role, *filter(None, texts)])


def shared_count(before: Sequence[object], now: Sequence[object]) -> int:
    """Return how many messages the conversations `before` and `now` share at their beginning. Two
    messages count as shared if they are equal or have the same fingerprint.
    """
    for number, (one, other) in enumerate(zip(before, now, strict=False)):
        if one != other and fingerprint_of(one) != fingerprint_of(other):
            return number
    return min(len(before), len(now))


class PromptPart(NamedTuple):
    """One part of a request's prompt: a tool, the system text or a message."""

    name: str
    """The name of the part for people ("message 3 (user)")."""
    text: str
    """All text of the part, with the thoughts at the end."""
    plain: str
    """The text of the part without its thoughts."""


def prompt_pieces(body: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Yield the parts of a request's prompt as pairs: the part's name ("message 3 (user)"), and the
    part as a message (a tool as `{"tool": ...}`). They come in the order in which chat templates
    write them: tools, system text, messages.
    """
    tools = body.get("tools")
    for tool in tools if isinstance(tools, list) else []:
        yield f"tool {_tool_name(tool)}", {"tool": _without_cache_mark(tool)}
    for system in filter(None, map(body.get, SYSTEM_FIELDS)):
        yield "the system text", {"role": "system", "content": system}
    for number, message in enumerate(messages_of(body)):
        yield f"message {number} ({role_of(message)})", message


def prompt_part(name: str, message: object) -> PromptPart:
    """Return the part of the prompt with this name, and with the texts of `message`. Both arguments
    come from a pair that `prompt_pieces` yields.
    """
    texts, thoughts = list[str](), list[str]()
    for is_thought, text in texts_in(message):
        (thoughts if is_thought else texts).append(text)
    plain = "\n".join(texts)
    return PromptPart(name, plain + "\n".join(thoughts), plain)


def prompt_texts(body: Mapping[str, object]) -> dict[str, str]:
    """Return the text of each part of a request's prompt. The keys are the names of the parts, such
    as "message 3 (user)".
    """
    return {name: prompt_part(name, piece).text for name, piece in prompt_pieces(body)}


def _tool_name(tool: object) -> str:
    """Return the name of a tool in a request of any dialect; empty if it has none."""
    function = tool.get("function", tool) if isinstance(tool, Mapping) else {}
    return str(function.get("name", "")) if isinstance(function, Mapping) else ""


def strings_of(value: object, levels: float = inf) -> Iterator[str]:
    """Yield the strings in a JSON value, in their order, without the keys of objects. `levels`: how
    many levels of objects and lists are searched; deeper ones are left out.
    """
    left = [(value, levels)]
    while left:
        inner, deep = left.pop()
        if isinstance(inner, str):
            yield inner
        elif deep and isinstance(inner, dict | list):
            within = inner.values() if isinstance(inner, dict) else inner
            left += [(each, deep - 1) for each in reversed(within)]
