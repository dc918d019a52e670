"""How servers say that something is wrong."""

from tests.support.by_path_server import Says

HTML = {"content-type": "text/html"}
PAGE = b"<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1><hr>nginx</body></html>"
WORDS = "The model `none` does not exist."
SHAPES: dict[str, Says] = {
    "vllm": Says(
        {"error": {"message": WORDS, "type": "NotFoundError", "param": "model", "code": 404}}, 404
    ),
    "vllm of old": Says(
        {"object": "error", "message": WORDS, "type": "NotFoundError", "param": None, "code": 404},
        404,
    ),
    "llama.cpp": Says({"error": {"code": 404, "message": WORDS, "type": "not_found_error"}}, 404),
    "sglang": Says(
        {"object": "error", "message": WORDS, "type": "NotFound", "param": None, "code": 404}, 404
    ),
    "fastapi": Says({"detail": WORDS}, 404),
    "ollama": Says({"error": WORDS}, 404),
    "plain text": Says(WORDS.encode(), 404, {"content-type": "text/plain"}),
    "a page": Says(
        f"<html><style>p {{}}</style><body><p>{WORDS}</p></body></html>".encode(), 404, HTML
    ),
}

LONG_LIMIT = "This model's maximum context length is 2048 tokens"
OVERFLOWS: dict[str, tuple[str, str]] = {
    "llama.cpp": (
        "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it",
        "5000 tokens > 4096",
    ),
    "vllm prompt": (
        f"{LONG_LIMIT}. However, your request has 5000 input tokens. Please reduce the length of the input messages.",
        "5000 tokens > 2048",
    ),
    "vllm prompt and reply": (
        f"{LONG_LIMIT}. However, you requested 5200 tokens (5000 in the messages, 200 in the completion). "
        "Please reduce the length of the messages or completion.",
        "> 2048",
    ),
    "sglang": (
        "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
        "5000 tokens > 4096",
    ),
}
"""A prompt that is too long by itself, and the numbers in it."""
TOGETHER: dict[str, str] = {
    "vllm of old": (
        "'max_tokens' or 'max_completion_tokens' is too large: 32000. This model's maximum context length is 32768 tokens and your "
        "request has 5000 input tokens (32000 > 32768 - 5000)."
    ),
    "vllm": (
        "This model's maximum context length is 32768 tokens. However, you requested 32000 output tokens and your prompt "
        "contains at least 5000 input tokens, for a total of at least 37000 tokens. Please reduce the length of the input "
        "prompt or the number of requested output tokens."
    ),
    "sglang": (
        "Requested token count exceeds the model's maximum context length of 32768 tokens. You requested a total of 37000 "
        "tokens: 5000 tokens from the input messages and 32000 tokens for the completion. Please reduce the number of tokens "
        "in the input messages or the completion to fit within the limit."
    ),
}
"""A prompt that would fit if max_tokens were less."""
REPLIES: dict[str, str] = {
    "vllm": "max_tokens=900000 cannot be greater than max_model_len=65536. Please request fewer",
    "vllm chat": "max_completion_tokens=900000 cannot be greater than max_model_len=65536.",
    "vllm responses": "max_output_tokens=900000 cannot be greater than max_model_len=65536.",
    "sglang": (
        "max_completion_tokens is too large: 900000."
        "This model supports at most 65536 completion tokens."
    ),
}
"""A reply that alone would fill more than the window: vLLM 0.32 and SGLang 0.5.23."""
