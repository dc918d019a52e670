"""Error messages of servers."""

from tests.support.by_path_server import Says
from tests.support.rows import rows_of

ROWS = rows_of(__file__)

HTML = {"content-type": "text/html"}
PAGE = b"<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1><hr>nginx</body></html>"
ERROR = "The model `none` does not exist."
SHAPES: dict[str, Says] = {
    "vllm": Says(
        {"error": {"message": ERROR, "type": "NotFoundError", "param": "model", "code": 404}}, 404
    ),
    "vllm of old": Says(
        {"object": "error", "message": ERROR, "type": "NotFoundError", "param": None, "code": 404},
        404,
    ),
    "llama.cpp": Says({"error": {"code": 404, "message": ERROR, "type": "not_found_error"}}, 404),
    "sglang": Says(
        {"object": "error", "message": ERROR, "type": "NotFound", "param": None, "code": 404}, 404
    ),
    "fastapi": Says({"detail": ERROR}, 404),
    "ollama": Says({"error": ERROR}, 404),
    "plain text": Says(ERROR.encode(), 404, {"content-type": "text/plain"}),
    "a page": Says(
        f"<html><style>p {{}}</style><body><p>{ERROR}</p></body></html>".encode(), 404, HTML
    ),
}

OVERFLOWS: dict[str, tuple[str, str]] = ROWS["overflows"]
"""A prompt that is too long by itself, and the numbers in it."""
TOGETHER: dict[str, str] = ROWS["together"]
"""A prompt that would fit if max_tokens were less."""
REPLIES: dict[str, str] = ROWS["replies"]
"""A reply that alone would fill more than the window: vLLM 0.32 and SGLang 0.5.23."""
