"""The fields of a Responses request, by what becomes of them."""

SILENT = frozenset(
    {
        "access_programs",
        "client_metadata",
        "context_management",
        "include",
        "max_tool_calls",
        "metadata",
        "moderation",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "safety_identifier",
        "service_tier",
        "store",
        "stream_options",
    }
)
"""Fields of the API that mean nothing to a local server and that nobody misses."""
READ = frozenset(
    {
        "background",
        "conversation",
        "input",
        "instructions",
        "max_output_tokens",
        "model",
        "parallel_tool_calls",
        "previous_response_id",
        "prompt",
        "reasoning",
        "stream",
        "temperature",
        "text",
        "tool_choice",
        "tools",
        "top_k",
        "top_p",
        "truncation",
        "user",
    }
)
"""Fields that are read."""
