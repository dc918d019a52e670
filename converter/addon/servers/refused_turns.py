"""Rewrites chat-completions requests for chat templates that refuse the order of the turns, or an
assistant turn at the end (a prefill, which the model continues). `TRAITS` in `refusals.py` names
the trait that each function removes.

Orders that some templates refuse are a system turn behind other turns, and two neighbouring turns
of one role. Each function returns `body` itself if the request does not have the refused form.
"""

from collections.abc import Mapping
from typing import Any

from converter.addon.servers.profiles import SWITCHES_OFF, by_name
from converter.core.dialects.server_fields import with_template
from converter.core.dialects.table import join_texts, request_writer
from converter.core.model.raw_messages import (
    SYSTEM,
    begun_message,
    content_texts,
    messages_of,
    role_of,
    with_messages,
)

_CONTINUES: Mapping[str, object] = by_name("vllm").prefill
"""Body fields with which vLLM continues an assistant turn at the request's end."""


def _ends_with_prefill(body: Mapping[str, object]) -> bool:
    """Return True if the last turn of the request is an assistant turn without calls, a prefill,
    which the model continues.
    """
    begun = begun_message(body)
    return begun is not None and not begun.get("tool_calls")


def without_thought_behind_prefill(body: Mapping[str, object]) -> Mapping[str, object]:
    """Return a chat-completions request with thinking off, if it ends with a prefill, because some
    servers refuse a prefill with thinking on.
    """
    if not _ends_with_prefill(body):
        return body
    return with_template(body, SWITCHES_OFF)


def with_continuation(body: Mapping[str, object]) -> Mapping[str, object]:
    """Return a chat-completions request with the fields that make vLLM continue its last turn, if
    this turn is a prefill.
    """
    return {**body, **_CONTINUES} if _ends_with_prefill(body) else body


def with_one_begun_turn(body: Mapping[str, object]) -> Mapping[str, object]:
    """Return a chat-completions request with the assistant turns at its end joined into one. A turn
    that has more than role and content (such as calls) is not joined, nor are the turns before it.
    """
    messages = [*messages_of(body)]
    while len(messages) > 1 and role_of(messages[-2]) == "assistant" and _ends_with_prefill(body):
        joint = _joined_turn(messages[-2], messages[-1])
        if joint is None:
            break
        messages[-2:] = [joint]
    return _with_turns(body, messages)


def with_one_system_turn(body: Mapping[str, object]) -> Mapping[str, object]:
    """Return a chat-completions request with at most one system turn, which is the first turn.
    System turns at the beginning are joined. A later system turn becomes text of a user turn in its
    position; one without text is left out.
    """
    messages = [*messages_of(body)]
    first = next((at for at, one in enumerate(messages) if role_of(one) not in SYSTEM), None)
    head, rest = messages[:first], messages[len(messages[:first]) :]
    texts = (join_texts(content_texts(message)) for message in head)
    system: list[object] = [{"role": "system", "content": join_texts(texts)}] if head else []
    out = list[object]()
    for message in rest:
        if role_of(message) not in SYSTEM:
            out.append(message)
        elif text := join_texts(content_texts(message)):
            turn: dict[str, Any] = {
                "role": "user",
                "content": request_writer.INLINE_SYSTEM.format(text),
            }
            joint = _joined_turn(out[-1], turn) if out and role_of(out[-1]) == "user" else None
            out[-1 if joint else len(out) :] = [joint or turn]
    return _with_turns(body, [*system, *out])


def with_alternating_turns(body: Mapping[str, object]) -> Mapping[str, object]:
    """Return a chat-completions request in which user and assistant turns alternate: neighbouring
    turns of one role are joined, except turns that have more than role and content (such as calls).
    System turns are changed as by `with_one_system_turn`.
    """
    out = list[object]()
    for message in messages_of(with_one_system_turn(body)):
        alike = bool(out) and role_of(out[-1]) == role_of(message) in ("user", "assistant")
        joint = _joined_turn(out[-1], message) if alike else None
        out[-1 if joint else len(out) :] = [joint or message]
    return _with_turns(body, out)


def _with_turns(body: Mapping[str, object], messages: list[object]) -> Mapping[str, object]:
    """Return the request with `messages` as its messages; `body` itself if it has them already."""
    return body if messages == [*messages_of(body)] else with_messages(body, messages)


def _joined_turn(one: object, other: object) -> dict[str, Any] | None:
    """Return one turn with the contents of two turns of the same role, `one` before `other`; `None`
    if a turn has fields beside its role and content, such as calls.
    """
    if not (isinstance(one, dict) and isinstance(other, dict)):
        return None
    if any(message.keys() - {"role", "content"} for message in (one, other)):
        return None
    first, second = one.get("content"), other.get("content")
    if isinstance(first, str) and isinstance(second, str):
        return {**one, "content": join_texts((first, second))}
    return {**one, "content": [*_content_parts(first), *_content_parts(second)]}


def _content_parts(content: object) -> list[object]:
    """Return a message's content as a list of parts: `"Hi"` -> `[{"type": "text", "text": "Hi"}]`.
    Empty for no content.
    """
    if isinstance(content, list):
        return content
    return [{"type": "text", "text": content}] if content else []
