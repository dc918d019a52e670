"""The names of the fields in which servers and clients send thinking, in messages and deltas of any
dialect.
"""

FIELDS = (
    "reasoning_content",  # DeepSeek, SGLang, llama.cpp, LM Studio, NIM
    "reasoning",  # vLLM, Ollama, OpenRouter
    "thinking_content",
    "thinking",  # gateways
    "reasoning_text",  # GitHub Copilot
    "reasoning_details",  # a list; OpenRouter, beside the same text in `reasoning`
    "thinking_blocks",  # a list; LiteLLM, beside the same text in `reasoning_content`
)
"""The names of fields with thinking. If two fields hold the same thinking, the one that stands
first in this list is read.
"""
PARTS = ("thinking", "redacted_thinking", "reasoning")
"""The values of `type` by which a part of a message's content is known to hold thinking."""
