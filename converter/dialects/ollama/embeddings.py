"""Words as vectors: `/api/embed` and the older `/api/embeddings`, by the server's
`/v1/embeddings`. Both shapes are those of Ollama's `api/types.go` (August 2026).
"""

from converter.dialects.endpoints import Counterpart
from converter.wire.checked import Fields


def _asked(name: str, request: Fields) -> dict[str, object]:
    """Return the request for vectors of what stands in the field of that name. `truncate`,
    `options` and `keep_alive` have no place in it (the log says so): how long a model's input may
    be, and how long it stays, is set at a model server's start.
    """
    given = request.value(name)
    if not isinstance(given, str | list):
        raise request.error(name, "Input should be a string or an array of strings")
    asked = {"model": request.required("model", str), "input": given, "encoding_format": "float"}
    dimensions = request.optional("dimensions", int)
    return asked | ({"dimensions": dimensions} if dimensions else {})


def _vectors(reply: Fields) -> list[list[object]]:
    reply.required("data", list)
    rows = sorted(reply.children("data"), key=lambda row: row.optional("index", int) or 0)
    return [row.required("embedding", list) for row in rows]


def _embedded(reply: Fields, took: int) -> dict[str, object]:
    usage = reply.child("usage")
    count = usage and usage.optional("prompt_tokens", int)
    told = {"model": reply.optional("model", str) or "", "embeddings": _vectors(reply)}
    measured = {"total_duration": max(took, 0), "prompt_eval_count": count}
    return told | {name: value for name, value in measured.items() if value}


def _one(reply: Fields, _took: int) -> dict[str, object]:
    return {"embedding": next(iter(_vectors(reply)), [])}


_PATH = "/v1/embeddings"
COUNTERPARTS = {
    "/api/embed": Counterpart(_PATH, lambda request: _asked("input", request), _embedded),
    "/api/embeddings": Counterpart(_PATH, lambda request: _asked("prompt", request), _one),
}
"""By the paths of the API."""
