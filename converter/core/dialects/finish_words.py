"""`meaning_of` finds the meaning of a server's word for the reason why a reply ended, by one table
for all dialects (`_SERVER_TERMS`). `NOT_WHOLE` is the meaning of words for a reply that broke off.

A meaning is a finish reason of chat completions, `pause_turn` of the Messages API, or `NOT_WHOLE`.
Upper and lower case are the same word.
"""

from collections.abc import Mapping

NOT_WHOLE = "error"
"""The meaning of words, such as `abort`, that report that the reply broke off."""
_SERVER_TERMS: Mapping[str, tuple[str, ...]] = {
    "stop": (
        "stop",
        *("eos", "eos_token", "stop_sequence"),  # `eos` of Together, the others of Hugging Face TGI
        *("end_turn", "complete"),  # `end_turn` of the Messages API and xAI, `complete` of Cohere
        *("load", "unload"),  # Ollama's words after a request that only loads or unloads a model
    ),
    "length": (
        "length",
        # In this order the words of the Messages API, the Responses API and Mistral's API.
        *("max_tokens", "max_output_tokens", "model_length"),
        "model_context_window_exceeded",  # the word of the Messages API and of Z.ai
        "repetition",  # vLLM 0.33 sends this word if it stops a model that repeats itself
    ),
    "tool_calls": ("tool_calls", "tool_call", "tool_use", "function_call"),
    "content_filter": ("content_filter", "refusal", "safety", "sensitive"),
    "pause_turn": ("pause_turn",),  # sent in the Messages API while the server itself runs tools
    NOT_WHOLE: (
        NOT_WHOLE,
        # Words of vLLM, SGLang and several gateways for a reply that was ended before its end.
        *("abort", "aborted", "cancelled", "canceled", "timeout"),
        *("insufficient_system_resource", "network_error"),  # DeepSeek's word, Z.ai's word
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
    """Return True if a finish reason is a meaning in the table other than `NOT_WHOLE`."""
    return reason in _SERVER_TERMS and reason != NOT_WHOLE
