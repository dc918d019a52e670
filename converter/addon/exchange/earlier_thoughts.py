"""Thoughts of earlier turns: kept for clients that drop them, and put back into a chat completion.

The thoughts of a reply are kept under a hash of the whole conversation up to and with that reply. A
later request gets them back where it has the same messages up to the same reply. So a fork has the
thoughts of its trunk, an edited message ends them, and no thought reaches another conversation. Of
two replies with the same text and different thoughts neither gets its thoughts back, because a
later request does not show which of the two it means.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Never

from converter.addon.servers.chat_templates import TemplateHistory
from converter.core.dialects.server_fields import TEMPLATE
from converter.core.dialects.table import join_texts
from converter.core.model import thought_fields
from converter.core.model.conversation import TextBlock, ToolUse
from converter.core.model.events import Event, Thinking, ThinkingEnd
from converter.core.model.memory import Memory, utf8
from converter.core.model.raw_messages import (
    begun_message,
    content_of,
    content_texts,
    messages_of,
    role_of,
    with_messages,
)
from converter.core.reply.growing_blocks import GrowingBlocks
from converter.core.wire import json_text
from converter.core.wire.bounds import LONGEST_THOUGHT
from converter.core.wire.json_text import as_object, objects

type HashOf = Callable[[bytes, object, Callable[[], bytes]], bytes]
"""Takes the hash of a conversation, its next message, and a function that makes the hash of both.
"""

_KEY = "thoughts "
"""Begins the ids of kept thoughts in the memory."""
_LINE_ENDS = "\r\n"
_NOTES = {
    "thoughts_put_back": "put back",
    "thoughts_unknown": "no longer kept",
    "thoughts_unreadable": "kept in a format that this version cannot read, and left out",
}
"""The words for the counts of a summary."""


DISPUTED = b"{}"
"""The entry of a conversation that has several replies with the same text and different thoughts.
"""


@dataclass(slots=True)
class ReplyPosition:
    """The position of a reply in its conversation.

    Attributes:
        memory: keeps the thoughts.
        model: the model's name.
        before: the hash of all messages before the reply.
        join: joins the texts of the reply to one content, as the client's next request has it.
    """

    memory: Memory
    model: str
    before: bytes
    join: Callable[[Iterable[str]], str]
    _events: list[Sequence[Event]] = field(default_factory=list)
    _thoughts: list[str] = field(default_factory=list)

    def add(self, events: Sequence[Event], thoughts: Iterable[Mapping[str, object]]) -> None:
        """Add the events that the client was sent, and the thoughts that ended in them."""
        self._events.append(events)
        self._thoughts += (str(event["thought"]) for event in thoughts)

    def keep(self) -> None:
        """Keep the thoughts of a reply that is over. Nothing is kept of several choices, or of a
        thought longer than the longest that is recorded.
        """
        events = [event for some in self._events for event in some]
        cut = any(len(thought) >= LONGEST_THOUGHT for thought in self._thoughts)
        if cut or any(getattr(event, "choice", 0) for event in events):
            return
        texts, calls = _folded(events)
        text = self.join(texts)
        message = {"role": "assistant", "content": text, "tool_calls": calls}
        if text.strip() or message["tool_calls"]:
            thinking, written = join_texts(self._thoughts), _written(events)
            whole = written if written.strip(_LINE_ENDS) == thinking else thinking
            key = _key(_after(self.before, message), self.model)
            value = json_text.write({"thinking": whole, "text": text})
            self.memory.keep_agreed(key, value, disputed=DISPUTED)


def _folded(events: Iterable[Event]) -> tuple[list[str], list[Mapping[str, object]]]:
    """Return the texts of a reply, one for each block, and its calls, as a message holds them."""
    blocks = GrowingBlocks[Never]()
    for event in events:
        if not isinstance(event, ThinkingEnd):  # behind a thought of blanks the text goes on
            blocks.feed(event)
    parts = blocks.parts()
    calls: list[Mapping[str, object]] = [
        {"id": part.id, "function": {"name": part.name, "arguments": part.arguments}}
        for part in parts
        if isinstance(part, ToolUse)
    ]
    return [part.text for part in parts if isinstance(part, TextBlock)], calls


def _written(events: Iterable[Event]) -> str:
    """Return the one thought of a reply as the client was sent it, with the line ends around it."""
    written, around = list[str](), ("", "")
    for event in events:
        if isinstance(event, Thinking):
            written.append(event.text)
        elif isinstance(event, ThinkingEnd):
            around = event.around
    return "".join(written).join(around)


@dataclass(frozen=True, slots=True)
class EarlierThoughts:
    """The earlier thoughts of a request.

    Attributes:
        restored: how many thoughts were put back.
        unknown: how many replies have no entry in the memory any more.
        unreadable: how many entries have another shape, because another version or a damaged file
            wrote them.
        position: the position at which the thoughts of the new reply are kept.
    """

    restored: int = 0
    unknown: int = 0
    unreadable: int = 0
    position: ReplyPosition | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes for a person, a line each."""
        return tuple(
            f"{count} earlier thought{'s' if count > 1 else ''} {_NOTES[name]}"
            for name, count in self.facts.items()
        )

    @property
    def facts(self) -> dict[str, int]:
        """The counts of a summary, without zeros."""
        counts = zip(_NOTES, (self.restored, self.unknown, self.unreadable), strict=True)
        return {name: count for name, count in counts if count}


def restore(
    body: Mapping[str, object],
    history: TemplateHistory,
    memory: Memory,
    join: Callable[[Iterable[str]], str] = "".join,
    hash_of: HashOf | None = None,
) -> tuple[Mapping[str, object], EarlierThoughts]:
    """Return the request with the thoughts that its client has dropped, and their counts. A request
    that brings any thought stays as it is, and nothing is kept of its reply.

    `join`: see `ReplyPosition`. `hash_of`: looks hashes up that were made for the request before.
    """
    messages, model = _messages(body), str(body.get("model") or "")
    if any(map(_thinks, messages)):
        return body, EarlierThoughts()
    digest = b""
    user_turns = (at for at, message in enumerate(messages) if role_of(message) == "user")
    begin = max(user_turns, default=-1) if history.loop else -1  # behind the user's last message
    whole, restored, unknown, unreadable = list(messages), 0, 0, 0
    for at, message in enumerate(messages):
        if hash_of:
            digest = hash_of(digest, message, partial(_after, digest, message))
        else:
            digest = _after(digest, message)
        if begin < at < len(messages) - 1 and _is_reply(message):
            value = memory.get(_key(digest, model))
            kept = _read(value)
            damaged = kept is None and value not in (None, DISPUTED)
            restored += bool(kept and kept[0])
            unknown += kept is None and not damaged
            unreadable += damaged
            whole[at] = _with(message, *kept, history) if kept and kept[0] else message
    begun = begun_message(body) is not None  # the reply continues this message
    position = None if begun else ReplyPosition(memory, model, digest, join)
    changed = with_messages(body, whole) if restored else body
    return changed, EarlierThoughts(restored, unknown, unreadable, position)


def switched(body: Mapping[str, object], history: TemplateHistory) -> Mapping[str, object]:
    """Return the request with the switches without which its template drops the thoughts in it.
    Switches that the client sends count for more.
    """
    if not any(message.get(history.form) for message in _messages(body)):
        return body
    switches = {**history.switches, **as_object(body.get(TEMPLATE))}
    return {**body, TEMPLATE: switches} if switches else body


def _messages(body: Mapping[str, object]) -> list[Mapping[str, object]]:
    return [*map(as_object, messages_of(body))]


def _thinks(message: Mapping[str, object]) -> bool:
    """Return True if an assistant's message brings a thought."""
    if role_of(message) != "assistant":
        return False
    return any(map(message.get, thought_fields.FIELDS)) or any(
        part.get("type") in thought_fields.PARTS for part in objects(content_of(message))
    )


def _is_reply(message: Mapping[str, object]) -> bool:
    if role_of(message) != "assistant":
        return False
    return bool(message.get("tool_calls") or "".join(content_texts(message)).strip())


def _after(digest: bytes, message: Mapping[str, object]) -> bytes:
    """Return the hash of a conversation with one more message. Of a reply the text and the calls
    count, without the blanks around the text, because clients strip these.
    """
    role, content = role_of(message), content_of(message)
    if role == "assistant":
        called = message.get("tool_calls")
        beside: object = [_call(call) for call in called] if isinstance(called, list) else []
        content = "".join(content_texts(message)).strip()
    else:
        beside = (role, message.get("name"), message.get("tool_call_id"))
    text = content if isinstance(content, str) else ""
    others = None if isinstance(content, str) else content
    head = f"{beside!r} {others!r} {len(text)} "
    return hashlib.sha1(digest + utf8(head + text), usedforsecurity=False).digest()


def _call(call: object) -> list[object]:
    """Return a call's id, name and arguments. The arguments are sorted, because a client may parse
    them and write them anew.
    """
    fields = as_object(call)
    inner = as_object(fields.get("function") or fields.get("custom"))
    arguments = inner.get("arguments") or inner.get("input") or "{}"
    try:
        read = json.loads(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        read = None
    in_order = sorted(read.items()) if isinstance(read, dict) else arguments
    return [fields.get("id"), inner.get("name"), in_order]


def _key(digest: bytes, model: str) -> str:
    return f"{_KEY}{digest.hex()} {model}"


def _read(value: bytes | None) -> tuple[str, str] | None:
    """Return the thought and the text of an entry; `None` if there is no entry, a disputed one, or
    one of another shape.
    """
    if value is None:
        return None
    match json_text.read_or_none(value):
        case {"thinking": str(thinking), "text": str(text)}:
            return thinking, text
    return None


def _with(
    message: Mapping[str, object], thinking: str, text: str, history: TemplateHistory
) -> Mapping[str, object]:
    """Return a message with its thought, so that the template writes what the model had written."""
    if history.form == "tags":
        return {**message, "content": join_texts([f"<think>{thinking}</think>", text])}
    if not history.exact:
        thinking, text = thinking.strip(_LINE_ENDS), text.lstrip(_LINE_ENDS)
        text = text.rstrip(_LINE_ENDS) if message.get("tool_calls") else text
    own = {"content": text} if isinstance(content_of(message), str) else {}
    return {**message, **own, history.form: thinking}
