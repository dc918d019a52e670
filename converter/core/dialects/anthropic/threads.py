"""Message threads: conversations that a client leaves with the server (`anthropic-beta:
message-threads-2026-08-12`).

A request goes on with a conversation by the id of the last reply. Anthropic's SDKs do so unasked,
in `tool_runner` and `thread()`, from 2.12 on. An unknown thread is refused with the code on which
the SDKs send the whole conversation again; a request that cannot be threaded with the code on which
they go on without threads.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from converter.core.model.conversation import RequestError
from converter.core.model.memory import Memory
from converter.core.wire import json_text
from converter.core.wire.checked import Fields

CREATE_ONLY = ("system", "tools")
"""Fields that a thread keeps from its first request."""
UNKNOWN_THREAD = (
    "No thread is kept here for the message {!r}: it was never kept, or is no longer. "
    'Send the whole conversation with `thread: {{"type": "create"}}`.'
)
UNREADABLE = (
    "What is kept here of the thread of the message {!r} cannot be read. "
    'Send the whole conversation with `thread: {{"type": "create"}}`.'
)
UNSUPPORTED = "No threads are kept here: send the whole conversation without `thread`."
MISMATCH = "{} cannot change within a thread: begin a new one to change it."
_PREFIX = "thread "
"""Begins the keys in the memory, which other dialects use, too."""


@dataclass(frozen=True, slots=True)
class Thread:
    """The thread that a request begins or goes on with.

    Attributes:
        own: the request's part of it.
        previous: the id of the reply before, empty at the beginning.
    """

    memory: Memory
    previous: str = ""
    own: Mapping[str, object] = field(default_factory=dict)

    def keep(self, reply: Mapping[str, object]) -> None:
        """Keep the reply with its request, under its id."""
        turn = {"role": "assistant", "content": reply["content"]}
        value = json_text.write({**self.own, "reply": turn})
        previous = self.previous and _PREFIX + self.previous
        self.memory.keep(f"{_PREFIX}{reply['id']}", value, previous)


def _error(problem: str, code: str, status: int = 400, **details: object) -> RequestError:
    """Return the error of a thread that cannot go on; the client's SDK acts on the details."""
    return RequestError("thread", problem, status, error_code=code, **details)


def unsupported() -> RequestError:
    """Return the error of a server that keeps no threads."""
    return _error(UNSUPPORTED, "thread_unsupported_request", unsupported=["thread"])


def complete(body: object, memory: Memory) -> tuple[object, Thread | None]:
    """Return the request with its thread's conversation put in front, and the thread, if the
    request names a thread or asks for a new thread. Raises RequestError.
    """
    request = Fields(body)
    thread = request.child("thread")
    if thread is None:
        return body, None
    if not memory.bounds.keeps:
        raise unsupported()
    if thread.one_of("type", ("create", "continue")) == "create":
        return body, Thread(memory, own=_kept(request.values, *CREATE_ONLY))
    previous = thread.required("previous_message_id", str)
    whole = _continued(memory, previous, request.values)
    return whole, Thread(memory, previous, _kept(request.values))


def _kept(body: Mapping[str, object], *names: str) -> dict[str, object]:
    return {name: body[name] for name in (*names, "messages") if name in body}


def _continued(memory: Memory, previous: str, body: Mapping[str, object]) -> dict[str, object]:
    history = memory.history(_PREFIX + previous)
    if not history:
        raise _error(UNKNOWN_THREAD.format(previous), "thread_not_found", 404)
    entries: list[dict[str, Any]] = [*map(json_text.object_in, history)]
    shapes = (("messages", list), ("reply", dict))
    if not all(isinstance(entry.get(name), kind) for entry in entries for name, kind in shapes):
        raise _error(UNREADABLE.format(previous), "thread_not_found", 404)
    created = {name: entries[0][name] for name in CREATE_ONLY if name in entries[0]}
    if changed := [name for name in CREATE_ONLY if body.get(name) not in (None, created.get(name))]:
        names = " and ".join(f"`{name}`" for name in changed)
        raise _error(MISMATCH.format(names), "thread_fingerprint_mismatch")
    earlier = [turn for entry in entries for turn in (*entry["messages"], entry["reply"])]
    own = Fields(body).optional("messages", list) or []
    return {**body, **created, "messages": [*earlier, *own]}
