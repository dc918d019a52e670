"""Anthropic's Messages API: spoken by Claude Code and Anthropic's SDKs, and by some servers."""

from collections.abc import Mapping

from converter.dialects.anthropic.decoder import AnthropicDecoder
from converter.dialects.anthropic.encoder import AnthropicStreamEncoder, AnthropicWholeEncoder
from converter.dialects.anthropic.errors import error_body
from converter.dialects.dialect import Dialect, Form
from converter.wire import json_text

_TYPES = frozenset(
    (
        "message",
        "message_start",
        "message_delta",
        "message_stop",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "error",
    )
)
"""Types of replies and events; a ping tells nothing, being of no weight."""


def _recognises(said: Mapping[str, object]) -> bool:
    kind = said.get("type")
    return isinstance(kind, str) and kind in _TYPES


ANTHROPIC = Dialect(
    name="anthropic",
    title="Anthropic",
    decoder=lambda _: AnthropicDecoder(),
    encoders={
        Form.STREAM: lambda context: AnthropicStreamEncoder(context.signature, context),
        Form.WHOLE: lambda context: AnthropicWholeEncoder(context.signature, context),
    },
    error=lambda message, kind, status: json_text.write(error_body(message, kind, status)),
    recognises=_recognises,
    error_event="error",
    ping=b'event: ping\ndata: {"type": "ping"}\n\n',
)
