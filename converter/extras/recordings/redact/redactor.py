"""`redacted` returns a recording without secrets, and with ids and times in their normal form
(`normaliser.py`). `converter.addon.redact` has the fields that stay and the patterns of secrets.

Equal exchanges give equal bytes. Of a request only the fields and headers on the allow-list stay.
Values of all other fields that may be secrets are hidden in the rest of the recording too, because
a server may have repeated them. A second redaction changes nothing. If the server's redacted reply
is rewritten, the result is the client's redacted reply.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate, pairwise

from converter.addon.exchange import settings
from converter.addon.redact.allow_list import (
    HEADERS,
    PROTOCOL,
    QUERY,
    REQUEST,
    is_kept,
    keep,
)
from converter.addon.redact.scrubber import (
    Scrubber,
    is_path,
    secrets_of_body,
    secrets_of_headers,
    secrets_of_link,
)
from converter.core.dialects.anthropic.request_reader import BILLING_START
from converter.core.dialects.recogniser import is_stream
from converter.core.dialects.table import by_headers, find_endpoint
from converter.core.wire import json_text
from converter.extras.recordings.recording import (
    Chunk,
    RecordedReply,
    RecordedRequest,
    Recording,
)
from converter.extras.recordings.redact.json_tokens import (
    Path,
    Token,
    cut_body,
    interleave,
    json_string,
    moved_borders,
)
from converter.extras.recordings.redact.normaliser import Normaliser

_LISTED_FIELDS: set[Path] = {
    (name, None, inner) for name in ("data", "models") for inner in ("id", "root", "name", "model")
}
"""The paths of models' names in a list of models."""
_MODEL_FIELDS = {("model",), ("message", "model"), ("model_path",), *_LISTED_FIELDS}
"""The paths of models' names in requests and replies."""
_A_PATH = re.compile(rb'"(?:model|model_path|id|root|name)"\s*:\s*"(?:[/~\\]|[A-Za-z]:)')
"""Matches a model's name that looks like a path of a file. Only a body with a match is read as JSON
to find such names.
"""
_CONTENT_TYPE = re.compile(r"\s*([\w.+-]+/[\w.+-]+)(?:.*?;\s*(charset=[\w-]+))?")
"""Matches a content type; its groups are the media type and the parameter `charset`."""
_MODELS_PATH = "/v1/models"
"""The only endpoint whose path may go on with a text that a client chooses, the name of a model. In
this text secrets are hidden.
"""


def redacted(recording: Recording) -> Recording:
    """Return the recording without secrets, with ids and times in their normal form, and with only
    those fields and headers of its requests that are on the allow-list.

    Raises RecordingError for a request that the addon does not act on.
    """
    endpoint = recording.exchange().endpoint
    normaliser = Normaliser(endpoint.lists_models, recording.flow_id)
    redaction = Redaction(_scrubber(recording), normaliser)
    request = redaction.redacted_request(recording.request)
    sent = redaction.redacted_request(recording.sent_request)
    answered, options = recording.server_reply, recording.options
    chunks = redaction.redacted_chunks(
        recording.chunks, is_stream(answered.content_type, recording.body)
    )
    clean = replace(
        recording,
        request=request,
        sent_request=sent,
        server_reply=RecordedReply(answered.status, content_type_of(answered.content_type)),
        chunks=chunks,
        client_reply=redaction.client_reply(recording, chunks),
        options={name: options[name] for name in settings.RECORDED if name in options},
        abort_reason=redaction.scrubber.error_text(recording.abort_reason),
        hosts=frozenset(),
    )
    wire = clean.client.wire
    if not endpoint.is_chat or not (wire.retells or wire.framing.bare):
        return clean
    # The client's reply must equal a replay of the server's redacted reply, so it is taken from a
    # replay. If it were redacted by itself, it might differ, for two reasons. An encoder may repeat
    # the whole text at the end: an address becomes `HERE` there, but `xxxx` in the server's reply
    # if one frame has its beginning and the next its end. And in lines of JSON the addon writes
    # times, which a replay writes in their normal form.
    return replace(clean, client_reply=replace(clean.client_reply, body=clean.replayed().body))


def redacted_text(recording: Recording, text: str) -> str:
    """Return a text about a recording, such as an expectation, without the recording's secrets and
    host names.
    """
    return _scrubber(recording).text(text)


def _scrubber(recording: Recording) -> Scrubber:
    """Return a scrubber that knows the secrets, hosts and models' paths of a recording."""
    secrets: set[str] = set()
    for request in (recording.request, recording.sent_request):
        fields = json_text.read_or_none(request.body)
        secrets |= {*secrets_of_headers(request.headers), *secrets_of_link(request.path)}
        secrets |= {*secrets_of_body(fields, keep(fields, REQUEST))}
        secrets |= {part for part in prefix_of(request).split("/") if re.search(r"\d", part)}
    bodies = (
        ("", recording.request.body),
        ("", recording.sent_request.body),
        (recording.server_reply.content_type, recording.body),
        (recording.client_reply.content_type, recording.client_reply.body),
    )
    model_paths = {
        model
        for kind, body in bodies
        if _A_PATH.search(body)
        for token in {*cut_body(body, is_stream(kind, body)).tokens}
        if token.path in _MODEL_FIELDS and not token.is_key and is_path(model := str(token.value))
    }
    return Scrubber(secrets, recording.hosts, model_paths)


@dataclass(frozen=True, slots=True)
class Redaction:
    """Redacts the parts of one exchange. Its methods must be called in the order in which the parts
    were sent, because ids are numbered.
    """

    scrubber: Scrubber
    """Hides secrets, and replaces host names and models' paths."""
    normaliser: Normaliser
    """Replaces ids, times and durations."""

    def redacted_request(self, request: RecordedRequest) -> RecordedRequest:
        """Return a request redacted, with only the fields and headers on the allow-list. Its path
        loses the prefix before the endpoint, and the query but for `QUERY`.
        """
        path, _, query = request.path.removeprefix(prefix_of(request)).partition("?")
        public = _MODELS_PATH if path.startswith(_MODELS_PATH) else path
        path = public + self.scrubber.text(path.removeprefix(public))
        path += f"?{QUERY}" if QUERY in query.split("&") else ""
        headers, body = self._redacted_headers(request), self._redacted_request_body(request.body)
        return RecordedRequest(request.method, path, headers, body)

    def _redacted_headers(self, request: RecordedRequest) -> Mapping[str, str]:
        """Return a request's headers redacted: only those on the allow-list, without secrets in
        their values.
        """
        headers = {}
        for name in filter(request.headers.__contains__, HEADERS):
            value = request.headers[name]
            clean = self.scrubber.text(value)
            # The redacted value is checked too, because the scrubber may write other characters
            # than a kept header may have.
            if is_kept(name, value) and is_kept(name, clean):
                headers[name] = clean
        endpoint = find_endpoint(request.method, request.path)
        if endpoint and endpoint[0].lists_models and by_headers(request.headers).label.version[0]:
            # At `/v1/models` only headers show the client's dialect. The header with the client's
            # key showed it, but is not kept. So the header with the API's version is added.
            headers.setdefault(*by_headers(request.headers).label.version)
        return headers

    def _redacted_request_body(self, body: bytes) -> bytes:
        """Return a request's body with only the fields on the allow-list, redacted; empty for a
        body that is no JSON object.
        """
        fields = keep(json_text.read_or_none(body), REQUEST)
        if not isinstance(fields, dict):
            return b""
        # Claude Code's billing line is left out: it differs in each request, and the addon does not
        # send it to a server.
        if isinstance(system := fields.get("system"), str):
            fields["system"] = BILLING_START.sub("", system)
        for block in json_text.objects(system):
            if isinstance(text := block.get("text"), str):
                block["text"] = BILLING_START.sub("", text)
        clean, _ = self.redacted_body(json_text.write(fields), stream=False)
        return json_text.write(json_text.read(clean))

    def client_reply(self, recording: Recording, chunks: Sequence[Chunk]) -> RecordedReply:
        """Return the client's reply, redacted. `chunks`: the chunks of the server's redacted reply,
        which are the result if the client got the server's bytes unchanged.
        """
        got, answered = recording.client_reply, recording.server_reply
        if (got.body, got.content_type) == (recording.body, answered.content_type):
            # The client got the server's bytes unchanged. `chunks` has them redacted already.
            body = b"".join(chunk.data for chunk in chunks)
        else:
            body, _ = self.redacted_body(got.body, is_stream(got.content_type, got.body))
        return RecordedReply(got.status, content_type_of(got.content_type), body)

    def redacted_chunks(self, chunks: Sequence[Chunk], stream: bool) -> tuple[Chunk, ...]:
        """Redact the chunks as one body, and return the body cut into chunks at the same places.
        Chunks that have become empty are left out. `stream`: True for the body of a stream.
        """
        ends = list(accumulate(len(chunk.data) for chunk in chunks))
        body, borders = self.redacted_body(b"".join(chunk.data for chunk in chunks), stream, ends)
        times = accumulate((round(max(chunk.at_seconds, 0.0), 3) for chunk in chunks), max)
        cut = (body[start:end] for start, end in pairwise([0, *borders]))
        return tuple(Chunk(at, data) for at, data in zip(times, cut, strict=True) if data)

    def redacted_body(
        self, body: bytes, stream: bool, borders: Sequence[int] = ()
    ) -> tuple[bytes, list[int]]:
        """Return a body redacted, and the offsets at which its chunks now end. `stream`: True for a
        stream. `borders`: the offsets at which the chunks ended before.
        """
        gaps, tokens = cut_body(body, stream)
        clean = {gap: self._redacted_gap(gap) for gap in set(gaps)}
        after = interleave([clean[gap] for gap in gaps], self._replacements(tokens, stream))
        before = interleave(gaps, [token.raw for token in tokens])
        return b"".join(after), moved_borders(before, after, borders)

    def _replacements(self, tokens: Sequence[Token], stream: bool) -> list[bytes]:
        """Return the bytes that replace each token. In a stream a secret may begin in one frame and
        end in the next, so all strings at one path are searched as one text.
        """
        hide = cache(self.scrubber.hide_secrets)
        hidden = [str(token.value) for token in tokens]
        paths: defaultdict[Path, list[int]] = defaultdict(list)
        for number, token in enumerate(tokens):
            if stream and not token.is_key:
                paths[token.path].append(number)
            else:
                hidden[number] = hide(hidden[number])
        for numbers in paths.values():
            parts = self.scrubber.hide_across([hidden[number] for number in numbers])
            for number, part in zip(numbers, parts, strict=True):
                hidden[number] = part
        # Cached, because most tokens of a stream are repeated.
        return list(map(cache(self._replacement), tokens, hidden))

    def _replacement(self, token: Token, hidden: str) -> bytes:
        """Return the bytes that replace a token. `hidden`: the token's value as text, with an `x`
        for each character of a secret.

        Ids, times and durations get their normal form. A string in `PROTOCOL` stays. Any other
        string becomes `hidden`, with its host names and models' paths replaced too. A number with a
        secret becomes 0.
        """
        value = self.normaliser.normal_value(token)
        if value == token.value and token.value not in PROTOCOL:
            if isinstance(value, str):
                value = self.scrubber.replace_names(hidden)
            elif hidden != str(value):
                value = 0
        if value == token.value:
            return token.raw
        return json_string(value) if isinstance(value, str) else str(value).encode()

    def _redacted_gap(self, gap: bytes) -> bytes:
        """Return a gap without secrets. It may have text: HTML, a comment, a string that is cut
        off.
        """
        if not gap.strip(b" \t\r\n,:{}[]"):
            return gap
        text = gap.decode("utf-8", "surrogateescape")
        return self.scrubber.text(text).encode("utf-8", "surrogateescape")


def prefix_of(request: RecordedRequest) -> str:
    """Return the beginning of a request's path, before the endpoint: `/proxy` of
    `/proxy/v1/messages`. Empty if the endpoint is unknown.
    """
    endpoint = find_endpoint(request.method, request.path)
    return endpoint[1] if endpoint else ""


def content_type_of(header: str) -> str:
    """Return a content type without parameters other than `charset`, because other parameters may
    have any text. Return an empty text for a header that is no content type.
    """
    match = _CONTENT_TYPE.match(header)
    return "; ".join(part for part in match.groups() if part) if match else ""
