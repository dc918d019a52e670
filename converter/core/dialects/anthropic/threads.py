"""Keeps message threads: conversations whose earlier turns the server keeps for the client
(`anthropic-beta: message-threads-2026-08-12`). Here the addon keeps them, in its memory
(`core/model/memory.py`).

A request continues a thread by naming the id of the thread's last reply. Anthropic's SDKs use
threads by default in `tool_runner` and `thread()`, from 2.12 on. Two error codes tell the SDKs how
to go on: after `thread_not_found` they send the whole conversation again, after
`thread_unsupported_request` they continue without threads.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from converter.core.model.conversation import RequestError
from converter.core.model.memory import Memory
from converter.core.wire import json_text
from converter.core.wire.checked import Fields

CREATE_ONLY = ("system", "tools")
"""Fields that a thread takes from its first request; a later request cannot change them."""
UNKNOWN_THREAD = (
    "No thread is kept here for the message {!r}: it was never kept, or is no longer. "
    'Send the whole conversation with `thread: {{"type": "create"}}`.'
)
"""Error message for a thread that the memory does not have. `{}` stands for the id that the request
sent: the id of the thread's last reply.
"""
UNREADABLE = (
    "What is kept here of the thread of the message {!r} cannot be read. "
    'Send the whole conversation with `thread: {{"type": "create"}}`.'
)
"""Error message for a thread whose kept turns cannot be read. `{}` stands for the id that the
request sent: the id of the thread's last reply.
"""
UNSUPPORTED = "No threads are kept here: send the whole conversation without `thread`."
"""Error message for a request with a `thread` if the addon keeps no threads."""
MISMATCH = "{} cannot change within a thread: begin a new one to change it."
"""Error message for a later request of a thread that changes fields of `CREATE_ONLY`. `{}` stands
for the names of these fields.
"""
_KEY_PREFIX = "thread "
"""Prefix of the keys of threads in the memory, where other dialects keep entries, too."""


@dataclass(frozen=True, slots=True)
class Thread:
    """The thread that a request begins or continues."""

    memory: Memory
    """The memory that keeps the turns."""
    previous_id: str = ""
    """The id of the thread's last reply; empty if this request begins the thread."""
    kept_fields: Mapping[str, object] = field(default_factory=dict)
    """The fields of this request that are kept: its new messages, and, if it begins the thread, the
    fields `CREATE_ONLY`.
    """

    def keep(self, reply: Mapping[str, object]) -> None:
        """Keep a reply, together with the kept fields of its request, under the reply's id."""
        turn = {"role": "assistant", "content": reply["content"]}
        value = json_text.write({**self.kept_fields, "reply": turn})
        previous = self.previous_id and _KEY_PREFIX + self.previous_id
        self.memory.keep(f"{_KEY_PREFIX}{reply['id']}", value, previous)


def _thread_error(problem: str, code: str, status: int = 400, **details: object) -> RequestError:
    """Return the error of a request whose thread cannot go on. SDKs read `code` and `details`, and
    by them decide how to go on.
    """
    return RequestError("thread", problem, status, error_code=code, **details)


def unsupported_error() -> RequestError:
    """Return the error for a request with a `thread` if the addon keeps no threads. It makes the
    SDKs continue without threads.
    """
    return _thread_error(UNSUPPORTED, "thread_unsupported_request", unsupported=["thread"])


def request_without_thread(body: Mapping[str, object]) -> Mapping[str, object]:
    """Return the request unchanged if it has no `thread`; else raise RequestError. The check is for
    a request that goes to a server's own Messages endpoint: such a server ignores `thread` and
    would answer without the earlier turns.
    """
    if body.get("thread") is not None:
        raise unsupported_error()
    return body


def with_kept_turns(body: object, memory: Memory) -> tuple[object, Thread | None]:
    """Return the request as a whole conversation, and its thread.

    If the request continues a thread, the kept turns are put before its messages, and the thread's
    `system` and `tools` are added. A request that begins a thread is returned as it is; so is a
    request without a thread, with None as its thread. Raises RequestError if the memory keeps
    nothing, does not have this thread or cannot read it, or if the request changes a field of
    `CREATE_ONLY`.
    """
    request = Fields(body)
    thread = request.child("thread")
    if thread is None:
        return body, None
    if not memory.bounds.keeps:
        raise unsupported_error()
    if thread.one_of("type", ("create", "continue")) == "create":
        return body, Thread(memory, kept_fields=_kept_fields(request.values, *CREATE_ONLY))
    previous = thread.required("previous_message_id", str)
    history = memory.history(_KEY_PREFIX + previous)
    if not history:
        raise _thread_error(UNKNOWN_THREAD.format(previous), "thread_not_found", 404)
    entries: list[dict[str, Any]] = [*map(json_text.object_in, history)]
    shapes = (("messages", list), ("reply", dict))
    if not all(isinstance(entry.get(name), kind) for entry in entries for name, kind in shapes):
        raise _thread_error(UNREADABLE.format(previous), "thread_not_found", 404)
    fields = request.values
    created = {name: entries[0][name] for name in CREATE_ONLY if name in entries[0]}
    changed = [name for name in CREATE_ONLY if fields.get(name) not in (None, created.get(name))]
    if changed:
        names = " and ".join(f"`{name}`" for name in changed)
        raise _thread_error(MISMATCH.format(names), "thread_fingerprint_mismatch")
    earlier = [turn for entry in entries for turn in (*entry["messages"], entry["reply"])]
    own = request.optional("messages", list) or []
    whole = {**fields, **created, "messages": [*earlier, *own]}
    return whole, Thread(memory, previous, _kept_fields(fields))


def _kept_fields(body: Mapping[str, object], *names: str) -> dict[str, object]:
    """Return the fields of a request that its thread keeps: the messages and the fields `names`."""
    return {name: body[name] for name in (*names, "messages") if name in body}
