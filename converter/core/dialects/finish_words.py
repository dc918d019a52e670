"""Servers' words for the reason why a reply ended, with their meaning: one table for all dialects.

A meaning is a finish reason of chat completions, `pause_turn` of the Messages API, or `NOT_WHOLE`
for words after which the reply lacks its end. Upper and lower case are the same word.
"""

from collections.abc import Mapping

NOT_WHOLE = "error"
"""The meaning of words after which the reply lacks its end."""
_SERVER_TERMS: Mapping[str, tuple[str, ...]] = {
    "stop": (
        "stop",
        *("eos", "eos_token", "stop_sequence"),  # `eos`: Together; others: TGI
        *("end_turn", "complete"),  # Messages API, xAI; Cohere
        *("load", "unload"),  # Ollama: a request without a prompt (un)loads a model
    ),
    "length": (
        "length",
        *("max_tokens", "max_output_tokens", "model_length"),  # Messages, Responses; Mistral
        "model_context_window_exceeded",  # Messages API, Z.ai
        "repetition",  # vLLM 0.33, if it stops a model that repeats itself
    ),
    "tool_calls": ("tool_calls", "tool_call", "tool_use", "function_call"),
    "content_filter": ("content_filter", "refusal", "safety", "sensitive"),
    "pause_turn": ("pause_turn",),  # Messages API, while the server runs tools
    NOT_WHOLE: (
        NOT_WHOLE,
        *("abort", "aborted", "cancelled", "canceled", "timeout"),  # vLLM, SGLang, gateways
        *("insufficient_system_resource", "network_error"),  # DeepSeek; Z.ai
    ),
}
"""Meaning -> the words of servers that have this meaning."""
_MEANINGS = {word: meaning for meaning, terms in _SERVER_TERMS.items() for word in terms}
"""Word of a server -> its meaning."""


def meaning_of(word: str) -> str:
    """Return the meaning of a server's word, such as a finish reason; the word itself if no row has
    it.
    """
    return _MEANINGS.get(word.strip().casefold(), word)


def is_standard(reason: str) -> bool:
    """Return True if a finish reason can be written in every dialect."""
    return reason in _SERVER_TERMS and reason != NOT_WHOLE
