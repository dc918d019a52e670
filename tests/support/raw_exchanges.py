"""Exchanges as the addon keeps them, before redaction; the client's reply is the rewriter's."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from converter.addon.keep.notes import NotedFacts
from converter.core.dialects.table import ANTHROPIC, OLLAMA, OPENAI_CHAT, RESPONSES, Dialect, Form
from converter.extras.recordings.recording import Chunk, RecordedReply, RecordedRequest, Recording
from tests.support.frames import stream, whole
from tests.support.quirk_streams import QUIRKS

SSE = "text/event-stream"
JSON = "application/json"
CHAT, MESSAGES = "/v1/chat/completions", "/v1/messages"
PATHS = {OPENAI_CHAT: CHAT, ANTHROPIC: MESSAGES, RESPONSES: "/v1/responses", OLLAMA: "/api/chat"}
HELLO = stream("<thi", "nk>\nde", "ep</think>", "Hello")
WHOLE = [whole("<think>deep</think>Hello")]
STREAMS = {name: quirk.steps for name, quirk in QUIRKS.items()}


def request_body(form: Form, **fields: object) -> bytes:
    body = {
        "model": "m",
        "max_tokens": 99,
        "stream": form is Form.STREAM,
        "messages": [{"role": "user", "content": "Hi"}],
        **fields,
    }
    return json.dumps(body).encode()


def exchange(
    steps: Sequence[bytes] = HELLO,
    client: Dialect = OPENAI_CHAT,
    form: Form = Form.STREAM,
    *,
    name: str = "hello",
    headers: Mapping[str, str] | None = None,
    query: str = "",
    status: int = 200,
    ended: str = "",
    options: Mapping[str, object] | None = None,
    fields: Mapping[str, object] | None = None,
    facts: NotedFacts | None = None,
    hosts: Sequence[str] = (),
) -> Recording:
    """A raw recording of this reply."""
    sent_headers = {"content-type": JSON, **(headers or {})}
    items = {"input": [{"role": "user", "content": "Hi"}]} if client is RESPONSES else {}
    body = request_body(form, **{**items, **(fields or {})})
    kind = SSE if form is Form.STREAM else JSON
    raw = Recording(
        name,
        RecordedRequest("POST", PATHS[client] + query, sent_headers, body),
        RecordedRequest("POST", CHAT + query, sent_headers, body),
        RecordedReply(status, kind),
        tuple(Chunk(0.01 + 0.0123 * number, step) for number, step in enumerate(steps)),
        RecordedReply(status, kind),
        options or {"tags": ["auto"], "start": "text"},
        facts or NotedFacts(),
        ended,
        frozenset(hosts),
    )
    return with_reply(raw)


def with_reply(raw: Recording) -> Recording:
    """Return the recording with the reply that its client gets."""
    return replace(raw, client_reply=replace(raw.client_reply, body=raw.replayed().body))
