"""Writes the answers of Ollama's API that are no reply of a chat model: errors, the list and facts
of models, the version, the refusal to pull or delete models, and embeddings, for which the server's
`/v1/embeddings` is asked. `model_facts` reads the facts.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import partial

from converter.core.dialects.dialect import Counterpart, OwnRequest
from converter.core.dialects.error_words import message_of_answer
from converter.core.dialects.model_facts import created_at, facts_of
from converter.core.model.memory import Memory
from converter.core.wire import json_text
from converter.core.wire.checked import Fields
from converter.core.wire.json_text import as_object


def error_body(message: str, _kind: str = "", _status: int = 0) -> Mapping[str, object]:
    """Return an error object, which fits both the body of a response and a line of a stream."""
    return {"error": message}


def error_reply(
    status: int, body: bytes, _counted: int | None = None
) -> tuple[int, Mapping[str, object]] | None:
    """Return the client's status and error object for a server's answer that is no reply; None if
    the answer already is an error of Ollama's, with a status from 400 on. A status below 400
    becomes a bad gateway (502). `_counted`, the number of the prompt's tokens, is not used.
    """
    fields = json_text.object_in(body)
    if status >= 400 and isinstance(fields.get("error"), str):
        return None
    return status if status >= 400 else 502, error_body(message_of_answer(status, body))


VERSION = "0.12.6"
"""The version of Ollama that `/api/version` names. Clients compare it with the version they need.
"""
OF_MODELS = "/api/(?:tags|ps|show)"
"""A regular expression for the paths whose answers are made from the server's list of models."""
PATHS = (
    ("GET|HEAD", "/api/(?:version|tags|ps)"),
    ("POST", "/api/show"),
    ("POST|DELETE|HEAD", "/api/(?:pull|push|create|copy|delete)"),
)
"""Methods and paths that the addon answers itself, unless the server is an Ollama."""
_FAMILY = re.compile(r"[a-z]+(?:-?\d+(?:\.\d+)*)?", re.IGNORECASE)
"""A pattern for a model's family, the beginning of the model's name: `qwen3` of `Qwen3-8B`."""


def answer(request: OwnRequest, _: Memory) -> tuple[int, Mapping[str, object] | str | None] | None:
    """Return the addon's own answer to a request, a status and a body. Return None if a browser
    asks for the page at `/`: then the server answers. A request to pull, push, create, copy or
    delete a model gets an error with status 501.
    """
    path = request.path.partition("?")[0].rstrip("/")
    match path.rpartition("/api/")[2]:
        case "":
            return None if request.wants_page else (200, "Ollama is running")
        case "version":
            return 200, {"version": VERSION}
        case "tags":
            return 200, {"models": [_entry_of_tags(entry) for entry in request.model_entries]}
        case "ps":
            return 200, {"models": [_entry_of_ps(entry) for entry in request.model_entries]}
        case "show":
            return _show(request.body, request.model_entries)
    message = "models are managed at the server behind think-addon, which is no Ollama"
    return 501, {"error": message}


def _entry_of_tags(entry: Mapping[str, object]) -> dict[str, object]:
    """Return the entry of `/api/tags` for a model. `entry`: the model's entry in the server's list
    of models.
    """
    name = str(entry["id"])
    return {
        "name": name,
        "model": name,
        "modified_at": created_at(entry),
        "size": _meta(entry).get("size") or 0,
        "digest": hashlib.sha256(name.encode("utf-8", "replace")).hexdigest(),
        "details": _details(entry),
    }


def _entry_of_ps(entry: Mapping[str, object]) -> dict[str, object]:
    """Return the entry of `/api/ps` for a model. The model never expires, because model servers
    keep their models in memory.
    """
    listed = _entry_of_tags(entry)
    length = facts_of(entry).window
    about = {"expires_at": "2318-01-01T00:00:00Z", "size_vram": listed["size"]}
    return listed | about | ({"context_length": length} if length else {})


_THINK_VALUES: Mapping[str, object] = {
    "values": [False, True, "low", "medium", "high"],
    "default": True,
}
"""The values that a request's field `think` may have, as Ollama 0.34 lists them."""


def _show(body: bytes, served: Sequence[Mapping[str, object]]) -> tuple[int, Mapping[str, object]]:
    """Return the status and the body of the answer to `/api/show`, which describes one model.
    `body`: the client's request. `served`: the entries of the server's list of models.
    """
    fields = json_text.object_in(body)
    name = str(fields.get("model") or fields.get("name") or "")
    names = {name, name.removesuffix(":latest")}
    entry = next((each for each in served if each["id"] in names), None)
    if entry is None:
        return 404, {"error": f"model '{name}' not found"}
    details, facts = _details(entry), facts_of(entry)
    family = str(details["family"])
    lengths = {f"{family}.context_length": facts.window} if facts.window else {}
    # `tools` and `thinking` are left out only if the server denies them, because the addon reads
    # calls and thoughts from any model's text. `vision` is listed only if the server confirms it.
    abilities = {
        "completion": True,
        "tools": facts.calls_tools is not False,
        "thinking": facts.thinks is not False,
        "vision": facts.sees,
    }
    return 200, {
        "modelfile": "",
        "parameters": f"num_ctx {facts.window}" if facts.window else "",
        "template": "",
        "details": details,
        "model_info": {"general.architecture": family, "general.basename": name, **lengths},
        "capabilities": [name for name, is_listed in abilities.items() if is_listed],
        **({"thinking": _THINK_VALUES} if abilities["thinking"] else {}),
        "modified_at": created_at(entry),
    }


def _details(entry: Mapping[str, object]) -> dict[str, object]:
    """Return the field `details` of a model: the family, from the model's name, and the number of
    parameters, if the server reports it.
    """
    match = _FAMILY.match(str(entry["id"]).rpartition("/")[2])
    family = match[0].lower() if match else "unknown"
    size = _meta(entry).get("n_params")
    billions = f"{size / 1e9:.1f}B" if isinstance(size, int) else ""
    return {
        "parent_model": "",
        "format": "gguf",
        "family": family,
        "families": [family],
        "parameter_size": billions,
        "quantization_level": "",
    }


def _meta(entry: Mapping[str, object]) -> Mapping[str, object]:
    """Return the facts that llama.cpp reports in the field `meta` of a model's entry."""
    return as_object(entry.get("meta"))


def _embedding_request(name: str, request: Fields) -> dict[str, object]:
    """Return the request to the server's `/v1/embeddings` for an Ollama client's request for
    embeddings. `name`: the field of the client's request that has the text or texts.

    `truncate`, `options` and `keep_alive` are left out (the log names them), because a model server
    sets the length of an input and the time in memory at its start.
    """
    texts = request.value(name)
    if not isinstance(texts, str | list):
        raise request.error(name, "Input should be a string or an array of strings")
    fields = {"model": request.required("model", str), "input": texts, "encoding_format": "float"}
    dimensions = request.optional("dimensions", int)
    return fields | ({"dimensions": dimensions} if dimensions else {})


def _vectors(reply: Fields) -> list[list[object]]:
    """Return the embeddings in a server's reply, in the order of the texts in the request."""
    reply.required("data", list)
    rows = sorted(reply.children("data"), key=lambda row: row.optional("index", int) or 0)
    return [row.required("embedding", list) for row in rows]


def _embedding_reply(reply: Fields, duration: int) -> dict[str, object]:
    """Return the body of the reply to `/api/embed`. `reply`: the server's reply. `duration`: how
    long it took, in nanoseconds.
    """
    count = reply.within("usage").optional("prompt_tokens", int)
    answer = {"model": reply.optional("model", str) or "", "embeddings": _vectors(reply)}
    measured = {"total_duration": max(duration, 0), "prompt_eval_count": count}
    return answer | {name: value for name, value in measured.items() if value}


_PATH = "/v1/embeddings"
"""The path at which model servers answer requests for embeddings."""
COUNTERPARTS = {
    "/api/embed": Counterpart(_PATH, partial(_embedding_request, "input"), _embedding_reply),
    "/api/embeddings": Counterpart(
        _PATH,
        partial(_embedding_request, "prompt"),
        lambda reply, _duration: {"embedding": next(iter(_vectors(reply)), [])},
    ),
}
"""Path for embeddings -> the server's endpoint that answers. The shapes of Ollama's requests and
replies are as in its `api/types.go` (August 2026).
"""
