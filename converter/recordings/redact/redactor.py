"""A recording as it may be kept and shown: without secrets, the same bytes for the same exchange.

What is kept of a request is an allow-list. What was left out is also looked for in all that is
kept, because a server may have repeated it. To redact twice is to redact once, and what the
rewriter makes of a redacted reply is the redacted reply of the client.
"""

import re
from dataclasses import replace

from converter.dialects.endpoints import Endpoint
from converter.dialects.table import find
from converter.exchange import settings
from converter.exchange.exchange import is_stream
from converter.recordings.recording import Answered, RecordedRequest, Recording, RecordingError
from converter.recordings.redact.allow_list import REQUEST, kept
from converter.recordings.redact.json_tokens import (
    Path,
    tokens,
)
from converter.recordings.redact.normaliser import Normaliser
from converter.recordings.redact.redaction import Redaction, content_type_of, prefix_of
from converter.recordings.redact.scrubber import Scrubber, is_path
from converter.recordings.redact.secrets import secrets_of_body, secrets_of_headers, secrets_of_link
from converter.recordings.replay import replayed
from converter.wire import json_text

_MODEL_FIELDS: set[Path] = {("model",), ("message", "model"), ("model_path",)}
_LISTED_FIELDS: set[Path] = {
    (name, None, inner) for name in ("data", "models") for inner in ("id", "root", "name", "model")
}
_A_PATH = re.compile(rb'"(?:model|model_path|id|root|name)"\s*:\s*"(?:[/~\\]|[A-Za-z]:)')
"""A model that is a path, perhaps: to know costs less than to cut all up."""


def redacted(recording: Recording) -> Recording:
    """Return the recording in its normal form, with nothing in it that is not on the list.

    Raises RecordingError for a request that the addon does not act on.
    """
    endpoint = _endpoint(recording.asked)
    redaction = Redaction(_scrubber(recording), Normaliser(endpoint.lists_models))
    request, sent = redaction.asked(recording.asked), redaction.asked(recording.sent)
    answered, options = recording.answered, recording.options
    chunks = redaction.chunks(recording.chunks, is_stream(answered.content_type, recording.body))
    clean = replace(
        recording,
        asked=request,
        sent=sent,
        answered=Answered(answered.status, content_type_of(answered.content_type)),
        chunks=chunks,
        got=redaction.got(recording, chunks),
        options={name: options[name] for name in settings.RECORDED if name in options},
        ended=redaction.scrubber.words(recording.ended),
        places=frozenset(),
    )
    if not endpoint.is_chat or not clean.client.wire.retells:
        return clean
    # Such a client is told all words a second time, whole: what is hidden in them where frames cut
    # them would be renamed there.
    return replace(clean, got=replace(clean.got, body=replayed(clean, clean.client).body))


def _endpoint(request: RecordedRequest) -> Endpoint:
    known = find(request.method, request.path)
    if known is None:
        raise RecordingError(
            f"{request.method} {request.path} is no request that the addon acts on"
        )
    return known[0]


def redacted_words(recording: Recording, text: str) -> str:
    """Return a text about a recording, such as what it should read, without what `redacted` takes
    from the recording.
    """
    return _scrubber(recording).text(text)


def _scrubber(recording: Recording) -> Scrubber:
    secrets: set[str] = set()
    for request in (recording.asked, recording.sent):
        fields = json_text.read_or_none(request.body)
        secrets |= {*secrets_of_headers(request.headers), *secrets_of_link(request.path)}
        secrets |= {*secrets_of_body(fields, kept(fields, REQUEST))}
        secrets |= {part for part in prefix_of(request).split("/") if re.search(r"\d", part)}
    return Scrubber(secrets, recording.places, _models(recording))


def _models(recording: Recording) -> set[str]:
    requests = [(body, is_stream("", body)) for body in (recording.asked.body, recording.sent.body)]
    replies = (
        (recording.answered.content_type, recording.body),
        (recording.got.content_type, recording.got.body),
    )
    bodies = [*requests, *((body, is_stream(kind, body)) for kind, body in replies)]
    models = {
        token
        for body, stream in bodies
        if _A_PATH.search(body)
        for token in tokens(body, stream)
        if not token.name
    }
    return {
        str(token.value)
        for token in models
        if token.path in _MODEL_FIELDS | _LISTED_FIELDS and is_path(str(token.value))
    }
