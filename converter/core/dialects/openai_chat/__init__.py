"""Fills in `OPENAI_CHAT`, the record of OpenAI's chat completions for the table of dialects: every
model server speaks them, and most clients do. `TEXT_COMPLETIONS` is the record for a server's
replies to `/v1/completions`, which no client speaks.
"""

from collections.abc import Mapping
from dataclasses import replace

from converter.core.dialects import model_facts
from converter.core.dialects.dialect import (
    QUESTION,
    SAMPLING,
    Answers,
    Dialect,
    Endpoint,
    Label,
    Purpose,
    Requests,
)
from converter.core.dialects.openai_chat.decoder import (
    NAME,
    SAME_IN_EVERY_FRAME,
    OpenAIDecoder,
    mend,
)
from converter.core.dialects.openai_chat.encoder import OpenAIEncoder
from converter.core.dialects.openai_chat.errors import error_body, error_reply
from converter.core.dialects.openai_chat.text_completions import TextCompletionDecoder
from converter.core.dialects.openai_chat.uncounted import UncountedEncoder
from converter.core.dialects.openai_parts import PARTS
from converter.core.dialects.reasoning_fields import thinking_in
from converter.core.dialects.wire_form import WireForm
from converter.core.model.conversation import Conversation, RequestError, ThinkingBlock
from converter.core.wire.checked import Fields


def _recognises(body: Mapping[str, object]) -> bool:
    """Return True if a body is of this dialect. A body with an `error`, and neither `type` nor
    `object` beside it, is taken for one of this dialect, although some servers of the Messages API
    send such errors, too.
    """
    return (
        "choices" in body
        or str(body.get("object")).startswith("chat.completion")
        or (bool(body.get("error")) and "type" not in body and "object" not in body)
    )


def _refuse_to_read(*_: object) -> Conversation:
    """Raise RequestError. A request for a chat completion needs no reader, because every server
    takes it untranslated.
    """
    raise RequestError("", "expected a chat completion to go to its server as it came")


def _thinking(part: Fields) -> ThinkingBlock:
    """Return the thought in a part of a message. In Mistral's API the thought is a list of text
    parts, in other APIs a string. Raises RequestError for a value without text.
    """
    value = part.value("thinking")
    thinking = thinking_in(value)
    if value and not thinking:
        raise part.error("thinking", "Input should be text")
    # A view of the request shows all fields that were not read. This field of Mistral's API means
    # nothing to people, so it is read here.
    part.value("closed")
    return ThinkingBlock(thinking)


OPENAI_CHAT = Dialect(
    NAME,
    Label("OpenAI", "chat completion", head=frozenset(SAME_IN_EVERY_FRAME)),
    WireForm(
        decoder=OpenAIDecoder,
        encoder=lambda of, whole: (
            UncountedEncoder(of) if of.uncounted and not whole else OpenAIEncoder(of, whole)
        ),
        recognises=_recognises,
        mend=mend,
        keeps_raw=True,
    ),
    Requests(
        read=_refuse_to_read,
        path="/v1/chat/completions",
        example={**SAMPLING, **QUESTION, "max_tokens": 200},
        blocks={**PARTS, "thinking": _thinking},
    ),
    Answers(error_body, error_reply, models=model_facts.with_facts),
    # The path may lack `/v1`, because a server's base URL may end in it.
    (Endpoint(NAME, Purpose.REPLY, "POST", "(?:/v1)?/chat/completions", "chat"),),
)
"""The record of this dialect, for the table of all dialects."""
TEXT_COMPLETIONS = replace(
    OPENAI_CHAT,
    wire=replace(OPENAI_CHAT.wire, decoder=TextCompletionDecoder, keeps_raw=False),
)
"""The dialect of a server's text completions. A reply has it if the addon sent the rendered prompt
as a text completion in place of the chat. No client speaks it.
"""
