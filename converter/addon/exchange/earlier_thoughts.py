"""Thoughts of earlier turns, for clients that drop them: a `ReplyPosition` keeps a reply's thoughts
in the memory, and `restore_thoughts` puts them back into a later chat-completions request and
counts them (`EarlierThoughts`).

The thoughts of a reply are kept in the memory under the model's name and a hash of all messages of
the conversation, from the first up to the reply. A later request to this model gets the thoughts
back if it begins with the same messages. So a conversation that was forked gets the thoughts from
before the fork. No thought is put back behind a message that the client has edited, or into another
conversation.

If the same messages have two replies with the same text and different thoughts, neither thought is
put back, because a later request does not show which reply it has.
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
"""Takes the hash of all messages before a message, the message, and a function that computes the
hash with this message. Returns the hash with this message: one that it has kept since the last
request, or the function's result.
"""

_ID_PREFIX = "thoughts "
"""Prefix of the ids of kept thoughts in the memory."""
_LINE_ENDS = "\r\n"
"""The characters of line ends, as they are stripped from thoughts and texts."""
_NOTES = {"thoughts_put_back": "put back", "thoughts_unknown": "no longer kept"}
"""Name of a count in a reply's summary -> the end of its line for people, as in `2 earlier thoughts
put back`.
"""
DISPUTED = b"{}"
"""The value of an entry in the memory if the same messages have several replies with the same text
and different thoughts.
"""


@dataclass(slots=True)
class ReplyPosition:
    """A reply that is being sent, with its position in the conversation. Collects the reply's
    events and thoughts, and at the end keeps the thoughts in the memory.
    """

    memory: Memory
    """The store that keeps the thoughts."""
    model: str
    """The model's name in the request."""
    hash_before: bytes
    """The hash of all messages before the reply."""
    join_blocks: Callable[[Iterable[str]], str]
    """Joins the texts of the reply's blocks of text into one string, as the client will do for this
    message's `content` in its next request.
    """
    _events: list[Sequence[Event]] = field(default_factory=list)
    """The reply's events so far, a sequence for each chunk."""
    _thoughts: list[str] = field(default_factory=list)
    """The texts of the thoughts that have ended."""

    def add(self, events: Sequence[Event], thoughts: Iterable[Mapping[str, object]]) -> None:
        """Add the events of one chunk of the reply, and the thoughts that end in this chunk. Each
        thought is a mapping, with its text under the key `thought`.
        """
        self._events.append(events)
        self._thoughts += (str(event["thought"]) for event in thoughts)

    def keep(self) -> None:
        """Store the thoughts of the finished reply in the memory, an empty text if it has none.
        Store nothing if the reply has several choices, if it has neither text nor calls, or if one
        of its thoughts has `LONGEST_THOUGHT` characters or more.
        """
        events = [event for some in self._events for event in some]
        cut = any(len(thought) >= LONGEST_THOUGHT for thought in self._thoughts)
        if cut or any(getattr(event, "choice", 0) for event in events):
            return
        blocks, pieces, around = GrowingBlocks[Never](), list[str](), ("", "")
        for event in events:
            if isinstance(event, ThinkingEnd):
                # `blocks` does not get a `ThinkingEnd`: the end of a thought that has only blanks
                # would divide the text around it into two blocks.
                around = event.around
                continue
            blocks.feed(event)
            if isinstance(event, Thinking):
                pieces.append(event.text)
        parts = blocks.parts()
        text = self.join_blocks(part.text for part in parts if isinstance(part, TextBlock))
        calls = [
            {"id": part.id, "function": {"name": part.name, "arguments": part.arguments}}
            for part in parts
            if isinstance(part, ToolUse)
        ]
        if text.strip() or calls:
            message = {"role": "assistant", "content": text, "tool_calls": calls}
            # `written` is the thinking with the line ends that the model wrote around it. It is
            # kept if it differs from `thinking` in these line ends alone.
            thinking, written = join_texts(self._thoughts), "".join(pieces).join(around)
            whole = written if written.strip(_LINE_ENDS) == thinking else thinking
            key = _entry_id(_next_hash(self.hash_before, message), self.model)
            value = json_text.write({"thinking": whole, "text": text})
            self.memory.keep_agreed(key, value, disputed=DISPUTED)


@dataclass(frozen=True, slots=True)
class EarlierThoughts:
    """The result of `restore_thoughts`: how many earlier thoughts were put back, how many the
    memory lacks, and the `ReplyPosition` that will keep the thoughts of this request's own reply.
    """

    restored_thoughts: int = 0
    """How many thoughts were put back."""
    unknown_replies: int = 0
    """How many earlier replies of the conversation have no thought in the memory: there is no
    entry, the entry is `DISPUTED`, or it cannot be read because the store is damaged.
    """
    position: ReplyPosition | None = None
    """Collects this request's reply, and keeps its thoughts in the memory; `None`: they are not
    kept.
    """

    @property
    def notes(self) -> tuple[str, ...]:
        """A line for the log for each count that is not zero: `2 earlier thoughts put back`."""
        return tuple(
            f"{count} earlier thought{'s' if count > 1 else ''} {_NOTES[name]}"
            for name, count in self.facts.items()
        )

    @property
    def facts(self) -> dict[str, int]:
        """Name of a count in the reply's summary -> the count, without counts of zero."""
        counts = zip(_NOTES, (self.restored_thoughts, self.unknown_replies), strict=True)
        return {name: count for name, count in counts if count}


NO_EARLIER = EarlierThoughts()
"""The counts for a request in which no earlier thoughts were looked up."""


def restore_thoughts(
    body: Mapping[str, object],
    history: TemplateHistory,
    memory: Memory,
    join: Callable[[Iterable[str]], str] = "".join,
    hash_of: HashOf | None = None,
) -> tuple[Mapping[str, object], EarlierThoughts]:
    """Return the body of a chat-completions request with the thoughts that its client has dropped,
    and an `EarlierThoughts`: the counts of these thoughts, and what will keep the reply's own.

    The request stays unchanged, and the thoughts of its reply are not kept, if the memory keeps
    nothing, or if the request has any thought: then the client keeps thoughts itself.

    `history`: which earlier thoughts the model's chat template reads, and in which field. `join`:
    joins the texts of the reply's blocks (`ReplyPosition.join_blocks`). `hash_of`: returns the
    hash of the messages up to one, from a cache if they are repeated; `None`: there is no cache.
    """
    messages, model = _messages(body), str(body.get("model") or "")
    if not memory.bounds.keeps or any(map(_has_thought, messages)):
        return body, NO_EARLIER
    digest = b""
    user_turns = (at for at, message in enumerate(messages) if role_of(message) == "user")
    # `history.loop`: the chat template reads only the thoughts behind the last user message
    begin = max(user_turns, default=-1) if history.loop else -1
    whole, restored, unknown = list(messages), 0, 0
    for at, message in enumerate(messages):
        if hash_of:
            digest = hash_of(digest, message, partial(_next_hash, digest, message))
        else:
            digest = _next_hash(digest, message)
        if begin < at < len(messages) - 1 and _is_reply(message):
            kept = _read_entry(memory.get(_entry_id(digest, model)))
            unknown += kept is None
            if kept and kept[0]:
                restored += 1
                whole[at] = _with_thought(message, *kept, history)
    # If the last message is the assistant's, the reply is only the rest of this message, and its
    # thoughts are not kept.
    begun = begun_message(body) is not None
    position = None if begun else ReplyPosition(memory, model, digest, join)
    changed = with_messages(body, whole) if restored else body
    return changed, EarlierThoughts(restored, unknown, position)


def with_switches(body: Mapping[str, object], history: TemplateHistory) -> Mapping[str, object]:
    """Return a request's fields with the entries of `chat_template_kwargs` without which the
    model's chat template would drop earlier thoughts (`TemplateHistory.switches`). An entry that
    the client has set keeps its value. Return `body` itself if no message has a thought in the
    template's field (`history.form`).
    """
    if not any(message.get(history.form) for message in _messages(body)):
        return body
    switches = {**history.switches, **as_object(body.get(TEMPLATE))}
    return {**body, TEMPLATE: switches} if switches else body


def _messages(body: Mapping[str, object]) -> list[Mapping[str, object]]:
    """Return the messages of a request as mappings; a message that is no JSON object is empty."""
    return [*map(as_object, messages_of(body))]


def _has_thought(message: Mapping[str, object]) -> bool:
    """Return True if the message is the assistant's and has a thought, in a field or a part."""
    if role_of(message) != "assistant":
        return False
    return any(map(message.get, thought_fields.FIELDS)) or any(
        part.get("type") in thought_fields.PARTS for part in objects(content_of(message))
    )


def _is_reply(message: Mapping[str, object]) -> bool:
    """Return True if the message is the assistant's and has calls or text."""
    if role_of(message) != "assistant":
        return False
    return bool(message.get("tool_calls") or "".join(content_texts(message)).strip())


def _next_hash(digest: bytes, message: Mapping[str, object]) -> bytes:
    """Return the hash of a conversation from its first message up to and with `message`. `digest`:
    the hash of all messages before it. Of an assistant's message only the calls and the stripped
    text are hashed, because some clients strip the text before they send it again.
    """
    role, content = role_of(message), content_of(message)
    if role == "assistant":
        called = message.get("tool_calls")
        beside: object = [_call_values(call) for call in called] if isinstance(called, list) else []
        content = "".join(content_texts(message)).strip()
    else:
        beside = (role, message.get("name"), message.get("tool_call_id"))
    text = content if isinstance(content, str) else ""
    others = None if isinstance(content, str) else content
    head = f"{beside!r} {others!r} {len(text)} "
    return hashlib.sha1(digest + utf8(head + text), usedforsecurity=False).digest()


def _call_values(call: object) -> list[object]:
    """Return a call's id, name and arguments, so that they equal those of the same call in a later
    request. Arguments that are a JSON object become its sorted entries, because a client may write
    them in another order; any others stay as they are.
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


def _entry_id(digest: bytes, model: str) -> str:
    """Return the id of the memory's entry with the thoughts of one reply. `digest`: the hash of the
    conversation from its first message up to and with the reply.
    """
    return f"{_ID_PREFIX}{digest.hex()} {model}"


def _read_entry(value: bytes | None) -> tuple[str, str] | None:
    """Return the thought and the text of the reply that an entry of the memory holds. Return `None`
    if there is no entry (`value` is `None`), or if the entry is `DISPUTED` or damaged.
    """
    match json_text.read_or_none(value or b""):
        case {"thinking": str(thinking), "text": str(text)}:
            return thinking, text
    return None


def _with_thought(
    message: Mapping[str, object], thinking: str, text: str, history: TemplateHistory
) -> Mapping[str, object]:
    """Return an assistant's message with its thought (`thinking`), in the field or the tags that
    the chat template reads (`history.form`). `text`, the kept text of the reply, replaces a content
    that is a string. Both have the line ends that the model wrote around them. If the template
    reads a field and adds line ends itself, these are removed, so that the prompt has them once.
    """
    if history.form == "tags":
        return {**message, "content": join_texts([f"<think>{thinking}</think>", text])}
    if not history.exact:
        thinking, text = thinking.strip(_LINE_ENDS), text.lstrip(_LINE_ENDS)
        text = text.rstrip(_LINE_ENDS) if message.get("tool_calls") else text
    own = {"content": text} if isinstance(content_of(message), str) else {}
    return {**message, **own, history.form: thinking}
