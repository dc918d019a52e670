"""Fills in `RESPONSES`, the record of OpenAI's Responses API for the table of dialects: its decoder
and encoder, requests, errors and endpoints. Codex, the Agents SDK and newer OpenAI clients speak
it.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from converter.core.dialects.dialect import (
    SAMPLING,
    Answers,
    Dialect,
    Endpoint,
    Label,
    Purpose,
    RequestContext,
    Requests,
    read_anew,
)
from converter.core.dialects.openai_parts import PARTS
from converter.core.dialects.responses import compaction, errors, state, thoughts
from converter.core.dialects.responses.decoder import NAME, ResponsesDecoder
from converter.core.dialects.responses.request_reader import input_items, read
from converter.core.dialects.responses.response_events import COUNTER, ResponsesEncoder
from converter.core.dialects.wire_form import WireForm
from converter.core.model.conversation import Conversation, RequestError
from converter.core.wire.checked import Fields
from converter.core.wire.json_text import as_object

LEFT_OUT = "{} thought(s) left out that the input refers to: they are no longer kept here"
"""The note to the user about references to thoughts that the memory does not have; `{}`: how many.
"""


def _recognises(body: Mapping[str, object]) -> bool:
    """Return True if the JSON of a frame or of a whole reply is of this dialect."""
    kind = body.get("type")
    return body.get("object") == "response" or (
        isinstance(kind, str) and kind.startswith("response.")
    )


def _read_request(body: object, context: RequestContext) -> Conversation:
    """Return the conversation of a request, with the kept history to which the request refers. If
    there is a memory, the conversation's `own` has the function that will keep the response in it.

    `context.turn_of` is used only if the client itself sends its whole history, so that each
    request repeats the turns of the previous one.
    """
    purpose, memory = context.purpose, context.memory
    if purpose is Purpose.COMPACTION:
        body = compaction.trigger_request(body)
    history = None if memory is None else state.whole_input(memory, body)
    alone = history is None or history.uses_no_memory
    turn_of = context.turn_of if alone else read_anew
    request, own = read(body, history.items if history else None, turn_of)
    if purpose is Purpose.COMPACTION:
        turns = history.items if history else input_items(Fields(body))
        own = replace(own, repeated_messages=compaction.user_messages(turns))
    if memory is None or history is None:
        return replace(request, own=own)
    own = replace(own, keep_response=partial(state.keep_response, memory, as_object(body), history))
    notes = (LEFT_OUT.format(history.lost_thought_count),) if history.lost_thought_count else ()
    return replace(request, own=own, notes=(*request.notes, *notes))


def _refusal(error: RequestError) -> tuple[int, Mapping[str, object]]:
    """Return the status and body of the answer to a request that is refused with this error."""
    code = str(error.details.get("code", ""))
    return error.status, errors.error_body(error.message, error.status, error.path, code)


RESPONSES = Dialect(
    NAME,
    Label(
        title="OpenAI Responses",
        reply="response of the Responses API",
        headers=("openai-beta",),
        head=frozenset(("id", "object", "created_at", "model")),
    ),
    WireForm(
        decoder=lambda _: ResponsesDecoder(),
        encoder=ResponsesEncoder,
        recognises=_recognises,
        error_event="error",
        counter=COUNTER,
        retells=True,
    ),
    Requests(
        read=_read_request,
        path="/v1/responses",
        example={**SAMPLING, "max_output_tokens": 200, "input": "12 * 7"},
        refers=state.REFERS,
        native_option="responses",
        native=thoughts.native_request,
        blocks=PARTS,
    ),
    Answers(
        error_body=errors.error_of_kind,
        error_reply=lambda status, body, _: errors.error_reply(status, body),
        refusal=_refusal,
        counted=lambda tokens: {"object": "response.input_tokens", "input_tokens": tokens},
        own=state.answer_own,
    ),
    (
        Endpoint(NAME, Purpose.REPLY, "POST", "(?:/v1)?/responses", "responses"),
        Endpoint(NAME, Purpose.COUNT, "POST", "(?:/v1)?/responses/input_tokens"),
        Endpoint(NAME, Purpose.COMPACTION, "POST", "(?:/v1)?/responses/compact", "compact"),
        Endpoint(
            NAME,
            Purpose.OWN,
            "GET|DELETE|POST",
            "(?:(?:/v1)?/responses|/v1/conversations)(?:/[^?]+?)?",
        ),
    ),
)
"""The record of this dialect, for the table of all dialects."""
