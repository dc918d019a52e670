"""Earlier tool calls in a request, rewritten for the server and the model: arguments that are no
JSON object become one (`with_object_arguments`), and ids get the form that the model's chat
template needs (`with_ids_of_model`).

Kimi-K2 needs ids of the form `functions.NAME:NUMBER`, because its template writes a call's id where
the tool's name should stand. With an id of another form (`toolu_01`, `call_a`) the prompt lacks the
tool's name. NUMBER counts all calls of the conversation, from 0. (Sources: chat_template.jinja and
the page on tool calls of moonshotai/Kimi-K2-Instruct.)

Mistral's templates refuse an id that is not nine letters and digits.
"""

import re
from collections.abc import Mapping
from itertools import count

from converter.core.calls.ids import SHORT_MODELS, CallIds, is_kimi_id, short_id
from converter.core.dialects.openai_parts import read_arguments, text_of
from converter.core.model.raw_messages import map_messages
from converter.core.wire import long_json
from converter.core.wire.json_text import UnreadableError, as_object, objects


def with_object_arguments(message: object, *, anew: bool = False) -> object:
    """Return a message of a chat-completions request in which the arguments of each call are a JSON
    object, or the text of a JSON object: servers refuse a history with any other text. A text that
    cannot be read as an object becomes `{"arguments": TEXT}`; one that would take too long to check
    stays. Return `message` itself if nothing changes.

    If `anew` is True, every text is parsed and written again, because some servers' parsers refuse
    JSON that Python's parser takes.
    """
    calls = message.get("tool_calls") if isinstance(message, dict) else None
    if not isinstance(message, dict) or not isinstance(calls, list):
        return message
    changed = [*calls]
    for index, call in enumerate(calls):
        function = as_object(call).get("function")
        if not isinstance(function, dict) or isinstance(function.get("arguments"), dict):
            continue
        arguments = function.get("arguments")
        if anew or not _is_object_text(arguments):
            written = {**function, "arguments": text_of(read_arguments(arguments))}
            changed[index] = {**call, "function": written}
    return message if changed == calls else {**message, "tool_calls": changed}


def _is_object_text(arguments: object) -> bool:
    """Return True if `arguments` are the text of a strict JSON object, or a text with so many
    values that a check would take too long. The server gets both as they are.
    """
    try:
        return isinstance(long_json.read_strictly(str(arguments)), dict)
    except long_json.TooManyError:
        return True
    except UnreadableError:
        return False


def with_counted_ids(body: Mapping[str, object]) -> Mapping[str, object]:
    """Return a chat-completions request in which calls and results have ids of the form
    `functions.NAME:NUMBER`. A call without a name keeps its id, and so does a result whose call is
    not in the request. Return `body` itself if nothing changes.

    Calls are counted from the conversation's first, which is 0: its second call, of the tool
    `read`, gets `functions.read:1`. So the ids of a history stay the same when the history grows.
    """
    ids, numbers = CallIds(frozenset(), ""), count()
    # Old id -> the new ids of the calls that had it, in the order of the calls. A list, because
    # some clients give parallel calls the same id.
    new_ids: dict[str, list[str]] = {}

    def with_new_ids(message: object) -> object:
        """Return a message with new ids of its calls, or of the call that it answers."""
        turn = as_object(message)
        calls = [*objects(turn.get("tool_calls"))]
        if calls and calls == turn["tool_calls"]:
            counted_calls = [_call_with_counted_id(call, ids, next(numbers)) for call in calls]
            new_ids.update({str(call.get("id")): [] for call in calls})
            for call, counted in zip(calls, counted_calls, strict=True):
                new_ids[str(call.get("id"))].append(str(counted.get("id")))
            return {**turn, "tool_calls": counted_calls}
        if not (answered := new_ids.get(str(turn.get("tool_call_id")))):
            return message
        # if several calls had this old id, the first result belongs to the first call, and so on
        return {**turn, "tool_call_id": answered.pop(0) if len(answered) > 1 else answered[0]}

    return map_messages(body, with_new_ids)


def _call_with_counted_id(
    call: Mapping[str, object], ids: CallIds, number: int
) -> Mapping[str, object]:
    """Return a call with an id of the form `functions.NAME:NUMBER`. An id that has this form
    already stays, unless an earlier call has the same id. A call without a name keeps its id.

    `ids`: has the ids of the earlier calls, and changes an id that is among them. `number`: how
    many calls of the conversation come before this one.
    """
    written, name = call.get("id"), as_object(call.get("function")).get("name")
    if isinstance(written, str) and is_kimi_id(written):
        return {**call, "id": ids.take(written)}
    return {**call, "id": ids.take(f"functions.{name}:{number}")} if name else call


def with_short_ids(body: Mapping[str, object]) -> Mapping[str, object]:
    """Return a chat-completions request in which calls and results have ids of nine letters and
    digits. A new id depends on the old id alone. Return `body` itself if nothing changes.
    """

    def message_with_short_ids(message: object) -> object:
        """Return a message with short ids of its calls, or of the call that it answers."""
        turn = as_object(message)
        calls, answered = turn.get("tool_calls"), turn.get("tool_call_id")
        if isinstance(answered, str):
            return {**turn, "tool_call_id": short_id(answered)}
        if not isinstance(calls, list):
            return message
        changed = [
            {**call, "id": short_id(call["id"])}
            if isinstance(as_object(call).get("id"), str)
            else call
            for call in calls
        ]
        return {**turn, "tool_calls": changed}

    return map_messages(body, message_with_short_ids)


_ROWS = (
    (re.compile(r"(?i:kimi-?k2)"), with_counted_ids),
    (SHORT_MODELS, with_short_ids),
)
"""Pairs of a pattern of models' names, and the function that changes a request's ids to the form
that the templates of these models need.
"""
MODELS_WITH_IDS = re.compile("|".join(f"(?:{names.pattern})" for names, _ in _ROWS))
"""Finds the names of models whose chat templates need ids of calls in a form of their own."""


def with_ids_of_model(body: Mapping[str, object]) -> Mapping[str, object]:
    """Return a chat-completions request with the ids of calls and results in the form that the chat
    template of its model needs. Return `body` itself if nothing changes.
    """
    model = str(body.get("model"))
    change = next((change for names, change in _ROWS if names.search(model)), None)
    return change(body) if change else body
