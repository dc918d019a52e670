"""OpenAI chat completions: spoken by every model server, and by most clients."""

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
    """Return True if a body is of this dialect; of errors, those without a type, which some
    Messages servers send too.
    """
    return (
        "choices" in body
        or str(body.get("object")).startswith("chat.completion")
        or (bool(body.get("error")) and "type" not in body and "object" not in body)
    )


def _unread(*_: object) -> Conversation:
    """Refuse to translate a request: every server speaks the dialect, so none is needed."""
    raise RequestError("", "expected a chat completion to go to its server as it came")


def _thinking(part: Fields) -> ThinkingBlock:
    """Mistral's API: a list of text parts; others: a string."""
    value = part.value("thinking")
    thinking = thinking_in(value)
    if value and not thinking:
        raise part.error("thinking", "Input should be text")
    part.value("closed")  # Mistral's
    return ThinkingBlock(thinking)


OPENAI_CHAT = Dialect(
    NAME,
    Label("OpenAI", "chat completion", head=frozenset(SAME_IN_EVERY_FRAME)),
    WireForm(
        decoder=OpenAIDecoder,
        encoder=OpenAIEncoder,
        recognises=_recognises,
        mend=mend,
        keeps_raw=True,
    ),
    Requests(
        read=_unread,
        path="/v1/chat/completions",
        example={**SAMPLING, **QUESTION, "max_tokens": 200},
        blocks={**PARTS, "thinking": _thinking},
    ),
    Answers(error_body, error_reply, models=model_facts.with_facts),
    # /v1 is left out by a base URL that ends in it
    (Endpoint(NAME, Purpose.REPLY, "POST", "(?:/v1)?/chat/completions", "chat"),),
)
TEXT_COMPLETIONS = replace(
    OPENAI_CHAT,
    wire=replace(OPENAI_CHAT.wire, decoder=TextCompletionDecoder, keeps_raw=False),
)
"""A server of the dialect that completes a text behind a prompt; no client is one."""
UNCOUNTED = replace(
    OPENAI_CHAT,
    wire=replace(
        OPENAI_CHAT.wire,
        encoder=lambda of, whole: OpenAIEncoder(of, whole) if whole else UncountedEncoder(of),
    ),
)
"""A client, or a client and its server, for streams whose counts only the addon has requested."""
