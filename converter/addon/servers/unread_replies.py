"""Replies that the model has finished, and that the server's own reader throws away.

The reader takes the template for another one, or the model writes a call that differs a little from
the template's. llama.cpp writes a chat's prompt for any client (`/apply-template`); a text
completion behind this prompt comes as the model wrote it, and the prompt's cache holds. No field of
a chat completion turns llama.cpp's reader off (11549). For other servers the request tells the
tools in words.
"""

from collections.abc import Mapping

from converter.addon.servers.prompts import tell_tools
from converter.core.dialects.request_facts import grammar_of
from converter.core.dialects.server_fields import Use, used_as
from converter.core.model.raw_messages import content_parts, messages_of
from converter.core.reading.beginning import Grammar

READER, RENDERED = "the server's own reader", "llama.cpp's own reader"
"""What a reply is asked for without: tools are told in words, or the prompt is sent as it is."""
READERS = frozenset((READER, RENDERED))
TEMPLATE_PATH, COMPLETION_PATH = "/apply-template", "/v1/completions"
ROWS = (
    # llama.cpp of autumn 2026, as 11549; from b8000 on, and LM Studio 0.4, which renders nothing
    (r"The model produced output that does not match the expected [\w-]+ format", RENDERED),
    (r"Failed to parse input at pos \d+", RENDERED),
    # Ollama 0.12 and later: its reader of Qwen3-Coder, and of gpt-oss
    (r"XML syntax error on line \d+", READER),
    (r"error parsing tool call: raw=", READER),
)
"""Words of the errors that stand in a reply's place."""
_OF_CHATS = frozenset(
    (
        *("messages", "tools", "tool_choice", "parallel_tool_calls", "response_format"),
        *("parse_tool_calls", "add_generation_prompt", "continue_final_message"),
        *used_as(Use.RENDERED),
    )
)
"""Fields that a prompt has taken up."""


def is_plain(body: Mapping[str, object]) -> bool:
    """Return True if text behind a prompt can be all that a chat completion asks for: it has no
    picture, no grammar, and one choice.
    """
    one, free = body.get("n") in (None, 1), grammar_of(body) is Grammar.NONE
    parts = (part for message in messages_of(body) for part in content_parts(message))
    texts = all(isinstance(part, dict) and part.get("type", "text") == "text" for part in parts)
    return one and free and texts and not body.get("logprobs")


def text_completion(body: Mapping[str, object], prompt: str) -> Mapping[str, object]:
    """Return the text completion that asks for the same reply, behind the prompt of a chat."""
    kept = {name: value for name, value in body.items() if name not in _OF_CHATS}
    return {**kept, "prompt": prompt}


def read_by_us(body: Mapping[str, object]) -> Mapping[str, object]:
    """Return a chat completion whose tools are told in words, so that no reader looks for calls."""
    return tell_tools(body) or body
