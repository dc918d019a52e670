"""Lists the fields of messages and deltas in which servers and clients send thinking (`FIELDS`), in
any dialect, and the types of parts that hold thinking (`PARTS`).
`converter.core.dialects.reasoning_fields` reads their values.
"""

FIELDS = (
    "reasoning_content",  # sent by DeepSeek, SGLang, llama.cpp, LM Studio and NIM
    "reasoning",  # sent by vLLM, Ollama and OpenRouter
    "thinking_content",
    "thinking",  # sent by some gateways
    "reasoning_text",  # sent by GitHub Copilot
    "reasoning_details",  # a list that OpenRouter sends beside the same text in `reasoning`
    "thinking_blocks",  # a list that LiteLLM sends beside the same text in `reasoning_content`
)
"""The names of fields with thinking. If two fields of a delta or message hold the same thinking, it
is read from the one that stands first in this list.
"""
PARTS = ("thinking", "redacted_thinking", "reasoning")
"""The values of `type` by which a part of a message's content is known to hold thinking."""
