"""A recording as it may be kept and shown: without secrets, the same bytes for the same exchange.

What is kept of a request is an allow-list. What was left out is also looked for in all that is
kept, because a server may have repeated it. Cleaning twice is cleaning once, and what the rewriter
makes of a cleaned reply is the cleaned reply of the client.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from converter import settings
from converter.dialects.anthropic.request_reader import BILLING_LINES
from converter.endpoints import Endpoint, find
from converter.exchange import is_stream, speaks_anthropic
from converter.recordings.recording import Answered, Asked, Chunk, Recording, RecordingError
from converter.recordings.redact.allow_list import HEADERS, PROTOCOL, QUERY, REQUEST, is_kept, kept
from converter.recordings.redact.json_tokens import (
    Path,
    Token,
    moved,
    pieces,
    tokens,
    woven,
    written,
)
from converter.recordings.redact.normal_form import NormalForm
from converter.recordings.redact.scrubber import Scrubber, is_path
from converter.recordings.redact.secrets import secrets_of_body, secrets_of_headers, secrets_of_link
from converter.recordings.replay import replayed
from converter.wire import json_text

_MODEL_FIELDS: set[Path] = {("model",), ("message", "model"), ("model_path",)}
_LISTED_FIELDS: set[Path] = {
    (name, None, inner) for name in ("data", "models") for inner in ("id", "root", "name", "model")
}
_CONTENT_TYPE = re.compile(r"\s*([\w.+-]+/[\w.+-]+)(?:.*?;\s*(charset=[\w-]+))?")
_A_PATH = re.compile(rb'"(?:model|model_path|id|root|name)"\s*:\s*"(?:[/~\\]|[A-Za-z]:)')
"""A model that is a path, perhaps: to know costs less than to cut all up."""
_VERSION = "2023-06-01"
_MODELS_PATH = "/v1/models"
"""The only endpoint with a free part: a model's name behind it."""


def cleaned(recording: Recording) -> Recording:
    """Return the recording in its normal form, with nothing in it that is not on the list.

    Raises RecordingError for a request that the addon does not act on.
    """
    endpoint = _endpoint(recording.asked)
    cleaner = _Cleaner(_replacing(recording), NormalForm(endpoint is Endpoint.MODELS))
    asked, sent = cleaner.asked(recording.asked), cleaner.asked(recording.sent)
    answered, options = recording.answered, recording.options
    chunks = cleaner.chunks(recording.chunks, is_stream(answered.content_type, recording.body))
    clean = replace(
        recording,
        asked=asked,
        sent=sent,
        answered=Answered(answered.status, _content_type(answered.content_type)),
        chunks=chunks,
        got=cleaner.got(recording, chunks),
        options={name: options[name] for name in settings.RECORDED if name in options},
        ended=cleaner.replacing.words(recording.ended),
        places=frozenset(),
    )
    if not endpoint.is_chat or clean.client.splices:
        return clean
    # Such a client is told all words a second time, whole: what is hidden in them where frames cut
    # them would be renamed there.
    return replace(clean, got=replace(clean.got, body=replayed(clean, clean.client).body))


def _endpoint(asked: Asked) -> Endpoint:
    known = find(asked.method, asked.path)
    if known is None:
        raise RecordingError(f"{asked.method} {asked.path} is no request that the addon acts on")
    return known[0]


def cleaned_words(recording: Recording, text: str) -> str:
    """Return a text about a recording, such as what it should read, without what `cleaned` takes
    from the recording.
    """
    return _replacing(recording).text(text)


def _replacing(recording: Recording) -> Scrubber:
    secrets: set[str] = set()
    for asked in (recording.asked, recording.sent):
        said = _read(asked.body)
        secrets |= {*secrets_of_headers(asked.headers), *secrets_of_link(asked.path)}
        secrets |= {*secrets_of_body(said, kept(said, REQUEST))}
        secrets |= {part for part in _prefix(asked).split("/") if re.search(r"\d", part)}
    return Scrubber(secrets, recording.places, _models(recording))


def _models(recording: Recording) -> set[str]:
    asked = [(body, is_stream("", body)) for body in (recording.asked.body, recording.sent.body)]
    replies = (
        (recording.answered.content_type, recording.body),
        (recording.got.content_type, recording.got.body),
    )
    bodies = [*asked, *((body, is_stream(kind, body)) for kind, body in replies)]
    found = {
        token
        for body, stream in bodies
        if _A_PATH.search(body)
        for token in tokens(body, stream)
        if not token.name
    }
    return {
        str(token.value)
        for token in found
        if token.path in _MODEL_FIELDS | _LISTED_FIELDS and is_path(str(token.value))
    }


def _read(body: bytes) -> object:
    try:
        return json_text.read(body)
    except json_text.UnreadableError:
        return None


def _prefix(asked: Asked) -> str:
    known = find(asked.method, asked.path)
    return known[1] if known else ""


def _content_type(written: str) -> str:
    found = _CONTENT_TYPE.match(written)
    return "; ".join(part for part in found.groups() if part) if found else ""


@dataclass(frozen=True, slots=True)
class _Cleaner:
    """The tools that clean the parts of one exchange, in the order in which they were sent."""

    replacing: Scrubber
    normal: NormalForm

    def asked(self, asked: Asked) -> Asked:
        path, _, query = asked.path.removeprefix(_prefix(asked)).partition("?")
        known = _MODELS_PATH if path.startswith(_MODELS_PATH) else path
        path = (
            known
            + self.replacing.text(path.removeprefix(known))
            + (f"?{QUERY}" if QUERY in query.split("&") else "")
        )
        return Asked(asked.method, path, self._headers(asked), self._request(asked.body))

    def _headers(self, asked: Asked) -> Mapping[str, str]:
        said = {
            name: asked.headers[name] for name in HEADERS if is_kept(name, asked.headers.get(name))
        }
        replaced = {name: self.replacing.text(value) for name, value in said.items()}
        # a value may be too long now
        headers = {name: value for name, value in replaced.items() if is_kept(name, value)}
        known = find(asked.method, asked.path)
        if known and known[0] is Endpoint.MODELS and speaks_anthropic(asked.headers):
            # one of the two headers tells that the client speaks Anthropic
            headers.setdefault("anthropic-version", _VERSION)
        return headers

    def _request(self, body: bytes) -> bytes:
        said = kept(_read(body), REQUEST)
        if not isinstance(said, dict):
            return b""
        if "system" in said:
            said["system"] = _unbilled(said["system"])
        clean, _ = self.body(json_text.write(said), stream=False)
        return json_text.write(json_text.read(clean))

    def got(self, recording: Recording, chunks: Sequence[Chunk]) -> Answered:
        """Return what the client got, cleaned; `chunks` are the server's, cleaned."""
        got, answered = recording.got, recording.answered
        if (got.body, got.content_type) == (recording.body, answered.content_type):
            # passed on as it came, as most streams are
            body = b"".join(chunk.data for chunk in chunks)
        else:
            body, _ = self.body(got.body, is_stream(got.content_type, got.body))
        return Answered(got.status, _content_type(got.content_type), body)

    def chunks(self, chunks: Sequence[Chunk], stream: bool) -> tuple[Chunk, ...]:
        """Cut the cleaned body where the original was cut."""
        ends = list(accumulate(len(chunk.data) for chunk in chunks))
        body, borders = self.body(b"".join(chunk.data for chunk in chunks), stream, ends)
        times = accumulate((round(max(chunk.at, 0.0), 3) for chunk in chunks), max)
        cut = (body[start:end] for start, end in pairwise([0, *borders]))
        return tuple(Chunk(at, data) for at, data in zip(times, cut, strict=True) if data)

    def body(
        self, body: bytes, stream: bool, borders: Sequence[int] = ()
    ) -> tuple[bytes, list[int]]:
        """Return a body cleaned, and where the borders are in it."""
        before = pieces(body, stream)
        gaps = {gap: self._between(gap) for gap in set(before.gaps)}
        after = woven([gaps[gap] for gap in before.gaps], self._written(before.tokens, stream))
        return b"".join(after), moved(before.all(), after, borders) if borders else []

    def _written(self, found: Sequence[Token], stream: bool) -> list[bytes]:
        """Return what to write for each token: the same for the same one, unless it holds a part of
        a secret.
        """
        texts = {token: str(token.value) for token in found}
        alone = {
            token: self._new(
                token, text if stream and not token.name else self.replacing.hidden(text)
            )
            for token, text in texts.items()
        }
        new = [alone[token] for token in found]
        for place, hidden in self._parts_of_secrets(found, texts) if stream else ():
            new[place] = self._new(found[place], hidden)
        return new

    def _parts_of_secrets(
        self, found: Sequence[Token], texts: Mapping[Token, str]
    ) -> Iterator[tuple[int, str]]:
        """Return the strings of a stream that a secret, or a part of a place, stands in: without;
        frames may cut it anywhere.
        """
        paths: defaultdict[Path, list[int]] = defaultdict(list)
        for place, token in enumerate(found):
            if not token.name:
                paths[token.path].append(place)
        for places in paths.values():
            parts = [texts[found[place]] for place in places]
            clean = self.replacing.hidden_over(parts)
            if clean is not parts:
                yield from (
                    (place, new)
                    for place, old, new in zip(places, parts, clean, strict=True)
                    if new != old
                )

    def _new(self, token: Token, hidden: str) -> bytes:
        """Return what to write for a token, of which this is left without secrets."""
        value = self.normal.of(token)
        if value == token.value and token.value not in PROTOCOL:
            if isinstance(value, str):
                value = self.replacing.renamed(hidden)
            elif hidden != str(value):
                value = 0
        if value == token.value:
            return token.raw
        return written(value) if isinstance(value, str) else str(value).encode()

    def _between(self, gap: bytes) -> bytes:
        """Return what is no JSON, cleaned: a page, a comment, a string that was cut short."""
        text = gap.decode("utf-8", "surrogateescape")
        return (
            self.replacing.text(text).encode("utf-8", "surrogateescape")
            if text.strip(" \t\r\n,:{}[]")
            else gap
        )


def _unbilled(system: object) -> object:
    """Return the system text without the line that Claude Code makes new for each request; no
    server is sent it.
    """
    if isinstance(system, str):
        return BILLING_LINES.sub("", system)
    if not isinstance(system, list):
        return system
    return [
        {**block, "text": BILLING_LINES.sub("", block["text"])} if _has_text(block) else block
        for block in system
    ]


def _has_text(block: object) -> bool:
    return isinstance(block, dict) and isinstance(block.get("text"), str)
