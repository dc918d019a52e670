"""The match of a request with a recorded one."""

import json
from collections.abc import Mapping, Sequence

from converter.recordings.recording import RecordedRequest
from converter.recordings.redact.allow_list import REQUEST, kept

_MUST_FIT = ("messages", "input", "instructions", "tools", "stream", "system")
_PROMPT = ("messages", "tools")
_IDS = ("id", "tool_call_id", "tool_use_id", "call_id")
"""Recordings have other ids than the requests they were made of."""

type Body = Mapping[str, object]


def fit(sent: RecordedRequest, method: str, path: str, body: bytes) -> int:
    """Tell how well a request is the one that was recorded: 0 for not at all."""
    if (sent.method, endpoint_of(sent.path)) != (method, endpoint_of(path)):
        return 0
    request, known = read_body(body), read_body(sent.body)
    if not _same(request, known, _MUST_FIT):
        return 0
    return 1 + sum(request.get(name) == value for name, value in known.items())


def _same(request: Body, known: Body, names: Sequence[str]) -> bool:
    def said(body: Body, name: str) -> object:
        return _comparable(kept(body.get(name), REQUEST[name]))  # a recording holds no more

    return all(said(request, name) == said(known, name) for name in names)


def same_prompt(request: Body, known: Body) -> bool:
    """Tell whether two requests have the same messages and tools."""
    return _same(request, known, _PROMPT)


def endpoint_of(path: str) -> str:
    """Return the path without its query."""
    return path.partition("?")[0].rstrip("/")


def read_body(body: bytes) -> Body:
    """Return a request's fields; what is no JSON object is one field."""
    try:
        value = json.loads(body)
    except ValueError:
        return {"": body}  # a body that is none fits its like
    return value if isinstance(value, dict) else {"": value}


def _comparable(value: object) -> object:
    """Return a value without ids; no wish for a stream is the wish for none."""
    if isinstance(value, Mapping):
        return {name: _comparable(item) for name, item in value.items() if name not in _IDS}
    if isinstance(value, list):
        return [_comparable(item) for item in value]
    return value or None
