"""Fills in `ANTHROPIC`, the record of Anthropic's Messages API for the table of dialects: its
headers, decoder and encoder, requests, errors and endpoints. Claude Code, Anthropic's SDKs and some
servers speak it.
"""

import re
from collections.abc import Mapping

from converter.core.dialects.anthropic import models, threads
from converter.core.dialects.anthropic.blocks import RESULT_BLOCKS, ROLE_BLOCKS
from converter.core.dialects.anthropic.decoder import NAME, AnthropicDecoder
from converter.core.dialects.anthropic.encoder import AnthropicEncoder
from converter.core.dialects.anthropic.errors import error_body, error_reply
from converter.core.dialects.anthropic.request_reader import omits_thinking, read
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
from converter.core.dialects.wire_form import WireForm
from converter.core.model.conversation import RequestError

_TYPES = re.compile(r"message(_start|_delta|_stop)?|content_block_(start|delta|stop)|error")
"""Values of `type` by which the JSON of a frame or of a whole reply is recognised as Messages API.
`ping` is not in the pattern, because the stream of another dialect may have a ping, too.
"""


def _recognises(body: Mapping[str, object]) -> bool:
    """Return True if the JSON of a frame, or of a whole reply, is of the Messages API."""
    kind = body.get("type")
    return isinstance(kind, str) and _TYPES.fullmatch(kind) is not None


def _refusal(error: RequestError) -> tuple[int, Mapping[str, object]]:
    """Return the status and the body of the answer to a request that breaks the format."""
    body = error_body(error.message, "", error.status)
    body["error"] |= {"details": error.details} if error.details else {}
    return error.status, body


ANTHROPIC = Dialect(
    NAME,
    Label(
        title="Anthropic",
        reply="message of the Messages API",
        headers=("anthropic-version", "anthropic-beta"),
        shown_by=("anthropic-version", "x-api-key"),
        features="anthropic-beta",
        version=("anthropic-version", "2023-06-01"),
        request_id="request-id",
        head=frozenset(("id", "type", "role", "model", "stop_reason", "stop_sequence", "usage")),
        blocks="content",
    ),
    WireForm(
        decoder=lambda _: AnthropicDecoder(),
        encoder=AnthropicEncoder,
        recognises=_recognises,
        error_event="error",
    ),
    Requests(
        read=read,
        path="/v1/messages",
        example={**SAMPLING, **QUESTION, "max_tokens": 200},
        native_option="messages",
        native=threads.request_without_thread,
        blocks=RESULT_BLOCKS | ROLE_BLOCKS["user"] | ROLE_BLOCKS["assistant"],
        omits_thinking=omits_thinking,
        refers=('"thread"',),
    ),
    Answers(
        error_body=error_body,
        error_reply=error_reply,
        refusal=_refusal,
        models=models.anthropic_models,
        # Claude Code sends a HEAD to see whether its API is there, and a POST with telemetry. No
        # model server has these endpoints. So the addon answers the HEAD without a body, and the
        # POST with `{}`.
        own=lambda request, _: (200, {} if request.method == "POST" else None),
    ),
    (
        # The path may be `/v1/v1/messages`: the SDKs add `/v1` even if the base URL ends in `/v1`.
        Endpoint(NAME, Purpose.REPLY, "POST", "(?:/v1)?/v1/messages", "messages"),
        Endpoint(NAME, Purpose.COUNT, "POST", "(?:/v1)?/v1/messages/count_tokens", "count"),
        Endpoint(NAME, Purpose.MODELS, "GET", "/v1/models(?:/[^?]+?)?", "models", shared=True),
        # No prefix is allowed here, because the path may be empty: any prefix and an empty path
        # together would match every request.
        Endpoint(NAME, Purpose.OWN, "HEAD", "(?:/api/hello)?", prefix="(?P<prefix>)"),
        Endpoint(NAME, Purpose.OWN, "POST", r"/api/event_logging(?:/v\d+)?/batch"),
    ),
)
"""The record of this dialect, for the table of all dialects."""
