"""Rewrites chat-completions requests for servers that refuse a message's form, a request without a
user turn, the response format, or a forced call. `TRAITS` in `refusals.py` names the trait that
each function removes; `refused_turns.py` mends the order of turns.

Each function returns `body` itself if the request does not have the refused form.
"""

from collections.abc import Iterable, Mapping
from functools import partial

from converter.addon.servers.earlier_calls import with_object_arguments, with_short_ids
from converter.addon.servers.profiles import SWITCHES_OFF
from converter.core.dialects.request_facts import forces_call
from converter.core.dialects.server_fields import EFFORT, with_template
from converter.core.dialects.table import join_texts, request_writer
from converter.core.model.conversation import Image
from converter.core.model.raw_messages import (
    SYSTEM,
    content_parts,
    content_texts,
    map_messages,
    messages_of,
    role_of,
    with_messages,
)
from converter.core.wire.json_text import as_object

GO_ON = "Go on."
"""The text of the user turn that is added to a request without user turns, because some chat
templates demand one.
"""
_FIELD, NO_THOUGHT = "reasoning_content", " "
"""The field of an assistant turn that has its thought, and the value of this field for a turn
without a thought, for servers that demand the field. The value is a blank, because some servers
refuse an empty text.
"""


def with_user_turn(body: Mapping[str, object]) -> Mapping[str, object]:
    """Return a chat-completions request with a user turn behind its system turns, if it has no user
    turn.
    """
    messages = [*messages_of(body)]
    roles = [*map(role_of, messages)]
    if "user" in roles:
        return body
    first = next((at for at, role in enumerate(roles) if role not in SYSTEM), len(roles))
    return with_messages(
        body, [*messages[:first], {"role": "user", "content": GO_ON}, *messages[first:]]
    )


def with_thoughts(body: Mapping[str, object]) -> Mapping[str, object]:
    """Return a chat-completions request in which each assistant turn has the field
    `reasoning_content`: a turn in which it is missing or empty gets a blank.
    """

    def with_thought(message: object) -> object:
        """Return a message with a blank as its thought, if it is the assistant's and lacks one."""
        lacks = role_of(message) == "assistant" and not as_object(message).get(_FIELD)
        return {**as_object(message), _FIELD: NO_THOUGHT} if lacks else message

    return map_messages(body, with_thought)


def without_nulls(body: Mapping[str, object]) -> Mapping[str, object]:
    """Return a chat-completions request with an empty text for each `content` that is null."""

    def without_null(message: object) -> object:
        """Return a message with an empty text as its content, if its content is null."""
        is_null = as_object(message).get("content", "") is None
        return {**as_object(message), "content": ""} if is_null else message

    return map_messages(body, without_null)


def with_rewritten_arguments(body: Mapping[str, object]) -> Mapping[str, object]:
    """Return a chat-completions request in which the arguments of each call are parsed and
    rewritten, because a server's JSON parser may refuse JSON that Python's parser takes.
    """
    return _as_new_request(map_messages(body, partial(with_object_arguments, anew=True)))


def with_new_short_ids(body: Mapping[str, object]) -> Mapping[str, object]:
    """Return a chat-completions request whose calls have ids of nine letters and digits, because
    Mistral's servers refuse other ids.
    """
    return _as_new_request(with_short_ids(body))


def _as_new_request(body: Mapping[str, object]) -> Mapping[str, object]:
    """Return a copy of a request that has calls, and `body` itself if it has none. A refused
    request is sent again only if a change returns another object than the request. A copy is
    another object, so it is sent again even if the two are equal.
    """
    return dict(body) if any("tool_calls" in as_object(one) for one in messages_of(body)) else body


def with_pictures_in_user_turns(body: Mapping[str, object]) -> Mapping[str, object]:
    """Return a chat-completions request whose tool messages have only text. Their pictures and
    other parts follow in a user turn behind the results.
    """
    out, waiting = list[object](), list[object]()
    name = request_writer.NAMES[Image]
    for message in messages_of(body):
        if role_of(message) != "tool":
            out += [*_user_turns(waiting), message]
            waiting = []
            continue
        parts = [part for part in content_parts(message) if "text" not in as_object(part)]
        if not parts:
            out.append(message)
            continue
        # In place of each picture, the tool's message says that it follows in the user turn. There,
        # a text before each picture names the call that it comes from.
        below = [request_writer.BELOW.format(name) for _ in parts]
        text = join_texts([*content_texts(message), *below])
        out.append({**as_object(message), "content": text})
        called = as_object(message).get("tool_call_id")
        above = {"type": "text", "text": request_writer.ABOVE.format(name, called)}
        waiting += [each for part in parts for each in (above, part)]
    out += _user_turns(waiting)
    return body if out == [*messages_of(body)] else with_messages(body, out)


def _user_turns(parts: Iterable[object]) -> list[object]:
    """Return a list of one user turn with these parts; an empty list if there are no parts."""
    content = [*parts]
    return [{"role": "user", "content": content}] if content else []


def with_json_object_format(body: Mapping[str, object]) -> Mapping[str, object]:
    """Return a chat-completions request whose response format `json_schema` has become a
    `json_object` with a field `schema`, as llama.cpp takes it.
    """
    wanted = as_object(body.get("response_format"))
    if wanted.get("type") != "json_schema":
        return body
    schema = as_object(wanted.get("json_schema")).get("schema")
    return {**body, "response_format": {"type": "json_object", "schema": schema or {}}}


def with_json_schema_format(body: Mapping[str, object]) -> Mapping[str, object]:
    """Return a chat-completions request whose response format `json_object` has become a
    `json_schema`: with the schema that llama.cpp's form of `json_object` has, else with one that
    allows any object.
    """
    wanted = as_object(body.get("response_format"))
    if wanted.get("type") != "json_object":
        return body
    schema = wanted.get("schema") or {"type": "object"}
    named = {"name": request_writer.OUTPUT_NAME, "schema": schema}
    return {**body, "response_format": {"type": "json_schema", "json_schema": named}}


def without_thinking(body: Mapping[str, object]) -> Mapping[str, object]:
    """Return a chat-completions request with thinking off if it forces a call, because some servers
    force no call with thinking on. Thinking is turned off in the field `thinking`, which APIs read,
    and in the switches that chat templates read; `reasoning_effort` is left out.
    """
    if not forces_call(body):
        return body
    kept = {name: value for name, value in body.items() if name != EFFORT}
    return {
        **with_template(kept, SWITCHES_OFF),
        "thinking": {"type": "disabled"},
    }


def without_forced_call(body: Mapping[str, object]) -> Mapping[str, object]:
    """Return a chat-completions request with the `tool_choice` `auto` in place of one that forces a
    call.
    """
    return {**body, "tool_choice": "auto"} if forces_call(body) else body
