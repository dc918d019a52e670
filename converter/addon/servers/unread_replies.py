"""Makes requests that avoid the server's own parser of calls (its reader), for replies that the
reader cannot read. `ROWS` has the errors that show such a reply, and the traits that lead to it
(`READER`, `RENDERED`); `hooks/refused_request.py` has the new request sent.

The reader fails if it mistakes the model's template for another one, or if a call differs a little
from the template's form. The server then discards the reply, and the addon asks for it again,
without the reader:

- llama.cpp renders the prompt of a chat-completions request for any client (`/apply-template`). The
  reply to a text completion of this prompt comes as the model wrote it, and the server's prompt
  cache still fits. No field of a chat-completions request turns llama.cpp 11549's reader off.
- Other servers get the tools as text in the system turn (`describe_tools`).
"""

from collections.abc import Mapping

from converter.addon.servers.prompts import describe_tools
from converter.core.dialects.request_facts import grammar_of
from converter.core.dialects.server_fields import Use, fields_with_use
from converter.core.model.raw_messages import content_parts, messages_of
from converter.core.reading.beginning import Grammar

READER, RENDERED = "the server's own reader", "llama.cpp's own reader"
"""Names of two traits of a request that may be removed after such an error. A request without
`READER` has its tools as text; a request without `RENDERED` is a text completion of the rendered
prompt.
"""
READERS = frozenset((READER, RENDERED))
"""The traits `READER` and `RENDERED`. As long as a request has both, the server's own reader reads
the calls in its reply.
"""
TEMPLATE_PATH, COMPLETION_PATH = "/apply-template", "/v1/completions"
ROWS = (
    # The first row is sent by llama.cpp of autumn 2026 (11549). The second is sent by llama.cpp
    # since b8000, and by LM Studio 0.4: it renders no prompt for clients, so that it gets the tools
    # as text.
    (r"The model produced output that does not match the expected [\w-]+ format", RENDERED),
    (r"Failed to parse input at pos \d+", RENDERED),
    # Both rows are sent by Ollama since 0.12: the first by its reader for Qwen3-Coder, the second
    # by its reader for gpt-oss.
    (r"XML syntax error on line \d+", READER),
    (r"error parsing tool call: raw=", READER),
)
"""Pairs of two texts. The first is a pattern of the error that a server sends in place of a reply
that its reader could not read; the second is the name of the trait to remove.
"""
_CHAT_FIELDS = frozenset(
    (
        *("messages", "tools", "tool_choice", "parallel_tool_calls", "response_format"),
        *("parse_tool_calls", "add_generation_prompt", "continue_final_message"),
        *fields_with_use(Use.RENDERED),
    )
)
"""Fields of a chat-completions request that a text completion lacks: their effect is already in the
rendered prompt, or concerns the reader, which is avoided.
"""


def fits_text_completion(body: Mapping[str, object]) -> bool:
    """Return True if a text completion can replace this chat-completions request: it has only text,
    no grammar and no `logprobs`, and asks for one choice.
    """
    one, free = body.get("n") in (None, 1), grammar_of(body) is Grammar.NONE
    parts = (part for message in messages_of(body) for part in content_parts(message))
    texts = all(isinstance(part, dict) and part.get("type", "text") == "text" for part in parts)
    return one and free and texts and not body.get("logprobs")


def text_completion(body: Mapping[str, object], prompt: str) -> Mapping[str, object]:
    """Return a text-completions request for `prompt`, the rendered prompt of the chat-completions
    request `body`, with all fields of `body` that a text completion has too.
    """
    kept = {name: value for name, value in body.items() if name not in _CHAT_FIELDS}
    return {**kept, "prompt": prompt}


def with_tools_as_text(body: Mapping[str, object]) -> Mapping[str, object]:
    """Return a chat-completions request with its tools as text, so that the server does not parse
    calls, and the addon reads them from the reply's text. Return `body` itself if it has no tools.
    """
    return describe_tools(body) or body
