"""Names under which servers and clients send thinking, in messages and deltas of any dialect."""

FIELDS = (
    "reasoning_content",  # DeepSeek, SGLang, llama.cpp, LM Studio, NIM
    "reasoning",  # vLLM, Ollama, OpenRouter
    "thinking_content",
    "thinking",  # gateways
    "reasoning_text",  # GitHub Copilot
    "reasoning_details",  # a list; OpenRouter, beside the same text in `reasoning`
    "thinking_blocks",  # a list; LiteLLM, beside the same text in `reasoning_content`
)
"""Fields; of several with the same thinking the first one counts."""
PARTS = ("thinking", "redacted_thinking", "reasoning")
"""Types of the parts of a content."""
